"""``seqaudit show loss`` and ``show convergence`` on recorded captures."""

import json
import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).parents[3] / "fixtures" / "raims"


def show(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "seqaudit.cli", "show", *arguments],
        cwd=FIXTURES,
        capture_output=True,
        text=True,
    )


def test_loss_has_the_columns_of_the_console_and_the_truth_beside_them() -> None:
    done = show("loss", "--engine", "direct", "--at", "10.77.0.2", "frame-chain-loss-1/B.pcap")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()[3:5]] == [
        ["B", "A.1", "0", "0", "0", "4", "22:53:38.827", "0", "4", "0"],
        ["B", "C.2", "0", "0", "0", "0", "0", "0", "0"],
    ]


def test_each_loss_and_how_it_is_known_and_what_other_daemons_say() -> None:
    done = show("loss", "--engine", "direct", "--at", "10.77.0.2", "frame-chain-loss-1/B.pcap")
    lines = done.stdout.splitlines()
    assert lines[lines.index("losses: frame-chain-loss-1/B.pcap") + 2].split() == [
        "A", "_7500.TICK.A", "22:53:26.385", "#6", "22:53:34.975", "#1", "4", "chain_seqno",
        lines[lines.index("losses: frame-chain-loss-1/B.pcap") + 2].split()[-1],
    ]  # fmt: skip
    done = show("loss", "--engine", "direct", "--at", "10.77.0.1", "frame-chain-loss-1/A.pcap")
    told = done.stdout[done.stdout.index("other daemons") :].splitlines()
    assert told[2].split()[:9] == [
        "B", "loss", "notice", "A", "_7500.TICK.A", "4,", "4", "in", "all"
    ]  # fmt: skip
    assert told[3].split()[:3] == ["10.77.0.2", "NAK", "10.77.0.1"]


def test_bounds_meet_where_another_capture_has_what_was_lost() -> None:
    at = ("--at", "A.pcap=10.77.0.1", "--at", "B.pcap=10.77.0.2")
    pair = [f"frame-unknown-loss-1/{name}.pcap" for name in "AB"]
    done = show("loss", "--engine", "direct", "--format", "json", *at, *pair)
    rows = [row for row in json.loads(done.stdout) if row["observer_name"] == "B"]
    told = {row["user"]: (row["msg_loss"], row["lost_lower"], row["lost_upper"]) for row in rows}
    assert told == {"A.1": (1, 1, 1), "C.2": (0, 0, 0)}


def test_what_rests_on_a_default_of_the_window_says_so() -> None:
    at = ("--engine", "direct", "--at", "10.77.0.2", "late-dup-1/B.pcap")
    assert "rests on defaults that nobody gave (raims.sub_window_size" in show("loss", *at).stderr
    given = [f"--param=raims.sub_window_{name}" for name in
             ("size=8388608", "count=40000", "time_ms=10000")]  # fmt: skip
    assert "default" not in show("loss", *given, *at).stderr
    clean = show("loss", "--engine", "direct", "--at", "10.77.0.2", "frame-chain-loss-1/B.pcap")
    assert clean.stderr == ""


def test_a_capture_of_nobody_is_no_table() -> None:
    done = show("loss", "--engine", "direct", "--at", "10.9.9.9", "frame-chain-loss-1/B.pcap")
    assert done.returncode == 2
    assert "--at 10.9.9.9: is nobody in frame-chain-loss-1/B.pcap; there are A (10" in done.stderr


def test_late_joins_are_judged_against_convergence() -> None:
    capture = "late-join-1/C.pcap"
    done = show("convergence", "--engine", "direct", "--format", "json", capture)
    assert [(row["subject"], row["verdict"]) for row in json.loads(done.stdout)] == [
        # a heartbeat behind the message tells of a convergence since the frame began
        ("_7500.TICK.A", "not provable"),
        ("_7500.TICK.B", "not provable"),
    ]
    stated = ("--converged-at", "2026-11-20T22:00:00Z")
    done = show("convergence", "--engine", "direct", "--format", "json", *stated, capture)
    assert {row["verdict"] for row in json.loads(done.stdout)} == {
        "uninterrupted by the design's criterion"
    }


