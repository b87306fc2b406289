"""Real captures: decoded messages as the recording lab counted them, and no JGroups in others.

The captures under ``fixtures`` are always read, the full set beside the repository where it is.
"""

import json
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups.objects import socket_text
from seqaudit.decoders.stages.first import decode_piece
from seqaudit.decoders.stages.registry import DECODERS, STREAMS

FIXTURES: Final = Path(__file__).parents[3] / "fixtures" / "jgroups"
SHARED: Final = Path(__file__).parents[4] / "shared" / "captures"
#: The lab's words. It named protocol ids of all releases by the table of 5.x, where those of 3.5
#: are others: PING 6 is MPING there, the transport UDP 21 unknown, and STABLE 16 was left out.
SYSTEMS: Final = {
    "nakack2": "N2",
    "nakack4": "N4",
    "unicast3": "U3",
    "unicast4": "U4",
    "jgroups": "other:",
}
WORDS: Final = {"SEND_FIRST_SEQNO": "SFS", "VERIFY_SUSPECT2": "VERIFY2"}
WORDS_3_5: Final = {"PING": "MPING+21", "STABLE": "21"}


def folders() -> dict[str, Path]:
    """Scenarios over UDP by name."""
    found = {path.parent.name: path.parent for path in SHARED.glob("jgroups/*/truth.json")}
    found |= {path.parent.name: path.parent for path in FIXTURES.glob("*/truth.json")}
    return {name: path for name, path in sorted(found.items()) if not name.startswith("tcp-")}


def physical(text: str) -> tuple[str, int]:
    """IP and port as Java prints them: IPv6 in full and without brackets."""
    host, _, port = text.rpartition(":")
    return str(ip_address(host)), int(port)


def decoded(path: Path, *, compile_it: bool = False) -> list[dict[str, Any]]:
    """The rows of a capture, and the details of its ACCOUNT rows under ``account``."""
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    others = frozenset([*DECODERS, *STREAMS]) - {"jgroups"}
    settings = DecodeSettings(compile_it=compile_it, finish_fragments=True, no_decode=others)
    table = pa.Table.from_batches(decode_piece(piece, settings))
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        if row["kind"] == Kind.ACCOUNT:
            row["account"] = json.loads(row["detail"])
    return rows


def counted(rows: list[dict[str, Any]], release: str) -> dict[str, int]:
    """Messages of the accounts in the lab's words."""
    found: dict[str, int] = {}
    words = WORDS | (WORDS_3_5 if release.startswith("3.5") else {})
    for row in rows:
        for system, kinds in row.get("account", {}).get("messages_by", {}).items():
            for word, count in kinds.items():
                name = (
                    SYSTEMS[system] + (" " if system != "jgroups" else "") + words.get(word, word)
                )
                found[name] = found.get(name, 0) + count
    return found


@pytest.mark.rule("jgroups.md 2.1")
@pytest.mark.parametrize("name", list(folders()))
def test_messages_by_type_are_those_the_lab_counted(name: str) -> None:
    folder = folders()[name]
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    addresses = {
        member["uuid"]: socket_text(*physical(member["physical"]))
        for member in truth["members"].values()
    }
    names = {member["uuid"]: member["logical_name"] for member in truth["members"].values()}
    for capture in truth["captures"].values():
        path = folder / capture["file"]
        if not path.exists():
            continue
        rows = decoded(path)
        if "decoded" in capture:
            expected = {key: n for key, n in capture["decoded"].items() if "datagrams" not in key}
            assert counted(rows, truth["jgroups"]) == expected
        accounts = [row["account"] for row in rows if "account" in row]
        undecoded = {key for account in accounts for key in account["undecoded"]}
        assert undecoded <= {"incomplete IP datagram"}
        assert {key for account in accounts for key in account["sureness"]} == {"certain"}
        assert sum(account["frames_by"]["malformed"] for account in accounts) == 0
        for row in rows:
            if row["kind"] == Kind.MEMBER and row["source"] in addresses:
                said = json.loads(row["detail"])
                assert said["address"] == addresses[row["source"]]
                assert said.get("name", names[row["source"]]) == names[row["source"]]


@pytest.mark.rule("jgroups.md 1.10")
def test_discovery_of_a_tcp_stack_is_recognized() -> None:
    path = SHARED / "jgroups" / "tcp-clean-2" / "A.pcap"
    if not path.exists():
        pytest.skip("the full set of captures is not here")
    rows = decoded(path)
    told = [
        json.loads(row["detail"])
        for row in rows
        if row["kind"] == Kind.MEMBER and row["conversation"].startswith("mcast|")
    ]
    # A bare MPING datagram has no version; what the connections say of the members has one.
    assert [member for member in told if "version" not in member] == [
        {"address": f"10.80.0.{n}:7800", "name": name} for n, name in enumerate("ABC", 1)
    ]


@pytest.mark.rule("jgroups.md 1.7")
@pytest.mark.parametrize("system", ["raims", "zenoh"])
def test_no_jgroups_is_seen_in_captures_of_other_systems(system: str) -> None:
    captures = sorted((SHARED / system).rglob("*.pcap*"))
    if not captures:
        pytest.skip("the full set of captures is not here")
    for path in captures:
        rows = decoded(path)
        assert not [row for row in rows if row["conversation"]], path.name
        assert not any(row["account"]["sureness"] for row in rows if "account" in row), path.name


@pytest.mark.rule("decoders/README.md 4")
@pytest.mark.parametrize("name", ["n4-loss-1", "u3-stale-ack-fixed-1", "v35-u3-loss-1"])
def test_both_modes_give_the_same_rows(name: str) -> None:
    path = FIXTURES / name / "B.pcap"
    assert decoded(path) == decoded(path, compile_it=True)
