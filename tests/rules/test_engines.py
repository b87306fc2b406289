"""Both engines print the same bytes about the captures that were made to show a rule.

All together in few audits: about what is found in the captures one by one see ``test_rules``. Of
recordings as they are the tests of the engines say so (``tests.pipeline``).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests.rules.table import PROOFS, Proof

#: Whose capture is too long for a test of two engines: 131,000 frames show that gaps are forgotten.
LONG: Final = frozenset({"FD021"})
#: Whose parameters the rules of a family rest on.
OWN: Final = {"MC": "mcast", "UC": "unicast", "ZN": "zenoh", "PG": "pgm", "RA": "pgm", "FD": "feed"}


@dataclass
class Group:
    """Captures that one audit can take: of every system one set of options."""

    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    proofs: dict[str, Proof] = field(default_factory=dict)


def groups() -> list[Group]:
    """As few as can be: first the captures without options of their own."""
    found = [Group()]
    for rule, proof in PROOFS.items():
        if rule in LONG or "/" in proof.name:  # a recording
            continue
        _, own = _split(proof)
        system = OWN.get(rule[:2], rule[:2])
        group = found[0]
        if own:
            group = next((g for g in found[1:] if g.options.get(system, own) == own), Group())
            group.options[system] = own
            if group not in found:
                found.append(group)
        group.proofs[rule] = proof
    return found


def _split(proof: Proof) -> tuple[list[str], tuple[str, ...]]:
    """Where its files were captured, and the options that concern every capture."""
    at: list[str] = []
    own: list[str] = []
    words = iter(proof.options)
    for word, value in zip(words, words, strict=True):
        if word == "--at":
            at.append(value)
        else:
            own += [word, value]
    return at, tuple(own)


def _written(group: Group, folder: Path) -> Iterator[str]:
    """The words of the command: options, and files that are named by their rule."""
    for own in group.options.values():
        yield from own
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for rule, proof in group.proofs.items():
        if (proof.name, proof.options) in seen:
            continue
        seen.add((proof.name, proof.options))
        places = _split(proof)[0]
        for name, data in proof.files().items():
            path = folder / f"{rule}-{name}"
            path.write_bytes(data)
            yield str(path)
            for place in places:
                file, _, where = place.rpartition("=")
                if file in ("", name):
                    yield from ("--at", f"{path.name}={where}")


@pytest.mark.parametrize("number", range(len(groups())))
def test_both_engines_print_the_same_bytes(
    number: int, tmp_path: Path, spark_place: SparkAddress
) -> None:
    group = groups()[number]
    words = ["--separate", "--exit-zero", "--format", "json", *_written(group, tmp_path)]
    run = CliRunner()
    direct = run.invoke(main, ["audit", "--engine", "direct", *words])
    by_spark = ["--engine", "spark", "--master", str(spark_place.master)]
    spark = run.invoke(main, ["audit", *by_spark, *words])
    assert spark.exit_code == direct.exit_code
    assert spark.stdout_bytes == direct.stdout_bytes
    assert json.loads(spark.stdout)["findings"]
