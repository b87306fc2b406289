"""The commands as a shell sees them: output, exit codes, bad input (cli/README.md 1)."""

import gzip
import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp
from tests.degraded.captures import read

SEQAUDIT = [sys.executable, "-m", "seqaudit.cli"]


def run(*args: object, stdin: bytes | None = None) -> Result:
    """A command in this process; audits run on the direct engine."""
    words = [str(arg) for arg in args]
    if words and words[0] in ("audit", "info", "decode"):
        words[1:1] = ["--engine", "direct"]
    if words and words[0] == "show":
        words[2:2] = ["--engine", "direct"]
    return CliRunner().invoke(main, words, input=stdin)


@pytest.fixture
def lossy(fixtures: Path) -> Path:
    return fixtures / "jgroups" / "n4-loss-1" / "C.pcap"


def test_help_and_version() -> None:
    shown = run("--help")
    assert shown.exit_code == 0
    assert "Replay captures and report what was lost, repeated, repaired." in shown.output
    lines = run("--version").output.splitlines()
    assert [line.split()[0] for line in lines] == [
        "seqaudit",
        "Python",
        "numpy",
        "numba",
        "pyarrow",
        "pyspark",
    ]


@pytest.mark.parametrize("command", ["audit", "info", "decode", "infer", "rules"])
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    shown = (
        run(command, "--help")
        if command == "rules"
        else CliRunner().invoke(main, [command, "--help"])
    )
    assert shown.exit_code == 0
    assert "Example" in shown.output


