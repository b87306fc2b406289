"""``seqaudit infer`` on two groups that carry the same: it says so, and audits arbitrate them."""

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from seqaudit.cli.main import main
from tests.decoders.feeds.layouts import draw, moldudp64
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp

A, B = ("239.1.2.3", 41001), ("239.1.3.3", 41002)
START_NS = 1_790_000_000_000_000_000


def written(path: Path, sent: list[tuple[int, tuple[str, int], bytes]]) -> Path:
    sent = sorted(sent)
    packets = [
        ethernet(ipv4(udp(payload, 5000, port), "10.1.1.1", to, ident=at & 0xFFFF))
        for at, (_, (to, port), payload) in enumerate(sent)
    ]
    path.write_bytes(pcap(packets, times_ns=[at_ns for at_ns, *_ in sent]))
    return path


def on_both(
    payloads: list[bytes], *, loss: float = 0.05, lag_ns: int = 40_000, seed: int = 1
) -> list[tuple[int, tuple[str, int], bytes]]:
    chance = random.Random(seed)
    now, sent = START_NS, []
    for at, payload in enumerate(payloads):
        now += chance.randrange(20_000, 900_000)
        for line, lag in ((A, 0), (B, lag_ns)):
            if chance.random() >= loss or not 5 < at < len(payloads) - 5:
                sent.append((now + lag + chance.randrange(5_000), line, payload))
    return sent


def inferred(path: Path, folder: Path) -> tuple[dict[str, Any], Path]:
    output = folder / "feed.yaml"
    words = ["infer", "--format", "json", "-o", str(output), str(path)]
    shown = CliRunner().invoke(main, words)
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout), output


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.3])
def test_two_groups_with_the_same_are_lines_and_are_arbitrated(loss: float, tmp_path: Path) -> None:
    sent = on_both(moldudp64(1_500), loss=loss)
    path = written(tmp_path / "lines.pcap", sent)
    told, output = inferred(path, tmp_path)
    (feed,) = told["feeds"]
    (pair,) = feed["lines"]
    ours, theirs = (
        [p for _, line, p in sent if line == end and p[18:20] != b"\0\0"] for end in (A, B)
    )
    both = len(set(ours) & set(theirs))
    assert pair == {
        "a": {"destination": A[0], "port": A[1], "datagrams": len(ours)},
        "b": {"destination": B[0], "port": B[1], "datagrams": len(theirs)},
        "on_both": both,
        "same_bytes": both,
        "b_after_a_ns": pytest.approx(40_000, abs=2_000),
    }
    assert yaml.safe_load(output.read_text())["lines"] == [
        {"A": f"{A[0]}:{A[1]}", "B": f"{B[0]}:{B[1]}"}
    ]
    words = ["audit", "--engine", "direct", "--exit-zero", "--format", "json"]
    audited = CliRunner().invoke(main, [*words, "--feed", str(output), str(path)])
    report = json.loads(audited.stdout)
    (row,) = report["tables"]["feed"]["lines"]

    def numbers(payloads: list[bytes]) -> set[int]:
        heads = [struct.unpack_from(">QH", p, 10) for p in payloads]
        return {n for first, count in heads for n in range(first, first + count)}

    a, b = numbers(ours), numbers(theirs)
    every = numbers(moldudp64(1_500))
    assert row["compared"] == len(every)
    assert row["lost_on_both"] + row["open_at_end"] == len(every - a - b)
    assert row["line_a"]["lost_only_here"] == len(b - a)
    assert row["line_b"]["lost_only_here"] == len(a - b)
    assert row["line_a"]["first"] == row["measured"] == len(a & b)


@pytest.mark.parametrize("fewer", [A, B])
def test_lines_are_one_feed_whatever_each_shows_by_itself(
    fewer: tuple[str, int], tmp_path: Path
) -> None:
    """One line is so orderly that its losses are a doubt; on the other a datagram is late."""
    sent = on_both([struct.pack(">I", 70_000 + n) + bytes(30) for n in range(900)], loss=0.1)
    sent = [one for place, one in enumerate(sent) if one[1] != fewer or place % 10]
    late = next(place for place, (_, line, _) in enumerate(sent) if line == B and place > 400)
    at_ns, line, payload = sent[late]
    sent[late] = at_ns + 5_000_000, line, payload
    told, _ = inferred(written(tmp_path / "lines.pcap", sent), tmp_path)
    (feed,) = told["feeds"]
    assert len(feed["destinations"]) == 2


@pytest.mark.parametrize("seed", [2, 3, 4, 6, 9])
def test_lines_of_any_layout_are_seen(seed: int, tmp_path: Path) -> None:
    sent = on_both(draw(seed, datagrams=1_200).payloads, seed=seed)
    told, _ = inferred(written(tmp_path / "drawn.pcap", sent), tmp_path)
    assert [(x["a"]["port"], x["b"]["port"]) for x in told["feeds"][0]["lines"]] == [(A[1], B[1])]


def test_the_evidence_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "lines.pcap", on_both(moldudp64(600), loss=0.0))
    output = tmp_path / "feed.yaml"
    shown = CliRunner().invoke(
        main, ["infer", "-o", str(output), str(path)], env={"COLUMNS": "250"}
    )
    (said,) = [line for line in shown.stdout.splitlines() if "carry the same" in line]
    data = sum(p[18:20] != b"\0\0" for p in moldudp64(600))
    assert said.strip().startswith(
        f"A 239.1.2.3:41001 and B 239.1.3.3:41002 carry the same: of {data} and {data} datagrams"
        f" {data} came on both, {data} of these with the same bytes, B "
    )
    assert said.strip() in output.read_text()


def changed(payload: bytes, chance: random.Random) -> bytes:
    """The same header, and other messages of the same lengths."""
    return payload[:20] + chance.randbytes(len(payload) - 20)


def test_groups_that_only_count_alike_are_no_lines(tmp_path: Path) -> None:
    chance = random.Random(7)
    sent = on_both(moldudp64(800), loss=0.0)
    other = [(at, to, changed(p, chance) if to == B else p) for at, to, p in sent]
    drifting = [
        (START_NS + (at - START_NS) * (3 if to == B else 2) // 2, to, p) for at, to, p in sent
    ]
    later = [(at + 5_000_000_000 * (to == B), to, p) for at, to, p in sent]
    for number, groups in enumerate((other, drifting, later)):
        told, output = inferred(written(tmp_path / f"{number}.pcap", groups), tmp_path)
        assert [feed["lines"] for feed in told["feeds"]] == [[]], number
        assert "lines" not in yaml.safe_load(output.read_text())


def test_each_group_is_in_one_pair(tmp_path: Path) -> None:
    """Three groups: the two that share most are lines; a fourth and a fifth are another pair."""
    first = on_both(moldudp64(600), loss=0.02)
    third = [(at + 90_000, ("239.1.4.3", 41003), p) for at, to, p in first[::2] if to == A]
    second = [
        (at, (f"239.2.{to == B:d}.1", 41004), p)
        for at, to, p in on_both(moldudp64(700, (b"OTHER     ",)), seed=5)
    ]
    told, _ = inferred(written(tmp_path / "five.pcap", first + third + second), tmp_path)
    pairs = [(x["a"]["destination"], x["b"]["destination"]) for x in told["feeds"][0]["lines"]]
    assert pairs == [("239.1.2.3", "239.1.3.3"), ("239.2.0.1", "239.2.1.1")]
