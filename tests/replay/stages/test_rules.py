"""The registry of rules: stable codes, texts, and that code and registry agree."""

import re
from pathlib import Path

from seqaudit.replay.contract.finding import Severity
from seqaudit.replay.stages.systems import RULES

ROOT = Path(__file__).parents[3]
FAMILIES = ("CP", "PG", "RA", "UC", "MC", "ZN", "FD")
CODE = re.compile(r'"((?:%s)\d{3})"' % "|".join(FAMILIES))  # noqa: UP031 - braces are in it


def emitted() -> dict[str, set[str]]:
    """Rule code -> the modules that name it, the registry aside."""
    found: dict[str, set[str]] = {}
    for folder in ("replay", "pipeline", "decoders"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name in ("rule.py", "rules.py"):
                continue  # the registry itself
            for code in CODE.findall(path.read_text(encoding="utf-8")):
                found.setdefault(code, set()).add(path.name)
    return found


def test_every_code_that_is_emitted_is_registered_and_the_other_way_round() -> None:
    assert sorted(emitted()) == sorted(RULES)


def test_codes_are_well_formed_and_grouped() -> None:
    for code, rule in RULES.items():
        assert rule.code == code
        assert re.fullmatch(r"[A-Z]{2}\d{3}", code) and code[:2] in FAMILIES
    assert len({rule.name for rule in RULES.values()}) == len(RULES)


def test_every_rule_is_explained() -> None:
    for rule in RULES.values():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name), rule.code
        assert isinstance(rule.severity, Severity)
        for text in (rule.meaning, rule.detection, rule.action):
            assert len(text) > 5 and text[0].isalpha(), rule.code
            assert text.endswith("."), rule.code
        assert rule.source, rule.code


def test_codes_that_were_published_keep_their_names() -> None:
    """Codes are for ever (replay/README.md 3): a new rule is added here, none is ever changed."""
    assert {code: rule.name for code, rule in RULES.items() if code[:2] in ("CP", "MC")} == {
        "CP001": "capture-cut",
        "CP002": "damaged-stretch",
        "CP003": "capture-dropped-packets",
        "CP004": "packets-cut-short",
        "CP005": "fragments-incomplete",
        "CP006": "undecoded-messages",
        "CP007": "acknowledged-but-not-captured",
        "CP010": "vantage-unknown",
        "CP011": "compression-damaged",
        "CP012": "tcp-not-captured",
        "CP013": "out-of-order",
        "CP014": "clock-stepped",
        "CP015": "begun-before",
        "CP016": "ended-before",
        "CP017": "captured-twice",
        "CP020": "vantage-contradicted",
        "CP021": "packets-damaged",
        "CP022": "clock-coarse",
        "CP030": "own-messages-not-captured",
        "CP031": "not-at-the-other-end",
        "CP032": "not-captured-at-its-sender",
        "CP099": "seqaudit-failed",
        "MC001": "loss-recovered",
        "MC002": "loss-not-recovered",
        "MC003": "last-message-lost",
        "MC004": "needless-retransmission",
        "MC005": "dropped-inside-receiver",
        "MC006": "sender-blocked",
        "MC007": "window-overrun",
        "MC008": "ack-lost-or-late",
        "MC009": "view-change",
        "MC010": "network-duplicates",
        "MC011": "reordering",
        "MC012": "sent-out-of-order",
        "MC013": "spurious-request",
        "MC014": "open-at-end",
        "MC015": "request-unanswered",
        "MC016": "request-too-early",
        "MC017": "outside-window",
        "MC018": "outside-membership",
        "MC019": "sender-gone-with-messages",
        "MC020": "ack-of-non-member",
        "MC021": "skipped-by-merge",
        "MC022": "request-oversized",
        "MC023": "ack-overdue",
        "MC024": "asked-for",
    }
