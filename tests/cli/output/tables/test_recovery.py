"""``seqaudit show recovery`` and the columns of keyed streams."""

import json
from pathlib import Path

from click.testing import CliRunner

from seqaudit.cli.main import main

ROOT = Path(__file__).parents[4] / "fixtures" / "zenoh"


def shown(*arguments: str) -> str:
    """At the subscriber's interface: two hosts alone do not show where it was captured."""
    done = CliRunner().invoke(main, [*arguments, "--at", "10.77.0.2"])
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def test_every_query_has_its_range_replies_cache_duration_and_outcome() -> None:
    capture = str(ROOT / "query-lost-1" / "sub.pcap")
    text = shown("show", "recovery", "--engine", "direct", "--time", "relative", capture)
    title, headers, row, *rest = text.splitlines()
    assert title == "Recovery"
    assert headers.split() == [
        "frame", "at", "for", "source", "parameters", "replies", "sns", "recovered", "cache",
        "took", "outcome",
    ]  # fmt: skip
    assert row.split() == [
        "18", "+1.082864", "recovery", "94693bb5.../6",
        "_sn=10..;_anyke", "0", "-", "0", "-", "10.000", "s", "timed", "out",
    ]  # fmt: skip
    assert rest == ["94693bb5... is 94693bb53992791cdb5b545670a04e1e"]


def test_as_json() -> None:
    capture = str(ROOT / "udp-no-cache-1" / "sub.pcap")
    text = shown("show", "recovery", "--engine", "direct", "--format", "json", capture)
    assert json.loads(text) == {"queries": []}
    text = shown("show", "recovery", "--engine", "direct", capture)
    assert text.startswith("no recovery query in ")


def test_streams_of_zenoh_show_source_and_key_expression() -> None:
    text = shown("audit", "--engine", "direct", str(ROOT / "query-lost-1" / "sub.pcap"))
    assert "94693bb5.../6  demo/sensor" in text
    assert text.count("94693bb5... is 94693bb53992791cdb5b545670a04e1e\n") == 1
