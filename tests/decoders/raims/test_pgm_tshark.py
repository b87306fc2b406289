"""PGM as tshark reads it (CONTRIBUTING.md 4): type, TSI, sqns, edges and NAK lists of every packet.

``fixtures/tshark/pgm.tsv`` is tshark's own output for two captures (written by
``python -m tests.decoders.raims.test_pgm_tshark``); where tshark is installed, all captures are
compared.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.pipeline.audit import decode
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput

FIXTURES: Final = Path(__file__).parents[3] / "fixtures" / "raims"
GOLDEN: Final = FIXTURES.parent / "tshark" / "pgm.tsv"
GOLDEN_CAPTURES: Final = ("small-txw-1/B.pcap", "frame-chain-loss-1/A.pcap")
ALL: Final = sorted(
    str(path.relative_to(FIXTURES))
    for path in FIXTURES.rglob("?.pcap")
    if not path.parent.name.startswith(("mesh", "tcp"))
)
#: Of ODATA and RDATA tshark puts sqn and trailing edge in the fields of SPM.
FIELDS: Final = (
    "frame.number", "pgm.hdr.type", "pgm.hdr.gsi", "pgm.hdr.sport", "pgm.hdr.dport",
    "pgm.spm.sqn", "pgm.spm.trail", "pgm.spm.lead", "pgm.nak.sqn",
    "pgm.opts.nak.list", "pgm.hdr.cksum.status",
)  # fmt: skip
#: tshark does not take an SPMR of 16 bytes for PGM.
TYPES: Final = {0: "SPM", 4: "ODATA", 5: "RDATA", 8: "NAK", 10: "NCF"}

#: Word, TSI, sqn or lead, trail, and the NAK list as a text, of which tshark tells the first 4
#: characters for each sqn.
Packet = tuple[str, str, int | None, int | None, str]


def tshark(capture: str) -> list[list[str]]:
    """Lines of fields, one a PGM packet."""
    command = ["tshark", "-r", str(FIXTURES / capture), "-d", "udp.port==7239,pgm", "-Y", "pgm",
               "-o", "pgm.check_checksum:TRUE", "-T", "fields", "-E", "occurrence=a"]  # fmt: skip
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def golden() -> dict[str, list[list[str]]]:
    """The same from the file."""
    found: dict[str, list[list[str]]] = {}
    for line in GOLDEN.read_text().splitlines():
        capture, *fields = line.split("\t")
        found.setdefault(capture, []).append(fields)
    return found


def by_tshark(lines: list[list[str]]) -> dict[int, Packet]:
    """What tshark says of each frame."""
    found: dict[int, Packet] = {}
    for line in lines:
        told = dict(zip(FIELDS, line, strict=True))
        word = TYPES[int(told["pgm.hdr.type"], 0)]
        port = told["pgm.hdr.dport" if word == "NAK" else "pgm.hdr.sport"]
        tsi = f"{told['pgm.hdr.gsi'].replace(':', '')}.{int(port)}"
        assert told["pgm.hdr.cksum.status"].split(",")[-1] == "1"  # good
        sqn = trail = None
        listed = ""
        if word == "SPM":
            lead, trail = int(told["pgm.spm.lead"], 0), int(told["pgm.spm.trail"], 0)
            sqn = None if (lead + 1) % (1 << 32) == trail else lead
        elif word in ("ODATA", "RDATA"):
            sqn, trail = int(told["pgm.spm.sqn"], 0), int(told["pgm.spm.trail"], 0)
        else:
            sqn = int(told["pgm.nak.sqn"], 0)
            listed = bytes.fromhex(told["pgm.opts.nak.list"]).decode()
        found[int(told["frame.number"])] = word, tsi, sqn, trail, listed
    return found


def rows(capture: str) -> Iterator[dict[str, Any]]:
    """Our rows of the same packets."""
    decoded = decode([CaptureInput(str(FIXTURES / capture))], Options(engine="direct"))
    for row in decoded.events.to_pylist():
        if row["conversation"].startswith("pgm|") and row["wire_kind"] in TYPES.values():
            yield row


def differences(capture: str, lines: list[list[str]]) -> list[str]:
    """Where our rows and tshark's packets say different things; runs are taken apart."""
    packets = by_tshark(lines)
    mask = (1 << 40) - 1
    found: list[str] = []
    seen: set[int] = set()
    for row in rows(capture):
        first, last = row["frame"] & mask, row["last_frame"] & mask
        run = [
            number
            for number in sorted(packets)
            if first <= number <= last and packets[number][:2] == (row["wire_kind"], row["stream"])
        ]
        if len(run) != row["count"]:
            found.append(f"{capture} frame {first}: {row['count']} packets, tshark {len(run)}")
            continue
        for place, number in enumerate(run):
            seen.add(number)
            sqn = None if row["seqno"] is None else row["seqno"] + place
            _, _, _, edge, _ = packets[number]
            trail = edge if place else row["stamp"]  # a run tells that of its first packet
            more = [a for a, _ in json.loads(row["detail"] or "[]")][1:]
            listed = " ".join(map(hex, more))[: 4 * len(more)]
            ours = sqn, trail, listed
            if packets[number][2:] != ours:
                found.append(f"{capture} frame {number}: {ours}, tshark {packets[number]}")
    found += [f"{capture} frame {n}: only tshark has it" for n in sorted(set(packets) - seen)]
    return found


@pytest.mark.parametrize("capture", GOLDEN_CAPTURES)
def test_pgm_fields_are_those_that_tshark_has_written_down(capture: str) -> None:
    lines = golden()[capture]
    assert len(lines) > 100
    assert differences(capture, lines) == []


def test_a_field_that_differs_is_found() -> None:
    capture = GOLDEN_CAPTURES[0]
    lines = golden()[capture]
    at = FIELDS.index("pgm.nak.sqn")
    number = next(n for n, line in enumerate(lines) if line[at])
    lines[number][at] = str(int(lines[number][at], 0) + 1)
    assert len(differences(capture, lines)) == 1


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("capture", ALL)
def test_pgm_fields_are_tsharks(capture: str) -> None:
    assert differences(capture, tshark(capture)) == []


if __name__ == "__main__":
    GOLDEN.write_text(
        "".join(
            "\t".join([capture, *line]) + "\n"
            for capture in GOLDEN_CAPTURES
            for line in tshark(capture)
        )
    )
