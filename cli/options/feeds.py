"""``--feed`` and ``--lines``: which feeds there are, and where (decoders/README.md 5)."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from seqaudit.cli.output.text import safe
from seqaudit.decoders.contract.feed_layout import Feed, Line, Route, first_overlap
from seqaudit.decoders.feeds.ends import parse_end, parse_line, parse_place
from seqaudit.decoders.feeds.files import load_feed, shipped
from seqaudit.decoders.feeds.nodes import FeedError

_ADVICE: Final = (
    "write such as moldudp64@233.54.12.0/24:26400, rtp@:5004 or my-feed.yaml; seqaudit feeds lists"
)


def feeds_of(
    feeds: Iterable[str], lines: Iterable[str], *, tried: bool = False
) -> tuple[Feed, ...]:
    """The feeds that the command line names.

    Args:
        tried: with all others that can be recognised, those first that most tells apart.

    Raises:
        click.UsageError, FeedError: what, where and what to try, in one line.
    """
    found: dict[str, Feed] = {}
    placed: set[str] = set()
    for text in feeds:
        feed, has_place = _feed(text)
        known = found.get(feed.name)
        if known is None:
            found[feed.name] = feed
        elif known.where != feed.where:
            raise click.UsageError(
                f"--feed {safe(text)}: another feed is called {feed.name}, that of "
                f"{safe(known.where)}; give one of them another name"
            )
        elif not (has_place and feed.name in placed):
            raise click.UsageError(
                f"--feed {safe(text)}: {feed.name} is given twice; "
                "give both a place: NAME@ADDRESS:PORT"
            )
        else:
            found[feed.name] = replace(
                known, match=known.match + feed.match,
                servers=tuple(dict.fromkeys(known.servers + feed.servers)),
                timestamp=feed.timestamp or known.timestamp,
            )  # fmt: skip
        if has_place:
            placed.add(feed.name)
    for text in lines:
        name, line = _line(text, found)
        found[name] = replace(found[name], lines=(*found[name].lines, line))
    settled = tuple(_settled(feed) for feed in found.values())
    if tried:
        settled += tuple(feed for feed in recognisable() if feed.name not in found)
    overlap = first_overlap(settled)
    if overlap is not None:
        one, place, other = overlap
        raise click.UsageError(
            f"--feed: {one.name} and {other.name} both have {safe(place)}; "
            + ("name one of them" if one.ethertype else "give them places apart")
        )
    return settled


def recognisable() -> list[Feed]:
    """The shipped feeds that are tried where nobody names them; where numbers begin anew, within
    the bits that they have, nothing tells."""
    known = [load_feed(path) for path in shipped().values()]
    feeds = [
        replace(feed, match=(Route(),), tried=True)
        for feed in known
        if feed.recognise and not feed.own_places and not feed.modulus
    ]
    return sorted(feeds, key=lambda feed: -feed.told_apart_by)


def _settled(feed: Feed) -> Feed:
    """A feed of which nobody says the place is wherever it is recognised; a type of Ethernet is the
    place of its own."""
    if feed.own_places or feed.lines:
        return feed
    if (feed.group or feed.framing) and not (feed.recognise or feed.ethertype):
        unit = "connections" if feed.framing else "datagrams"
        raise click.UsageError(
            f"--feed {safe(feed.name)}: nothing in its {unit} tells them from others; "
            f"give its place, such as {safe(feed.name)}@239.1.1.0/24:5000-5099"
        )
    return replace(feed, match=(Route(),))


def _feed(text: str) -> tuple[Feed, bool]:
    """The feed of one --feed, and whether it says the place."""
    if Path(text).is_file():
        return load_feed(text), False
    first, *said = text.split(",")
    name, sign, places = first.rpartition("@") if "@" in first else (first, "", "")
    feed = load_feed(_file_of(name, text))
    if sign and feed.ethertype:
        raise click.UsageError(
            f"--feed {safe(text)}: {feed.name} is carried by Ethernet, which has no such places; "
            f"write {feed.name}"
        )
    if sign:
        try:
            feed = feed.at(tuple(parse_place(place) for place in places.split("+")))
        except ValueError as problem:
            raise click.UsageError(f"--feed {safe(text)}: place {safe(problem)}; {_ADVICE}") from (
                problem
            )
    for part in said:
        feed = _with(feed, part, text)
    return feed, bool(sign)


def _file_of(name: str, text: str) -> Path:
    known = shipped()
    if name in known:
        return known[name]
    if Path(name).is_file():
        return Path(name)
    raise click.UsageError(
        f"--feed {safe(text)}: no file and no shipped feed is called {safe(name)!r}; "
        f"there are {', '.join(known)}"
    )


def _with(feed: Feed, part: str, text: str) -> Feed:
    """The feed with ``server=ADDRESS:PORT`` or ``hz=NUMBER``."""
    key, _, value = part.partition("=")
    if key == "server":
        if not any(message.to_server or message.from_server for message in feed.messages):
            raise click.UsageError(
                f"--feed {safe(text)}: {feed.name} has no messages of a server; leave it out"
            )
        try:
            return replace(feed, servers=(*feed.servers, parse_end(value)))
        except ValueError as problem:
            raise click.UsageError(
                f"--feed {safe(text)}: server {safe(problem)}; write such as server=10.1.1.9:6000"
            ) from problem
    if key == "hz":
        if feed.timestamp is None:
            raise click.UsageError(
                f"--feed {safe(text)}: {feed.name} has no timestamp; leave hz out"
            )
        if not value.isdecimal() or not 0 < int(value) <= 1_000_000_000_000:
            raise click.UsageError(
                f"--feed {safe(text)}: hz is {safe(value)!r}; write ticks a second: hz=48000"
            )
        return replace(feed, timestamp=replace(feed.timestamp, hz=int(value)))
    raise click.UsageError(f"--feed {safe(text)}: {safe(part)!r} is no server= or hz=; {_ADVICE}")


def _line(text: str, feeds: dict[str, Feed]) -> tuple[str, Line]:
    """A pair of lines, and the name of the feed that they carry."""
    try:
        line = parse_line(text)
    except ValueError as problem:
        raise click.UsageError(
            f"--lines {safe(text)}: {safe(problem)}; "
            "write such as A=233.54.12.1:26400,B=233.54.13.1:26400"
        ) from problem
    carried = [
        feed
        for feed in feeds.values()
        if len(feeds) == 1 or any(p.holds(*end) for p in feed.match for end in line.ends)
    ]
    if len(carried) != 1:
        raise click.UsageError(
            f"--lines {safe(text)}: "
            + ("nobody says what they carry; add --feed" if not feeds else
               f"which of {', '.join(feeds)} do they carry? give it their place, or say lines "
               "in its file")
        )  # fmt: skip
    taken = {end for known in carried[0].lines for end in known.ends}
    if taken & set(line.ends):
        raise click.UsageError(
            f"--lines {safe(text)}: one of them is a line already; a group is one line"
        )
    return carried[0].name, line


def check_feed(path: str) -> Feed:
    """The feed of a file. Raises FeedError."""
    if path in shipped() and not Path(path).exists():
        return load_feed(shipped()[path])
    return load_feed(path)


__all__ = ["FeedError", "check_feed", "feeds_of"]
