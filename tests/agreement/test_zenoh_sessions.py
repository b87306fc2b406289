"""zenoh recordings of sessions that end and of groups, against what the subscribers were given.

Recorded for this project (``fixtures/README.md``); ``truth.json`` holds what the applications' own
callbacks told: samples in the order of their delivery, and miss callbacks.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.zenoh.reasons import COMING, EARLY, FLOODED, LEAVING

FIXTURES: Final = Path(__file__).parents[2] / "fixtures" / "zenoh-sessions"
#: What came just before a subscriber was undeclared, or declared.
BORDERS: Final = {COMING, EARLY, LEAVING, FLOODED}
#: Of whom that was so: subscribers and publishers of recordings.
AT_A_BORDER: Final = {
    "link-cut-udp": {"s1 p1"},  # three datagrams of 61 kB within 1 ms
    "multicast-late-subscriber": {"s1 p1", "s1 p2"},
    "two-routers-loss": {"late0 p0"},  # its history is the last sample alone
    "undeclared-keys": {"s0 p1", "s2 p1"},
}
RECORDINGS: Final = sorted(path.parent.name for path in FIXTURES.glob("*/truth.json"))


def replayed(folder: Path, truth: Any) -> list[Any]:
    """Streams of samples at the subscribers' interface, oldest session first."""
    inputs = [CaptureInput(str(folder / file), at=at) for file, at in truth["captures"].items()]
    place = list(truth["captures"]).index("sub.pcap.zst")
    streams = audit(inputs, Options(engine="direct"))["streams"]
    found = [s for s in streams if s.get("kind") == "samples" and s["capture"] == place]
    return sorted(found, key=lambda stream: stream["first_ns"] or 0)


def joined(ranges: list[list[int]]) -> list[list[int]]:
    """Ranges of several sessions as one list."""
    found: list[list[int]] = []
    for first, last in ranges:
        if found and found[-1][1] == first - 1:
            found[-1][1] = last
        else:
            found.append([first, last])
    return found


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) == 9


@pytest.mark.parametrize("name", RECORDINGS)
def test_what_subscribers_were_given_is_what_the_replay_says(name: str) -> None:
    truth = json.loads((FIXTURES / name / "truth.json").read_text())
    streams = replayed(FIXTURES / name, truth)
    untold: set[str] = set()
    for subscriber in truth["subscribers"]:
        for publisher in truth["publishers"]:
            told = subscriber["of"][publisher["name"]]
            source = f"{publisher['zid']}/{publisher['eid']}"
            mine = [
                stream
                for stream in streams
                if stream["source"] == source and stream["subscriber"] in (None, subscriber["key"])
            ]
            if BORDERS & {s["unknown"].get("delivered") for s in mine}:
                untold.add(f"{subscriber['name']} {publisher['name']}")
                continue  # whether it had the last one, the first, or any is on no wire
            delivered = joined([pair for s in mine for pair in s["delivered"] or ()])
            misses = [miss["nb"] for s in mine for miss in s["misses"] or ()]
            assert (delivered, misses) == (told["delivered"], told["misses"]), publisher["name"]
    assert untold == AT_A_BORDER.get(name, set())


def test_what_a_router_did_not_get_was_not_dropped_by_the_publishers_transport() -> None:
    folder = FIXTURES / "two-routers-loss"
    inputs = [CaptureInput(str(folder / "router.pcap.zst"), at="10.77.0.3")]
    found = audit(inputs, Options(engine="direct"))["findings"]
    texts = [f["text"] for f in found if f["rule"] == "ZN004" and f["certainty"] == "proven"]
    assert texts and not any("publisher's transport" in text for text in texts)
