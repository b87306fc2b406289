"""How sure feeds' findings are: of the captures that show each rule, as no recordings of feeds come
with the truth of their network."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.replay.feeds.rules import FEED
from tests.agreement import floor
from tests.agreement.floor_feeds import AT_LEAST, NEVER
from tests.rules.table import PROOFS

#: Of what is recognised without its place nothing is proven.
GROUPS: Final = "233.54.0.0/16:26400"

Found = tuple[str, str, Mapping[str, Any]]


def _of(rule: str, folder: Path) -> Iterator[Found]:
    proof = PROOFS[rule]
    for name, data in proof.files().items():
        (folder / name).write_bytes(data)
    options = [each.replace("moldudp64,", f"moldudp64@{GROUPS},") for each in proof.options]
    words = ["audit", "--engine", "direct", "--format", "json", "--exit-zero", *options]
    done = CliRunner().invoke(main, [*words, *(str(folder / name) for name in proof.files())])
    for finding in json.loads(done.stdout)["findings"]:
        if finding["rule"].startswith("FD"):
            yield rule, "capture.pcap", finding


@cache
def found() -> list[Found]:
    """Every finding about the capture of each rule; one of 131,000 frames is left out."""
    told: list[Found] = []
    for rule in sorted(rule.code for rule in FEED if rule.code != "FD021"):
        with TemporaryDirectory() as folder:
            told += _of(rule, Path(folder))
    return told


def test_what_captures_of_feeds_prove_stays_proven() -> None:
    assert list(floor.weaker(floor.proven(found()), AT_LEAST)) == []
    assert list(floor.surer(found(), NEVER)) == []


def test_every_rule_is_proven_somewhere_or_never() -> None:
    assert AT_LEAST.keys().isdisjoint(NEVER)
    assert AT_LEAST.keys() | NEVER.keys() == {rule.code for rule in FEED}


@pytest.mark.parametrize("rule", AT_LEAST)
def test_a_finding_that_is_less_sure_is_noticed(rule: str) -> None:
    weaker = [
        (name, file, {**told, "certainty": "likely"} if told["rule"] == rule else told)
        for name, file, told in found()
    ]
    assert list(floor.weaker(floor.proven(weaker), {rule: AT_LEAST[rule]}))


def test_what_cannot_be_proven_is_noticed_if_it_is() -> None:
    told = next(row for row in found() if row[2]["rule"] == "FD002")
    assert list(floor.surer([(*told[:2], {**told[2], "certainty": "proven"})], NEVER))
