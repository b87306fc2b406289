"""The page of the rules, ``replay/rules.md``, is what the registry says.

``python -m tests.test_rule_pages`` writes it anew.
"""

import re
from itertools import groupby
from pathlib import Path
from typing import Final

from seqaudit.cli.output.rule_text import explained
from seqaudit.replay.contract.rule import Rule
from seqaudit.replay.stages.systems import RULES

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "replay" / "rules.md"

FAMILIES: Final = {
    "CP": "The capture itself", "FD": "Feeds", "MC": "JGroups MCAST (NAKACK4) and NAKACK2",
    "PG": "PGM", "RA": "raims", "UC": "JGroups UNICAST3 and UNICAST4", "ZN": "zenoh",
}  # fmt: skip

HEAD: Final = """\
# Rules

What each rule says, how it is told from a capture (and with it what makes it *proven*, *likely* or
*cannot be told*), which parameters it rests on, what to do, and an example: what an audit says of
the smallest capture here that shows it. `seqaudit rules CODE` prints the same; this page is made
from the registry. A finding that rests on a parameter that nobody gave says so.
"""


def page() -> str:
    """All rules, by family and code."""
    rules = [rule for code, rule in sorted(RULES.items()) if code[:2] in FAMILIES]
    parts = [HEAD]
    for family, some in groupby(rules, lambda rule: rule.code[:2]):
        members = list(some)
        parts.append(f"\n# {FAMILIES[family]}\n")
        parts += map(_section, members)
    return "".join(parts)


def _section(rule: Rule) -> str:
    (_, meaning), *rest = explained(rule)
    lines = [f"\n## {rule.code}\n", f"**{rule.name}**, {rule.severity}. {_plain(meaning)}\n"]
    for title, text in rest:
        shown = f"`{text}`" if title == "Shown by" else _plain(text)
        lines.append(f"{title}: {shown}\n")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """What Markdown would take for its own."""
    return re.sub(r"([*<>|\[\]])", r"\\\1", text)


def test_the_page_of_the_rules_is_what_the_registry_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.test_rule_pages"


def test_each_rule_can_be_linked_to_by_its_code_on_any_host() -> None:
    heads = re.findall(r"^## (.+)$", page(), re.MULTILINE)
    assert sorted(heads) == sorted(code for code in RULES if code[:2] in FAMILIES)
    assert len(heads) > 150
    assert all(re.fullmatch(r"[A-Z]{2}\d{3}", head) for head in heads)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
