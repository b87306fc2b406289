"""``seqaudit feeds``: the shipped feeds, and feed files checked (decoders/README.md 5)."""

from typing import TYPE_CHECKING

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.output.terminal import emit, render

if TYPE_CHECKING:
    from seqaudit.decoders.contract.feed_layout import Feed, Field, FrameLayout


@click.group("feeds", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the feeds that come with seqaudit; check or show a feed file.

    A feed file says in YAML where the numbers of a datagram protocol are; seqaudit audit --feed
    takes it.

    \b
    Examples:
      seqaudit feeds
      seqaudit feeds show example > my-feed.yaml
      seqaudit feeds check my-feed.yaml
      seqaudit audit --feed my-feed.yaml capture.pcap
    """
    if ctx.invoked_subcommand is None:
        _list()


def _list() -> None:
    from seqaudit.cli.output.listing import Column, Listing
    from seqaudit.decoders.feeds.files import load_feed, shipped

    feeds = [load_feed(path) for path in shipped().values()]
    columns = [
        Column("feed", worth=9),
        Column("what it is", worth=8, folds=True),
        Column("place", worth=7),
    ]
    render(
        [
            Listing(
                group[0].upper() + group[1:],
                columns,
                [[feed.name, feed.about, _places(feed)] for feed in feeds if feed.group == group],
            )
            for group in sorted({feed.group for feed in feeds})
        ]
    )


@command.command("check")
@click.argument("file")
def check(file: str) -> int:
    """Check a feed file, and say what it means.

    \b
    Example:
      seqaudit feeds check my-feed.yaml
    """
    from seqaudit.cli.options.feeds import check_feed

    emit("\n".join(_meaning(check_feed(file))))
    return ExitCode.CLEAN


@command.command("show")
@click.argument("name")
def show(name: str) -> int:
    """Print a shipped feed file, to be copied and changed.

    \b
    Example:
      seqaudit feeds show example > my-feed.yaml
    """
    from seqaudit.decoders.feeds.files import shipped

    known = shipped()
    if name not in known:
        raise click.UsageError(f"no shipped feed is called {name!r}; there are {', '.join(known)}")
    emit(known[name].read_text(encoding="utf-8").rstrip("\n"))
    return ExitCode.CLEAN


def _places(feed: "Feed") -> str:
    if feed.own_places:
        return ", ".join(str(place) for place in feed.own_places)
    if feed.group and not feed.recognise:
        return "@ADDRESS:PORT"
    return "wherever it is" if feed.carrier else "wherever it is recognised"


def _units(feed: "Feed") -> str:
    """How units follow each other in a datagram."""
    repeat = feed.repeat
    assert repeat is not None, "asked of feeds that have units"
    size = f"{repeat.size} bytes each"
    if repeat.length:
        times = f" times {repeat.unit}" if repeat.unit > 1 else ""
        adds = f" and {repeat.size} more" if repeat.size else ""
        size = f"{repeat.length}{times}{adds} bytes each"
    count = f"; {repeat.count} says how many" if repeat.count else ""
    return f"from byte {repeat.first} on, {size}{count}"


def _frames(framing: "FrameLayout") -> str:
    """How frames follow each other on a connection."""
    order = "" if framing.width == 1 else "big-endian " if framing.big_endian else "little-endian "
    adds = f" and {framing.adds}" if framing.adds else ""
    begins = f", first byte {framing.begins:#04x}" if framing.begins >= 0 else ""
    text = "; between them messages of text" if framing.text else ""
    span = f"bytes {framing.offset}-{framing.offset + framing.width - 1}"
    return f"frames of as many bytes as their {order}{span} say{adds}{begins}{text}"


def _from(field: "Field") -> str:
    """What a field's bytes count from, if not from its unit's first."""
    if field.of_connection:
        return " of the login"
    if field.of_datagram:
        return " of the datagram"
    if field.after is not None:
        return f" after what {field.after.field} says"
    return " from the end" if field.offset < 0 else ""


def _step(feed: "Feed") -> str:
    return f" in steps of {feed.step}" if feed.step > 1 else ""


def _count(feed: "Feed") -> str:
    """How many numbers a unit takes."""
    unit = "datagram" if feed.repeat is None else "unit"
    counted = feed.counted
    if counted is None:
        return f"{feed.count} a {unit}"
    if counted.what == "blocks":
        return f"one for each block of a {unit}"
    if counted.what == "records":
        return "one for each data record, as templates lay them out"
    return f"one for every {counted.unit} bytes of a {unit} from byte {counted.start} on"


def _meaning(feed: "Feed") -> list[str]:
    """What a feed says, a line each."""

    lines = [f"{feed.name}: {feed.about}" if feed.about else feed.name]
    if feed.source:
        lines.append(f"source: {feed.source}")
    if feed.protocol:
        lines.append(f"carried by IP protocol {feed.protocol}")
    if feed.ethertype:
        lines.append(f"carried by Ethernet type {feed.ethertype:#06x}")
    if feed.framing is not None:
        lines.append(f"carried by TCP: {_frames(feed.framing)}")
    if feed.login:
        names = ", ".join(field.name for field in feed.fields if field.of_connection)
        lines.append(f"a login tells {names}; each message of data takes the next number")
    lines.append(f"place: {_places(feed)}")
    if not feed.confirmed:
        lines.append(
            f"inferred with confidence {feed.confidence or 'unknown'}, not confirmed: no "
            "finding by it is proven"
        )
    if feed.repeat is not None:
        lines.append(f"units: {_units(feed)}")
    for field in feed.fields:
        masked = f", mask {field.mask:#x}, shift {field.shift}" if field.mask >= 0 else ""
        shift = f", shift {field.shift}" if field.mask < 0 and field.shift else ""
        order = ", big-endian" if field.big_endian else ", little-endian"
        shown = order if field.type == "number" and field.width > 1 else ""
        lines.append(
            f"field {field.name}: {field.type}, bytes {field.offset}-"
            f"{field.offset + field.width - 1}{_from(field)}{shown}{masked}{shift}"
        )
    lines.append(f"a stream: {', '.join(feed.stream)}")
    wrap = f", wrap at {feed.modulus or f'2^{feed.wrap}'}" if feed.space else ""
    lines.append(f"numbers: {feed.seqno}{_step(feed)}{wrap}; {_count(feed)}")
    for message in feed.messages:
        said = f", says {message.says}" if message.sort in ("heartbeat", "reset", "end") else ""
        lines.append(f"message {message.name}: {message.sort}{said}")
    lines += [f"server {address} port {port}" for address, port in feed.servers]
    lines += [f"lines {line}" for line in feed.lines]
    return lines
