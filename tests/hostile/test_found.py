"""What failed once, made small: each in every way again."""

from pathlib import Path

import pytest

from tests.degraded.captures import read
from tests.hostile.check import failure
from tests.hostile.mutate import Mutant, in_order

FOUND = sorted(Path(__file__).with_name("found").glob("*.pcap"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_failed_once_is_told_the_same_in_every_way(path: Path, tmp_path: Path) -> None:
    records = list(read(path).records)
    places = [24]
    for record in records:
        places.append(places[-1] + 16 + len(record.data))
    for at in in_order(records):
        one = Mutant(path.name, path.read_bytes(), (), len(records), (places[at],))
        assert failure([one], tmp_path) is None