def test_help_loads_neither_arrow_nor_numpy_nor_spark() -> None:
    code = (
        "import sys; from seqaudit.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(bool({'pyarrow', 'numpy', 'pyspark', 'rich', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_a_direct_audit_loads_neither_pandas_nor_spark_nor_numba(lossy: Path) -> None:
    code = (
        "import sys; from seqaudit.cli.main import main\n"
        f"try: main(['audit', '--engine', 'direct', {str(lossy)!r}])\n"
        "except SystemExit: pass\n"
        "sys.exit(bool({'pyspark', 'pandas', 'numba', 'py4j'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_losses_that_were_repaired_are_no_error_but_a_warning(lossy: Path) -> None:
    assert run("audit", lossy).exit_code == 0
    assert run("audit", "--fail-on", "warning", lossy).exit_code == 1
    assert run("audit", "--fail-on", "warning", "--exit-zero", lossy).exit_code == 0
    assert run("audit", "--fail-on", "never", lossy).exit_code == 0


def test_real_message_loss_is_an_error(fixtures: Path) -> None:
    lost = fixtures / "jgroups" / "n2-last-lost-1"
    report = run("audit", "--format", "json", *sorted(lost.glob("?.pcap")))
    errors = [f for f in json.loads(report.stdout)["findings"] if f["severity"] == "error"]
    assert report.exit_code == (1 if errors else 0)
    assert errors


def test_json_is_the_report_and_nothing_else_is_on_stdout(lossy: Path) -> None:
    shown = run("audit", "--format", "json", lossy)
    report = json.loads(shown.stdout)
    assert report["schema"] == "seqaudit/report/1"
    assert report["captures"][0]["path"] == str(lossy)


def test_two_runs_give_the_same_bytes(lossy: Path) -> None:
    assert run("audit", lossy).stdout_bytes == run("audit", lossy).stdout_bytes


def test_every_finding_prints_its_display_filter(lossy: Path) -> None:
    report = json.loads(run("audit", "--format", "json", lossy).stdout)
    shown = run("audit", lossy).stdout
    assert report["findings"]
    for finding in report["findings"]:
        assert f"  filter: {finding['filter']}\n" in shown


# ---- bad input: what, where, what to try; the stated exit code; never a traceback


def bad(tmp_path: Path, lossy: Path, kind: str) -> Path:
    """An unusable or damaged input."""
    path = tmp_path / kind
    content = lossy.read_bytes()
    if kind == "directory":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes(
            {
                "empty": b"",
                "text": b"hello, world\n" * 20,
                "short": content[:20],
                "header-only": content[:24],
                "foreign": content[:24] + bytes(100),
            }[kind]
        )
    return path


@pytest.mark.parametrize("kind", ["missing", "directory", "empty", "text", "short"])
def test_an_unusable_input_is_one_clear_line(kind: str, tmp_path: Path, lossy: Path) -> None:
    path = bad(tmp_path, lossy, kind)
    shown = run("audit", path)
    assert shown.exit_code == 2
    assert shown.stdout == ""
    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"error: {path}: ")
    assert "; " in line  # what to try


@pytest.mark.parametrize("kind", ["missing", "directory", "empty", "text", "short"])
def test_the_other_captures_are_audited(kind: str, tmp_path: Path, lossy: Path) -> None:
    path = bad(tmp_path, lossy, kind)
    shown = run("audit", "--format", "json", path, lossy)
    assert shown.exit_code == 2
    report = json.loads(shown.stdout)
    assert [capture["frames"] for capture in report["captures"]] == [117]
    assert [entry["path"] for entry in report["unreadable"]] == [str(path)]
    assert shown.stderr.startswith(f"error: {path}: ")


def test_findings_come_before_what_could_not_be_judged(tmp_path: Path, lossy: Path) -> None:
    path = bad(tmp_path, lossy, "missing")
    assert run("audit", "--fail-on", "warning", path, lossy).exit_code == 1


def test_a_capture_without_frames_cannot_be_judged(tmp_path: Path, lossy: Path) -> None:
    shown = run("audit", bad(tmp_path, lossy, "header-only"))
    assert shown.exit_code == 2
    assert "has no frames; nothing to judge" in shown.stderr


def test_a_capture_of_a_foreign_protocol_cannot_be_judged(tmp_path: Path, lossy: Path) -> None:
    path = tmp_path / "foreign.pcap"
    frame = bytes(12) + b"\x08\x06" + bytes(46)  # ARP
    header = (1_700_000_000).to_bytes(4, "little") + bytes(4) + (60).to_bytes(4, "little") * 2
    path.write_bytes(lossy.read_bytes()[:24] + (header + frame) * 20)
    shown = run("audit", path)
    assert shown.exit_code == 2
    assert f"{path}: nothing in 20 frames is of a known system; seqaudit info" in shown.stderr
    assert run("info", path).exit_code == 2


def test_a_capture_that_holds_only_parts_of_a_known_system_says_so(
    fixtures: Path, tmp_path: Path
) -> None:
    whole = read(fixtures / "raims" / "small-txw-1" / "B.pcap")
    path = tmp_path / "snapped.pcap"
    cut = [replace(record, data=record.data[:64]) for record in whole.records]
    path.write_bytes(whole.of(cut).written())
    shown = run("audit", path)
    assert shown.exit_code == 2
    assert (
        f"error: {path}: all of pgm in it was captured only in part (137 of 319 frames); capture "
        "whole packets (tcpdump -s 0)\n"
    ) in shown.stderr


def test_what_is_nearly_of_a_system_is_named(tmp_path: Path) -> None:
    rtp = b"\x80\0" + bytes(10) + bytes(160)
    single = [ethernet(ipv4(udp(rtp, 5000 + n, 6000), ident=n + 1)) for n in range(4)]
    no_pgm = [ethernet(ipv4(bytes(40), protocol=113, ident=n + 9)) for n in range(6)]
    path = tmp_path / "nearly.pcap"
    path.write_bytes(pcap(single + no_pgm))
    shown = run("audit", "--feed", "rtp", path)
    assert shown.exit_code == 2
    assert (
        "nothing in 10 frames is of a known system (nearest: 6 IP protocol 113 whose type and "
        "lengths are those of no PGM packet; 4 like rtp, but no number follows another); seqaudit"
    ) in shown.stderr


def test_everything_before_and_after_damage_is_audited(tmp_path: Path, lossy: Path) -> None:
    content = lossy.read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(content[:-7])
    report = json.loads(run("audit", "--format", "json", cut).stdout)
    assert report["captures"][0]["frames"] == 116
    assert "CP001" in {finding["rule"] for finding in report["findings"]}

    at = 24
    for _ in range(30):
        at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(content[: at + 8] + b"\xff" * 8 + content[at + 16 :])
    shown = run("audit", "--format", "json", damaged)
    report = json.loads(shown.stdout)
    assert report["captures"][0]["frames"] == 116
    assert report["captures"][0]["skipped"][0]["from"] == at
    assert "CP002" in {finding["rule"] for finding in report["findings"]}
    assert shown.exit_code in (0, 1)


def test_the_same_capture_twice_is_refused(lossy: Path) -> None:
    shown = run("audit", lossy, lossy)
    assert shown.exit_code == 2
    assert "is given twice" in shown.stderr


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--param", "mcast.speed=1"], "no parameter is called"),
        (["--param", "mcast.capacity"], "is not NAME=VALUE"),
        (["--decode-as", "7800=jgroups"], "is not udp:PORT=SYSTEM"),
        (["--decode-as", "udp:7800=morse"], "no system is called morse"),
        (["--no-decode", "morse"], "no system is called morse"),
        (["--master", "local", "--remote", "sc://a"], "two places"),
        (["--master", "local"], "runs in this process"),
        (["--at", "A", "--at", "B"], "only one vantage"),
        (["--at", "x.pcap=B"], "no capture is called x.pcap"),
        (["--names", "no-such-file"], "does not exist"),
        (["--limit", "-1"], "-1 is not in the range"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(
    args: list[str], complaint: str, lossy: Path
) -> None:
    shown = run("audit", *args, lossy)
    assert shown.exit_code == 2
    assert complaint in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a: [", "line 1: is not YAML"),
        ("- a\n", "is not a map of identities to names"),
        ("a: {b: c}\n", "is not a map of identities to names"),
    ],
)
def test_a_names_file_that_makes_no_sense_says_where(
    content: str, complaint: str, tmp_path: Path, lossy: Path
) -> None:
    names = tmp_path / "names.yaml"
    names.write_text(content)
    shown = run("audit", "--names", names, lossy)
    assert shown.exit_code == 2
    assert complaint in shown.stderr


# ---- what options do


@pytest.mark.parametrize("words", [[], ["show"], ["spark"]])
def test_a_command_that_wants_another_word_shows_its_help(words: list[str]) -> None:
    shown = CliRunner().invoke(main, words, prog_name="seqaudit")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.splitlines()[0].startswith(f"Usage: {' '.join(['seqaudit', *words])} ")
    assert "error" not in shown.stderr and "\\x0a" not in shown.stderr
    listed = shown.stderr.split("Commands:\n")[1].splitlines()
    assert listed and not any(line.endswith("...") for line in listed)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["audit"], "Missing argument 'CAPTURE...'. seqaudit audit --help says what there is."),
        (["show", "gaps"], "Missing argument 'CAPTURE...'. seqaudit show gaps --help says what"),
        (["audit", "--qqq", "x"], "No such option '--qqq'. seqaudit audit --help says what"),
    ],
)
def test_what_is_missing_is_said_with_where_it_is_explained(words: list[str], told: str) -> None:
    shown = CliRunner().invoke(main, words, prog_name="seqaudit")
    assert shown.exit_code == 2 and shown.stderr.startswith(f"error: {told}")
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [("audit",), ("show", "gaps"), ("show", "timeline")])
@pytest.mark.parametrize(
    ("option", "name", "advice"),
    [
        ("--member", "Z", "no stream is from or to it; there are A, B, C"),
        ("--system", "jgroup", "no stream is of it; there are nakack4, unicast4"),
        ("--stream", "nobody", "no stream has this in its id, subject or key"),
    ],
)
def test_a_filter_that_names_nothing_of_a_capture_is_one_line_and_never_clean(
    words: tuple[str, ...], option: str, name: str, advice: str, lossy: Path
) -> None:
    shown = run(*words, option, name, lossy)
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.count("\n") == 1
    assert shown.stderr.startswith(f"error: {option} {name}: {advice}")