def test_everybody_on_the_segment_sees_the_same_late_joins() -> None:
    told = []
    for name in "ABC":
        done = show("convergence", "--engine", "direct", "--format", "json",
                    f"late-join-1/{name}.pcap")  # fmt: skip
        keys = ("subscriber", "publisher", "subject", "seqno", "converged_ns", "verdict")
        told.append([[row[key] for key in keys] for row in json.loads(done.stdout)])
    assert told[0] == told[1] == told[2] and len(told[0]) == 2


def test_windows_with_memory_by_the_code_and_by_the_document() -> None:
    done = show("windows", "--engine", "direct", "--at", "10.77.0.2", "late-join-1/B.pcap")
    assert done.returncode == 0
    # three subjects of 12 bytes
    assert done.stdout.splitlines()[-1].split() == [
        "B", "sub", "not", "yet", "3", "86028", str(3 * (128 + 12)), "8388608",
    ]  # fmt: skip


def test_windows_are_drawn_for_every_system_that_has_some() -> None:
    captures = FIXTURES.parent / "jgroups" / "n4-window-full-1" / "B.pcap"
    done = show("windows", "--engine", "direct", str(captures))
    title, *picture = done.stdout.splitlines()[2:11]
    assert title == "Unacknowledged messages of B: up to 32; room for 32"
    assert picture[0].startswith("32 |") and "###" in picture[0]
    assert max(map(len, done.stdout.splitlines())) <= 80
    told = json.loads(
        show("windows", "--engine", "direct", "--format", "json", str(captures)).stdout
    )
    assert (told["windows"][0]["most"], told["raims"]) == (32, [])


def test_where_no_window_held_anything_that_is_said() -> None:
    capture = FIXTURES.parent / "zenoh" / "tcp-clean-1" / "pub.pcap"
    done = show("windows", "--engine", "direct", str(capture))
    assert "no window ever held two messages in 1 capture" in done.stdout


def test_advisories_as_the_design_document_shows_them() -> None:
    names = [f"rv-dataloss-1/{name}.pcap" for name in ("B", "B-client")]
    done = show("advisories", "--engine", "direct", "--at", "B.pcap=10.77.0.2", *names)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    heads = [line for line in lines if line.startswith(("rv-dataloss-1", "B must", "client"))]
    assert [line.rpartition(" by ")[0] or line.partition(" was ")[0] for line in heads] == [
        "rv-dataloss-1/B.pcap",
        *["B must have published"] * 3,
        "rv-dataloss-1/B-client.pcap",
        *["client 127.0.0.1:59542"] * 3,
    ]
    one, other = (lines[lines.index(head) + 1 :][:15] for head in (heads[1], heads[5]))
    assert (
        one
        == other
        == [
            '   mtype : "A"',
            "     sub : _RV.ERROR.SYSTEM.DATALOSS.INBOUND.BCAST",
            "    data : {",
            '   ADV_CLASS : "ERROR"',
            '  ADV_SOURCE : "SYSTEM"',
            '    ADV_NAME : "DATALOSS.INBOUND.BCAST"',
            '    ADV_DESC : "lost msgs"',
            '        host : "10.77.0.1"',
            '      hostid : "A"',
            "        lost : 1",
            "     sub_cnt : 1",
            '        sub1 : "RSF.REC.PAC.NaE"',
            "       lost1 : 1",
            "        scid : 7500",
            "  }",
        ]
    )


def test_a_time_that_is_none_is_a_usage_error() -> None:
    done = show("convergence", "--converged-at", "soon", "late-join-1/C.pcap")
    assert done.returncode == 2
    assert "not 'soon'" in done.stderr
