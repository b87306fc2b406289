"""A generated capture again and again, as one: later each time, and its numbers go on.

``python -m tests.bench.repeat BODY.pcap GIGABYTES`` writes it to standard output, as fast as a pipe
takes it. Each turn begins with the first packet of every stream, numbered one above the last number
that its turn before showed, so what is true of a turn is true of each: ``truth_of`` multiplies.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from tests.bench.generate import (
    BLOCK,
    MAX_LISTED,
    RECORD,
    RECORD_HEADER_BYTES,
    START_NS,
    SUMS,
    Ints,
    Shape,
    Truth,
    checksum,
    digest,
    gaps_digest,
    generate,
    session_name,
)

PCAP_HEADER_BYTES: Final = 24
PAUSE_US: Final = 1_000  # between turns
WORD: Final = {name: RECORD.fields[name][1] // 2 for name in ("sum", "session", "seqno")}  # type: ignore[index]
SESSION_DIGITS: Final = 9


def make_body(shape: Shape, path: Path) -> Truth:
    """A capture of at most a block that can follow itself: no session of it ends or begins late."""
    assert shape.packets <= BLOCK
    return generate(replace(shape, resets=0, end=False, nanoseconds=False), path)


def turns_of(body: Path, size: int) -> int:
    """How often a body is repeated for about so many bytes."""
    return max(1, round(size / (body.stat().st_size - PCAP_HEADER_BYTES)))


def truth_of(body: Truth, turns: int) -> dict[str, Any]:
    """What is true of so many turns, as ``Truth.write`` has it."""
    ranges = body.lost_ranges()
    streams = []
    for row in body.streams():
        last = row["last"]
        session = int(row["session"][1:])
        lost = ranges.get(session, np.empty((0, 2), np.int64))
        all_lost = np.concatenate([lost + last * turn for turn in range(turns)])
        names = (*SUMS, "last", "lost", "lost_ranges", "gaps")
        sums = {name: row[name] * turns for name in names}
        gaps = _gaps(body.listed.get(session, []), last, body.rows, turns)
        digests = {"lost_digest": digest(all_lost), "gaps_digest": gaps_digest(gaps)}
        streams.append(row | sums | digests)
    return {
        "shape": {"faults": body.shape.faults},
        "packets": body.rows * turns,
        "bytes": PCAP_HEADER_BYTES + (body.bytes - PCAP_HEADER_BYTES) * turns,
        "streams": streams,
    }


def starts_of(records: Any) -> Ints:
    """Offsets of the records of a pcap without its header, which the generator wrote: all even."""
    lengths = records.view("<u2")[4:].data  # the low word of the captured length, from a record on
    found, at = [], 0
    while 2 * at < len(records):
        found.append(2 * at)
        at += (RECORD_HEADER_BYTES + lengths[at]) // 2
    return np.array(found, np.int64)


def write_turns(body: Path, turns: int, out: IO[bytes]) -> None:
    """Write the capture; the body's truth lies beside it."""
    out.write(pcap_header(body))
    for records in each_turn(body, turns):
        out.write(records)


def pcap_header(body: Path) -> bytes:
    """What every file of these records begins with."""
    with body.open("rb") as file:
        return file.read(PCAP_HEADER_BYTES)


def each_turn(body: Path, turns: int) -> Iterator[memoryview]:
    """The records of each turn, good until the next is asked for."""
    truth = json.loads(body.with_suffix(".truth.json").read_text(encoding="utf-8"))
    records = np.fromfile(body, np.uint8)[PCAP_HEADER_BYTES:]
    words = records.view("<u2")
    at = starts_of(records) // 2
    microseconds = _little(words, at) * 1_000_000 + _little(words, at + 2)
    span = int(microseconds.max()) - START_NS // 1_000 + PAUSE_US
    numbers = _big(words, at + WORD["seqno"])
    old = words[at + WORD["sum"]].astype(np.int64) + _sum(words, at + WORD["seqno"])
    step = _last_numbers(truth)[_sessions(records, at)]
    for turn in range(turns):
        now = microseconds + turn * span
        _set_little(words, at, now // 1_000_000)
        _set_little(words, at + 2, now % 1_000_000)
        _set_big(words, at + WORD["seqno"], numbers + turn * step)
        # RFC 1624: a sum follows the words that change under it, in either byte order
        sums = _sum(words, at + WORD["seqno"]) + 5 * 0xFFFF - old
        words[at + WORD["sum"]] = checksum(sums)
        yield records.data


def _gaps(listed: Sequence[str], last: int, frames: int, turns: int) -> list[str]:
    """The first gaps of a session over all turns, as ``gaps_digest`` takes them."""
    parsed = [tuple(map(int, re.split("[-@]", gap))) for gap in listed]
    wanted = min(turns, -(-MAX_LISTED // max(1, len(parsed))))
    found = [
        f"{first + turn * last}-{stop + turn * last}@{frame + turn * frames}"
        for turn in range(wanted)
        for first, stop, frame in parsed
    ]
    return found[:MAX_LISTED]


def _sessions(records: Any, at: Ints) -> Ints:
    """The session of each record, as a number."""
    begin = 2 * (at + WORD["session"]) + 1
    number = np.zeros(len(at), np.int64)
    for place in range(SESSION_DIGITS):
        number = number * 10 + (records[begin + place] - ord("0"))
    return number


def _last_numbers(truth: Mapping[str, Any]) -> Ints:
    last = np.zeros(truth["shape"]["streams"], np.int64)
    for row in truth["streams"]:
        number = int(row["session"][1:])
        assert row["session"] == session_name(number) and row["first"] == 1
        last[number] = row["last"]
    return last


def _little(words: Any, at: Ints) -> Ints:
    """32-bit little-endian values."""
    value: Ints = words[at].astype(np.int64) | words[at + 1].astype(np.int64) << 16
    return value


def _set_little(words: Any, at: Ints, value: Ints) -> None:
    words[at] = value & 0xFFFF
    words[at + 1] = value >> 16


def _big(words: Any, at: Ints) -> Ints:
    """64-bit big-endian values, below 2^63."""
    value = np.zeros(len(at), np.int64)
    for place in range(4):
        value = value << 16 | words[at + place].byteswap()
    return value


def _set_big(words: Any, at: Ints, value: Ints) -> None:
    for place in range(4):
        words[at + place] = (value >> 16 * (3 - place) & 0xFFFF).astype(np.uint16).byteswap()


def _sum(words: Any, at: Ints) -> Ints:
    """Of the four words of a number."""
    total = np.zeros(len(at), np.int64)
    for place in range(4):
        total += words[at + place]
    return total


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.repeat", description=__doc__)
    parser.add_argument("body", type=Path)
    parser.add_argument("gigabytes", type=float)
    given = parser.parse_args()
    write_turns(given.body, turns_of(given.body, int(given.gigabytes * 1e9)), sys.stdout.buffer)


if __name__ == "__main__":
    main()