def test_filters_of_time_that_leave_no_stream_say_so(lossy: Path) -> None:
    shown = run("audit", "-q", "--since", "+1000", lossy)
    assert shown.exit_code == 0 and shown.stdout.startswith("1 capture: no stream is shown; ")
    assert shown.stderr.endswith("No stream is left; seqaudit show streams lists them.\n")


def test_what_is_shown_alone_takes_filters_and_keeps_its_numbers(lossy: Path) -> None:
    some = run("show", "gaps", "--since", "90", "--member", "B", lossy)
    assert "8 of 9 gaps left out" in some.stderr
    assert [line.split()[:3] for line in some.stdout.splitlines()[4:]] == [["9", "B", "82-138"]]


def test_names_go_before_those_of_the_wire(tmp_path: Path, lossy: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("10.80.0.2: bravo\n6e1a5dce-d96a-4ef6-8ce5-c29e0b80e29f: charlie\n")
    report = json.loads(run("audit", "--format", "json", "--names", names, lossy).stdout)
    stream = next(s for s in report["streams"] if s["messages"] == 200)
    assert (stream["sender_name"], stream["receiver_name"]) == ("bravo", "charlie")
    texts = [f["text"] for f in report["findings"] if f["rule"] == "MC001"]
    assert texts[0].startswith("66 messages of bravo were missing at charlie, asked for")


def test_param_goes_before_params_and_these_before_the_stack_file(
    tmp_path: Path, lossy: Path
) -> None:
    params = tmp_path / "params.yaml"
    params.write_text("mcast: {capacity: 128, xmit_interval_ms: 700}\n")
    stack = tmp_path / "stack.xml"
    stack.write_text(
        '<config><NAKACK4 capacity="256" xmit_interval="900" max_xmit_req_size="99"/></config>'
    )
    options = ["--jgroups-config", stack, "--params", params, "--param", "mcast.capacity=64"]
    report = json.loads(run("audit", "--format", "json", *options, lossy).stdout)
    values = {p["name"]: (p["value"], p["origin"]) for p in report["parameters"]}
    assert values["mcast.capacity"] == (64, "given")
    assert values["mcast.xmit_interval_ms"] == (700, "given")
    assert values["mcast.max_xmit_req_size"] == (99, "given")


def test_a_vantage_can_be_given_for_each_file(fixtures: Path) -> None:
    a, b = (fixtures / "jgroups" / "n4-loss-1" / name for name in ("A.pcap", "B.pcap"))
    report = json.loads(run("audit", "--format", "json", "--at", "A.pcap=A", a, b).stdout)
    assert [(c["vantage"]["name"], c["vantage"]["origin"]) for c in report["captures"]] == [
        ("A", "given"),
        ("B", "inferred"),
    ]


def test_a_system_that_is_not_to_be_decoded_is_not(lossy: Path) -> None:
    shown = run("audit", "--no-decode", "jgroups", lossy)
    assert shown.exit_code == 2
    assert "nothing in 117 frames is of a known system" in shown.stderr


@pytest.mark.parametrize(
    ("style", "shown"),
    [("utc", " at 2026-11-20 22:18:48."), ("epoch", " at 1795213128."),
     ("relative", " at +3.")],
)  # fmt: skip
def test_times_are_shown_as_asked_for(style: str, shown: str, lossy: Path) -> None:
    assert shown in run("audit", "--time", style, lossy).stdout


def test_a_limit_shortens_tables_and_says_so(lossy: Path) -> None:
    shown = run("show", "gaps", "--limit", "2", lossy).stdout
    assert "... and 7 more; --limit 0 shows all" in shown


def test_the_verdict_is_first_and_last_and_the_worst_findings_follow(lossy: Path) -> None:
    lines = run("audit", lossy).stdout.splitlines()
    assert lines[0].startswith("1 capture, 4 streams: 66 messages lost, all recovered")
    assert lines[0] == lines[-2] and lines[1] == lines[-1]
    assert lines[3] == "Findings"
    assert "Gaps" not in lines and "Rules" not in lines
    assert "seqaudit show gaps" in lines[-4]


def test_verbose_shows_every_table(lossy: Path) -> None:
    lines = run("audit", "-v", lossy).stdout.splitlines()
    assert {"Findings", "Streams", "Gaps", "Connections", "Captures", "Rules"} <= set(lines)


@pytest.mark.parametrize(
    ("part", "shows"),
    [
        ("streams", "not visible at this point of capture"),
        ("gaps", "HIGHEST_SEQNO"),
        ("connections", "OPEN 15 > CLOSING 15"),
        ("findings", "MC003 warning last-message-lost"),
        ("rules", "judged: CP001"),
        ("captures", "C 10.80.0.3 (inferred)"),
    ],
)
def test_show_has_each_part_of_an_audit_as_a_table_and_as_json(
    part: str, shows: str, lossy: Path
) -> None:
    severities = ["error", "warning", "info"]
    assert shows in run("show", part, lossy).stdout
    rows = json.loads(run("show", part, "--format", "json", lossy).stdout)
    whole = json.loads(run("audit", "--format", "json", lossy).stdout)
    numbers = [row.pop("number", None) for row in rows[part]]
    assert rows[part] == whole[part] and rows[part]
    listed = sorted(rows[part], key=lambda row: severities.index(row.get("severity", "error")))
    order = [listed.index(row) + 1 for row in rows[part]]
    assert numbers == (order if part in ("gaps", "findings") else [None] * len(order))


@pytest.mark.parametrize("last", [True, False])
def test_a_file_without_a_command_is_audited(last: bool, lossy: Path) -> None:
    options = ["--engine", "direct"]
    words = [str(lossy), *options] if last else [*options, str(lossy)]
    audited = CliRunner().invoke(main, words, prog_name="seqaudit")
    assert audited.stdout == run("audit", lossy).stdout


@pytest.mark.parametrize(
    ("word", "advice"),
    [("auditt", "did you mean audit?"), ("xyz", "there are audit, check, info")],
)
def test_a_mistyped_command_gets_a_suggestion(word: str, advice: str) -> None:
    told = CliRunner().invoke(main, [word])
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1 and advice in told.stderr and word in told.stderr


def test_standard_input_in_every_compression_is_the_same_capture(lossy: Path) -> None:
    import lz4.frame
    import zstandard

    content = lossy.read_bytes()
    plain = json.loads(run("audit", "--format", "json", lossy).stdout)
    for name, data in (
        (None, content),
        ("gz", gzip.compress(content)),
        ("zst", zstandard.compress(content)),
        ("lz4", lz4.frame.compress(content)),
    ):
        piped = json.loads(run("audit", "--format", "json", "-", stdin=data).stdout)
        assert piped["captures"][0] == plain["captures"][0] | {
            "path": "-", "files": ["-"], "compression": name,
            "interfaces": [i | {"file": "-"} for i in plain["captures"][0]["interfaces"]],
        }  # fmt: skip
        assert piped["gaps"] == plain["gaps"]


def test_an_empty_standard_input_is_one_line() -> None:
    shown = run("audit", "-", stdin=b"")
    assert (shown.exit_code, shown.stderr) == (
        2, "error: -: is empty; check the command before the pipe\n",
    )  # fmt: skip


def test_an_events_file_gives_the_report_of_the_capture(tmp_path: Path, lossy: Path) -> None:
    events = tmp_path / "events.parquet"
    assert run("decode", lossy, "-o", events).exit_code == 0
    for shape in ("json", "table"):
        kept = run("audit", "--format", shape, events)
        assert kept.stdout_bytes == run("audit", "--format", shape, lossy).stdout_bytes
    assert run("audit", events, lossy).exit_code == 2
    nowhere = run("decode", lossy, "-o", tmp_path / "no" / "where.parquet")
    assert nowhere.exit_code == 2
    assert "cannot be written" in nowhere.stderr


def test_rotated_files_are_recognized_and_can_be_one_capture(tmp_path: Path, lossy: Path) -> None:
    content = lossy.read_bytes()
    ring = [tmp_path / f"lab_{n:05d}_2026112022184{n}.pcap" for n in (1, 2)]
    at = 24
    for _ in range(40):
        at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
    ring[0].write_bytes(content[:at])
    ring[1].write_bytes(content[:24] + content[at:])
    found = run("audit", "--format", "json", *ring)
    assert f"{ring[0]} and 1 more are one capture written in turns (dumpcap ring); " in found.stderr
    assert json.loads(found.stdout)["totals"]["captures"] == 1
    one = run("audit", "--format", "json", "--one-capture", *ring)
    assert (one.stderr, one.stdout) == ("", found.stdout)
    backwards = run("audit", "--format", "json", *reversed(ring))
    assert "put in the order of their first packets" in backwards.stderr
    assert backwards.stdout == found.stdout
    several = run("audit", "--format", "json", "--separate", *ring)
    assert "one capture" not in several.stderr
    assert json.loads(several.stdout)["totals"]["captures"] == 2


def test_rules_are_listed_and_explained() -> None:
    assert "MC001" in run("rules").stdout
    shown = run("rules", "mc001")
    assert shown.exit_code == 0
    for part in ("MC001 loss-recovered", "Meaning:", "Detected:", "What to do:"):
        assert part in shown.stdout
    assert run("rules", "XX999").exit_code == 2


def test_info_says_what_is_in_a_capture_and_what_was_not_judged(lossy: Path) -> None:
    shown = run("info", lossy).stdout
    for part in (
        "frames: 117: 105 decoded (89.7 %), 9 other (7.7 %), 3 undecodable (2.6 %)",
        "taken at: C 10.80.0.3 (inferred): 10.80.0.3 is an end of all 27 unicasts",
        "incomplete IP datagram",
        "XMIT_REQ",
        "239.8.8.8",
        "not judged, no stream is sent here: MC006-MC008, MC012, MC020",
    ):
        assert part in shown


# ---- the shell around it


def test_a_reader_that_goes_away_is_no_error(lossy: Path) -> None:
    process = subprocess.Popen(
        [*SEQAUDIT, "audit", "--engine", "direct", "--format", "json", str(lossy)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # as head does
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_piped_output_is_plain_in_any_encoding(encoding: str, lossy: Path) -> None:
    shown = subprocess.run(
        [*SEQAUDIT, "audit", "--engine", "direct", str(lossy)],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": encoding, "FORCE_COLOR": "1"},
    )
    assert b"\x1b" not in shown.stdout
    assert shown.stderr == b""


def test_text_of_a_path_cannot_steer_the_terminal(tmp_path: Path, lossy: Path) -> None:
    path = tmp_path / "evil\x1b[31m[bold].pcap"
    path.write_bytes(lossy.read_bytes())
    shown = run("audit", path).stdout
    assert "\x1b" not in shown
    assert "evil\\x1b[31m[bold].pcap" in shown
    shown = run("audit", tmp_path / "no\nsuch\x1b").stderr
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 1


def test_interrupted_what_is_known_is_printed_and_the_code_is_130(
    lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seqaudit.pipeline import audit as pipeline
    from seqaudit.pipeline.options import Options
    from seqaudit.pipeline.shared.plan import CaptureInput
    from seqaudit.pipeline.shared.progress import StoppedError

    report = pipeline.audit([CaptureInput(str(lossy))], Options(engine="direct"))

    def stop(*_: object) -> None:
        raise StoppedError("interrupted; this is what is known so far", report)

    monkeypatch.setattr(pipeline, "audit", stop)
    shown = run("audit", lossy)
    assert shown.exit_code == 130
    assert shown.stdout == run_again(lossy)
    assert shown.stderr == "interrupted; this is what is known so far\n"


@pytest.mark.parametrize(
    "words", [["show", "gaps"], ["show", "timeline"], ["check", "--budget", "b.yaml"]]
)
def test_every_command_shows_what_is_known_when_it_is_interrupted(
    words: list[str], lossy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from seqaudit.pipeline import audit as pipeline
    from seqaudit.pipeline.options import Options
    from seqaudit.pipeline.shared.plan import CaptureInput
    from seqaudit.pipeline.shared.progress import StoppedError

    report = pipeline.audit([CaptureInput(str(lossy))], Options(engine="direct"))

    def stop(*_: object) -> None:
        raise StoppedError("interrupted; this is what is known so far", report)

    (tmp_path / "b.yaml").write_text("lost: 1\n")
    monkeypatch.chdir(tmp_path)
    whole = run(*words, lossy)
    monkeypatch.setattr(pipeline, "audit", stop)
    shown = run(*words, lossy)
    assert (shown.exit_code, shown.stdout) == (130, whole.stdout)
    assert shown.stderr == "interrupted; this is what is known so far\n"


def run_again(capture: Path) -> str:
    """The report of a run that nobody interrupts, from another process."""
    return subprocess.run(
        [*SEQAUDIT, "audit", "--engine", "direct", str(capture)],
        capture_output=True,
        check=True,
        text=True,
    ).stdout


def test_ctrl_c_at_any_other_moment_is_130_without_a_traceback(
    lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seqaudit.pipeline import audit as pipeline

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "audit", stop)
    shown = run("audit", lossy)
    assert (shown.exit_code, shown.stdout, shown.stderr.strip()) == (130, "", "interrupted")


def test_a_connect_server_that_is_not_there_is_one_line(lossy: Path) -> None:
    shown = CliRunner().invoke(main, ["audit", "--remote", "sc://localhost:1", str(lossy)])
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1


def test_a_connect_server_of_another_host_without_tls_is_warned_of(lossy: Path) -> None:
    shown = CliRunner().invoke(main, ["audit", "--remote", "sc://spark.invalid:1", str(lossy)])
    assert shown.exit_code == 2
    assert "can be read and changed on its way; add /;use_ssl=true" in shown.stderr


def seqaudit(redirection: str, *words: object) -> "subprocess.CompletedProcess[str]":
    """A command with a redirection of the shell."""
    line = " ".join([shlex.quote(sys.executable), "-m seqaudit.cli", *map(str, words), redirection])
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shape", ["table", "json", "html"])
@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        (">/dev/full", "error: standard output cannot be written: No space left on device\n"),
        (">&-", "error: standard output is closed\n"),
    ],
)
def test_output_that_cannot_be_written_is_one_line(
    redirection: str, said: str, shape: str, lossy: Path
) -> None:
    done = seqaudit(redirection, "audit --engine direct --format", shape, lossy)
    assert (done.returncode, done.stderr) == (2, said)


def test_help_that_cannot_be_written_is_one_line() -> None:
    done = seqaudit(">/dev/full", "--help")
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_what_cannot_be_said_on_stderr_changes_nothing_else(redirection: str, lossy: Path) -> None:
    expected = seqaudit("", "audit --engine direct", lossy)
    done = seqaudit(redirection, "audit --engine direct", lossy)
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    assert seqaudit(redirection, "audit --engine direct", "none.pcap").returncode == 2


def test_a_closed_standard_input_is_one_line() -> None:
    done = seqaudit("<&-", "audit --engine direct -")
    assert (done.returncode, done.stderr) == (
        2,
        "error: -: standard input is closed; pipe a capture into it\n",
    )


def test_no_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, lossy: Path) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("seqaudit.pipeline.audit.audit", refuse)
    shown = run("audit", lossy)
    assert (shown.exit_code, shown.stderr) == (2, "error: there is not enough memory\n")


def test_an_end_of_a_file_is_no_interrupt(monkeypatch: pytest.MonkeyPatch, lossy: Path) -> None:
    def end(*_: object) -> None:
        raise EOFError("marshal data too short")

    monkeypatch.setattr("seqaudit.pipeline.audit.audit", end)
    shown = run("audit", lossy)
    assert shown.exit_code == 2
    assert "EOFError: marshal data too short" in shown.stderr
    assert "please report the lines above" in shown.stderr


@pytest.mark.parametrize("at", ["nobody", "1.2.3.4"])
def test_a_place_that_is_nobodys_is_a_usage_error_that_says_who_is_there(
    lossy: Path, at: str
) -> None:
    shown = run("audit", "--format", "json", "--at", at, lossy)
    assert (shown.exit_code, shown.stdout) == (2, "")
    (line,) = [line for line in shown.stderr.splitlines() if line.startswith("error:")]
    assert line.startswith(f"error: --at {at}: is nobody in {lossy}; there are ")
    assert "10.80.0.2" in line


def test_a_place_that_one_of_several_captures_knows_is_no_usage_error(
    fixtures: Path, lossy: Path
) -> None:
    other = fixtures / "zenoh" / "udp-loss-recovered-1" / "sub.pcap"
    shown = run("audit", "--engine", "direct", "--at", "10.80.0.3", lossy, other)
    assert "is nobody" not in shown.stderr
    assert "--at 10.80.0.3: no unicast of a decoded system" in shown.stderr


def test_a_capture_of_two_members_without_a_place_is_not_judged(fixtures: Path) -> None:
    capture = fixtures / "raims" / "tcp-partition-1" / "B.pcap"
    shown = run("audit", "--engine", "direct", "--format", "json", capture)
    assert shown.exit_code == 2
    assert (
        f"error: {capture}: no loss could be judged: only 10.77.0.1 and 10.77.0.2" in shown.stderr
    )
    report = json.loads(shown.stdout)
    assert report["totals"]["lost"] is None
    assert "CP010" in {finding["rule"] for finding in report["findings"]}
    given = run("audit", "--engine", "direct", "--format", "json", "--at", "10.77.0.2", capture)
    report = json.loads(given.stdout)
    assert report["totals"]["lost"] is not None
    assert "CP010" not in {finding["rule"] for finding in report["findings"]}


def test_a_capture_that_shows_no_numbers_is_not_judged(fixtures: Path) -> None:
    """Of encrypted links and of clients' connections nothing says whether anything was lost."""
    encrypted = fixtures / "raims" / "mesh-enc-1" / "A.pcap"
    client = fixtures / "raims" / "rv-dataloss-1" / "A-client.pcap"
    daemon = fixtures / "raims" / "rv-dataloss-1" / "A.pcap"
    for capture, why in (
        (encrypted, ", and 8 of its frames could not be decoded"),
        (client, ""),
    ):
        shown = run("audit", "--engine", "direct", "--format", "json", capture)
        assert shown.exit_code == 2
        problem = f"error: {capture}: no loss could be judged: it shows no numbered stream{why};"
        assert problem in shown.stderr
        assert json.loads(shown.stdout)["totals"]["lost"] is None
    both = run("audit", "--engine", "direct", "--at", "A.pcap=10.77.0.1", client, daemon)
    assert "no numbered stream" not in both.stderr  # the daemon's capture tells


def test_a_place_that_the_capture_contradicts_is_not_believed(lossy: Path) -> None:
    shown = run("audit", "--engine", "direct", "--format", "json", "--at", "10.80.0.2", lossy)
    report = json.loads(shown.stdout)
    assert "CP020" in {finding["rule"] for finding in report["findings"]}
    assert report["captures"][0]["vantage"]["kind"] == "unknown"
    assert report["totals"]["lost"] is None


@pytest.mark.parametrize("scenario", ["raims/tcp-partition-1", "jgroups/u3-stale-ack-fixed-1"])
def test_captures_of_both_ends_show_where_each_was_taken(fixtures: Path, scenario: str) -> None:
    folder = fixtures / scenario
    hosts = {"A.pcap": "1", "B.pcap": "2"}
    told = [
        f"--at={name}=10.{77 if 'raims' in scenario else 80}.0.{host}"
        for name, host in hosts.items()
    ]
    files = [folder / name for name in hosts]
    inferred, given = (
        json.loads(run("audit", "--engine", "direct", "--format", "json", *at, *files).stdout)
        for at in ([], told)
    )
    assert [c["vantage"]["origin"] for c in inferred["captures"]] == ["inferred", "inferred"]
    for part in ("streams", "findings", "gaps", "totals"):
        assert inferred[part] == given[part]


def test_a_copy_of_a_capture_is_not_counted_again(lossy: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(lossy.read_bytes())
    one, both = (
        json.loads(run("audit", "--format", "json", *files).stdout)["totals"]
        for files in ((lossy,), (lossy, copy))
    )
    figures = "messages", "lost", "lost_upper", "recovered", "unrecovered"
    assert [both[name] for name in figures] == [one[name] for name in figures]
    assert both["streams"] == 2 * one["streams"]
    shown = run("audit", lossy, copy).stdout
    assert " streams are in another capture of the same place as well, and count once.\n" in shown
