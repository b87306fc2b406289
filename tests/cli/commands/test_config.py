"""The configuration file, and ``seqaudit config``: what is in force, and where from."""

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner, Result

from seqaudit.cli.main import all_commands, main
from seqaudit.cli.options.configuration import keyed

ROOT: Final = Path(__file__).parents[3] / "fixtures" / "jgroups"
LOSSY: Final = ROOT / "n4-loss-1" / "C.pcap"  # 66 messages of B lost and recovered: warnings


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is called in a folder of its own, below which nothing is configured."""
    monkeypatch.chdir(tmp_path)
    for name in ("SPARK_MASTER", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)


def configure(entries: Any, file: str = "seqaudit.yaml") -> None:
    Path(file).write_text(entries if isinstance(entries, str) else yaml.safe_dump(entries))


def seqaudit(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def in_force(*more: str) -> dict[tuple[str, str], tuple[Any, str]]:
    told = seqaudit(*more, "config", "--all", "--format", "json")
    rows = json.loads(told.stdout)["options"]
    return {(row["command"], row["key"]): (row["value"], row["source"]) for row in rows}


def test_every_option_of_every_command_is_a_key() -> None:
    keys = {
        (path, key)
        for path, command in all_commands().items()
        if not hasattr(command, "commands")
        for key, _ in keyed(command)
    }
    assert set(in_force()) == keys
    assert {("audit", "fail-on"), ("show gaps", "limit"), ("check", "budget")} <= keys


def test_a_key_at_the_top_is_for_all_commands_that_have_it() -> None:
    configure({"limit": 7, "show": {"gaps": {"limit": 3}}})
    found = in_force()
    where = str(Path("seqaudit.yaml").resolve())
    assert found["audit", "limit"] == ("7", where)
    assert found["show gaps", "limit"] == ("3", where)
    assert found["audit", "fail-on"] == ("error", "default")


def test_the_command_line_goes_before_the_file_and_the_file_before_the_default() -> None:
    audit = ("audit", "--engine", "direct", "-q", LOSSY)
    assert seqaudit(*audit).exit_code == 0
    configure({"audit": {"fail-on": "warning"}})
    assert seqaudit(*audit).exit_code == 1
    assert seqaudit(*audit, "--fail-on", "error").exit_code == 0
    assert seqaudit("--no-config", *audit).exit_code == 0


def test_the_nearest_file_upwards_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    configure('[tool.seqaudit]\nlimit = 5\n[tool.seqaudit.audit]\nfail-on = "never"\n',
              "pyproject.toml")  # fmt: skip
    Path("a/b").mkdir(parents=True)
    monkeypatch.chdir("a/b")
    assert in_force()["audit", "limit"][0] == "5"
    configure({"limit": 6}, "../seqaudit.yaml")
    configure("[tool.other]\n", "pyproject.toml")
    found = in_force()
    assert found["audit", "limit"][0] == "6"
    assert found["audit", "fail-on"] == ("error", "default"), "files are not merged"
    assert in_force("--config", "../../pyproject.toml")["audit", "fail-on"][0] == "never"


def test_files_are_found_from_the_folder_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure("10.1.1.1: left\n", "names.yaml")
    configure({"names": "names.yaml", "feed": ["own.yaml@:5", "rtp"], "param": {"mcast.ttl": 1}})
    Path("inner").mkdir()
    monkeypatch.chdir("inner")
    found, above = in_force(), Path.cwd().parent
    assert found["audit", "names"][0] == str(above / "names.yaml")
    assert found["audit", "feed"][0] == [str(above / "own.yaml@:5"), "rtp"]
    assert found["audit", "param"][0] == ["mcast.ttl=1"]


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"fial-on": "error"}, "nothing is called fial-on; did you mean fail-on?"),
        ({"audit": {"budget": "x"}}, "audit: nothing is called budget; seqaudit config lists"),
        ({"limit": "many"}, "limit of audit: 'many' is not a valid integer"),
        ({"limit": [1, 2]}, "limit of audit: [1, 2] is no single value"),
        ({"audit": {"quiet": "maybe"}}, "audit: quiet: maybe is not true or false"),
        ({"audit": {"at": {"a": ["b"]}}}, "audit: at: ['b'] is no text; write a list of texts"),
        ({"audit": 3}, "audit: is no map of options"),
        (["audit"], "is no map of options"),
        ("{", "line 1: is not YAML; write lines such as fail-on: warning"),
        ("limit: !!int x", "is not YAML"),
    ],
)
def test_what_is_wrong_in_the_file_is_one_line(entries: Any, problem: str) -> None:
    configure(entries)
    told = seqaudit("audit", "--engine", "direct", LOSSY)
    assert told.exit_code == 2
    assert told.stderr.startswith(f"error: {Path('seqaudit.yaml').resolve()}")
    assert problem in told.stderr
    assert told.stderr.count("\n") == 1


def test_a_toml_that_is_none_is_said_only_if_it_is_asked_for() -> None:
    configure("[tool.seqaudit\n", "pyproject.toml")
    assert seqaudit("config").exit_code == 0
    told = seqaudit("--config", "pyproject.toml", "config")
    assert "pyproject.toml: is not TOML" in told.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_file_of_another_user_is_not_read_and_that_is_said() -> None:
    configure({"limit": 3})
    os.chown("seqaudit.yaml", 12345, 12345)
    told = seqaudit("config", "--format", "json")
    assert json.loads(told.stdout) == {"file": None, "options": []}
    assert "is another user's and not read; --config FILE reads it" in told.stderr
    assert in_force("--config", "seqaudit.yaml")["audit", "limit"][0] == "3"


def test_a_place_of_the_file_gives_way_to_the_environment_and_to_the_direct_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure({"master": "spark://nowhere.invalid:7077"})
    told = seqaudit("audit", "--engine", "direct", LOSSY)
    assert told.exit_code == 0
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere")
    assert in_force()["audit", "remote"] == ("sc://elsewhere", "SPARK_REMOTE")


@pytest.mark.parametrize(
    ("limit", "engine"), [("1GiB,1", "direct"), ("1GiB", "direct"), ("1MiB,0", "Spark")]
)
def test_where_spark_begins_is_an_option(limit: str, engine: str) -> None:
    from seqaudit.cli.options.captures import engine_of

    choice, _ = engine_of([str(LOSSY)], "auto", None, None, limit)
    assert choice.engine == engine.lower()


def test_a_limit_of_spark_that_is_none_is_one_line() -> None:
    told = seqaudit("audit", "--spark-above", "lots", LOSSY)
    assert told.stderr == (
        "error: --spark-above lots: is no size and number of files; try 1GiB,1000\n"
    )


def test_settings_of_spark_are_a_map_of_the_file_and_go_to_the_place() -> None:
    from seqaudit.cli.options.captures import engine_of

    settings = ["spark.a=b=c", "spark.executor.memory=4g"]
    configure({"spark-conf": {"spark.a": "b=c", "spark.executor.memory": "4g"}})
    assert in_force()["audit", "spark-conf"][0] == settings
    choice, _ = engine_of([str(LOSSY)], "auto", "yarn", None, "1GiB", settings)
    assert choice.place.settings == (("spark.a", "b=c"), ("spark.executor.memory", "4g"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("memory=4g", "is not KEY=VALUE of Spark; try spark.executor.memory=4g"),
        ("spark.executor.memory", "is not KEY=VALUE of Spark; try spark.executor.memory=4g"),
        ("spark.master=yarn", "is an option of its own, --master"),
    ],
)
def test_a_setting_of_spark_that_is_none_is_one_line(text: str, line: str) -> None:
    told = seqaudit("audit", "--spark-conf", text, LOSSY)
    assert told.exit_code == 2
    assert told.stderr.startswith("error: --spark-conf ")
    assert told.stderr.endswith(f": {line}\n")


def test_config_says_that_there_is_nothing() -> None:
    assert seqaudit("config").stdout == (
        "Every option has its default: there is no configuration file. "
        "seqaudit config --all lists them.\n"
    )
