"""What accounts of pieces prove of what their run took for granted (``audit``): where pieces begin,
whose connections, links, fragments and templates are, and which packets are damaged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from seqaudit.decoders.contract.templates import ExportSession, Template
from seqaudit.decoders.network.account_rows import PieceAccount, PlacedAccount
from seqaudit.decoders.network.networks import NetworkEvidence, separated
from seqaudit.decoders.stages.tcp import carrier_digest
from seqaudit.pipeline.report.accounts import by_capture, damage

#: One frame of so many may be a fragment before they weigh anything.
FEW_FRAGMENTS: Final = 100

#: What is read of accounts for that.
OF_PROOFS: Final = (
    "piece", "begin", "landing", "begin_state", "landing_state", "error", "shipped", "order",
    "checksums", "carried", "unread", "networks", "messages_by", "frames",
    "fragments", "fragmented", "templates",
)  # fmt: skip


@dataclass(slots=True)
class PieceBorder:
    """Where a piece began and landed (``decoders.capture.pieces.settle``)."""

    begin: int
    landing: int
    begin_state: str
    landing_state: str


def borders_of(accounts: Iterable[PieceAccount]) -> list[PieceBorder]:
    """Where pieces began and landed, in their order; accounts of fragments know nothing of it."""
    return [
        PieceBorder(
            account["begin"], account["landing"], account["begin_state"], account["landing_state"]
        )
        for account in sorted(accounts, key=itemgetter("piece"))
        if "landing" in account
    ]


def much_carried(accounts: Sequence[PieceAccount]) -> bool:
    """Whether much of what pieces held may continue in others: TCP, or many fragments."""
    frames = sum(account.get("frames", 0) for account in accounts)
    fragments = sum(account.get("fragments", {}).get("frames", 0) for account in accounts)
    return fragments * FEW_FRAGMENTS > frames or any(
        transport == "tcp" for account in accounts for transport, *_ in account.get("endpoints", ())
    )


def torn_carriers(accounts: Iterable[PlacedAccount]) -> frozenset[tuple[int, str]]:
    """TCP connections that one piece shipped and of which another withheld frames.

    Withheld ones are told by a checksum, or not at all if there were too many; that may tear one
    that is whole, and then the job runs once more than it must.
    """
    shipped: dict[int, set[str]] = {}
    withheld: dict[int, set[int]] = {}
    unnamed: set[int] = set()
    for account in accounts:
        facts = account.get("shipped")
        if not facts:
            continue
        capture = account["capture"]
        shipped.setdefault(capture, set()).update(facts["carriers"])
        withheld.setdefault(capture, set()).update(facts["withheld"])
        if facts["withheld_more"]:
            unnamed.add(capture)
    return frozenset(
        (capture, carrier)
        for capture, carriers in shipped.items()
        for carrier in carriers
        if capture in unnamed or carrier_digest(carrier) in withheld[capture]
    )


def misread_links(accounts: Iterable[PlacedAccount]) -> frozenset[tuple[int, str]]:
    """(capture, link) of links that carry messages, and of which a piece left something out before
    it knew."""
    carried: set[tuple[int, str]] = set()
    unread: set[tuple[int, str]] = set()
    for account in accounts:
        carried.update((account["capture"], link) for link in account.get("carried", ()))
        unread.update((account["capture"], link) for link in account.get("unread", ()))
    return frozenset(carried & unread)


def tunnelled_in_fragments(accounts: Iterable[PlacedAccount]) -> frozenset[int]:
    """Captures in which a datagram that came in fragments is a tunnel's packet, with a fragment of
    another in it, or with a datagram where some system speaks."""
    accounts = list(accounts)
    speaking = {account["capture"] for account in accounts if account.get("messages_by")}
    return frozenset(
        account["capture"]
        for account in accounts
        for parts in (account.get("fragments", {}),)
        if parts.get("nested") or (parts.get("tunnelled") and account["capture"] in speaking)
    )


def fragmented_connections(accounts: Iterable[PlacedAccount]) -> frozenset[tuple[int, str]]:
    """TCP connections with segments that came in IP fragments."""
    return frozenset(
        (account["capture"], carrier)
        for account in accounts
        for carrier in account.get("fragmented", ())
    )


def templates_before(
    accounts: Iterable[PlacedAccount],
) -> dict[tuple[int, int], tuple[Template, ...]]:
    """By capture and piece the templates of IPFIX that pieces before it have said; without those
    that have none before them."""
    known: dict[int, dict[tuple[ExportSession, int], Template]] = {}
    found = {}
    for account in sorted(accounts, key=itemgetter("capture", "piece")):
        if "landing" not in account:  # of fragments
            continue
        capture = account["capture"]
        own = known.setdefault(capture, {})
        if own:
            found[capture, account["piece"]] = tuple(own.values())
        for session, number, widths in account.get("templates", ()):
            template = Template(ExportSession(*session), number, tuple(widths))
            own[template.session, number] = template
    return found


def apart_in(accounts: Iterable[PlacedAccount]) -> list[frozenset[int]]:
    """Networks that use the same addresses, in captures in which some system speaks; those of each
    are one."""
    speaking = {account["capture"] for account in accounts if account.get("messages_by")}
    evidence: dict[int, NetworkEvidence] = {}
    for account in accounts:
        if account.get("networks") and account["capture"] in speaking:
            evidence.setdefault(account["capture"], NetworkEvidence()).take_in(account["networks"])
    found: list[frozenset[int]] = []
    for own in evidence.values():
        for networks in separated(own):
            known = [other for other in found if other & networks]
            found = [other for other in found if other not in known]
            found.append(networks.union(*known))
    return sorted(found, key=sorted)


def held_in(own: Sequence[PieceAccount]) -> set[int]:
    """The networks of which a capture with these accounts has something; 0: what is of none."""
    counts = [pair for a in own if a.get("networks") for pair in a["networks"]["frames"] if pair[0]]
    every = sum(a.get("frames", 0) for a in own)
    numbered = {network for network, _ in counts}
    return numbered | {0} if every > sum(count for _, count in counts) else numbered


def damaged_senders(
    accounts: Iterable[PlacedAccount], captures: int
) -> frozenset[tuple[int, str, int]]:
    """(capture, address, kind) of senders whose packets are damaged where their checksum is wrong,
    and of which some are."""
    return frozenset(
        (capture, *sender)
        for capture, own in enumerate(by_capture(accounts, captures))
        for sender in damage(own).damaged
    )
