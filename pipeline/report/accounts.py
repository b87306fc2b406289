"""Accounts of pieces, brought together per capture (decoders/README.md 1).

Every piece says how far it read and what became of each of its frames. Sums, unions and
intersections here do not depend on how a capture was cut.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import gcd
from operator import itemgetter
from typing import Final, Literal, cast

import pyarrow as pa

from seqaudit.decoders.capture.pieces import merge_interfaces
from seqaudit.decoders.contract.arrow import equal, filtered
from seqaudit.decoders.contract.events import FRAME_BITS, Kind
from seqaudit.decoders.network.account import NAMED_FRAMES
from seqaudit.decoders.network.account_rows import (
    LAYOUTS,
    PieceAccount,
    PieceEnds,
    PieceOrderDetail,
    PlacedAccount,
)
from seqaudit.decoders.network.checksums import ChecksumTrust, Sender, united, verdict
from seqaudit.decoders.network.order import HORIZON_NS, SINGLE_NS
from seqaudit.decoders.network.tick import LEAST_TIES, is_fine
from seqaudit.pipeline.shared.plan import File
from seqaudit.replay.contract.capture_rows import (
    OUTCOMES,
    CaptureFigures,
    FramesBy,
    InterfaceRow,
    MergedAccount,
    NamedFrames,
    Order,
    SkippedRow,
    TickRow,
)

Sums = Literal[
    "frames", "bytes", "wire_bytes", "untimed", "comments", "interfaces_more", "endpoints_more",
    "clusters_more",
]  # fmt: skip
Counters = Literal[
    "undecoded", "of_no_system", "sureness", "links", "tunnels", "fragments", "clusters",
    "datagrams", "versions", "tcp", "twice",
]  # fmt: skip
Extreme = Literal["first_ns", "last_ns"]
KindOfFrames = Literal["cut_frames", "damaged_frames", "undecoded_frames"]

#: Transport, address, port and system.
Endpoint = tuple[str, str, int, str]

#: Endpoints, clusters and skipped stretches listed per capture; the rest is counted.
ENDPOINTS: Final = 200
CLUSTERS: Final = 64
SKIPPED: Final = 100

#: Comments shown per capture; all are counted.
COMMENTS: Final = 5


def accounts_of(rows: pa.Table, only: Collection[str] = ()) -> list[PlacedAccount]:
    """The accounts among events, each with its ``capture``.

    Args:
        only: keys that are wanted; none: all. Of ten thousand captures all would be 100 MB.
    """
    picked = filtered(rows, equal(rows["kind"], Kind.ACCOUNT)).select(["capture", "detail"])
    accounts = []
    for row in picked.to_pylist():
        account = json.loads(row["detail"])
        if only:
            account = {key: account[key] for key in only if key in account}
        accounts.append(cast(PlacedAccount, account | {"capture": row["capture"]}))
    return accounts


def frames_of_splits(accounts: Iterable[PieceAccount]) -> dict[int, int]:
    """Frames of each split; several accounts of one piece add up (fragments have their own)."""
    frames: dict[int, int] = {}
    for account in accounts:
        own = account.get("numbered", account.get("frames", 0))
        frames[account["piece"]] = frames.get(account["piece"], 0) + own
    return frames


def by_capture(accounts: Iterable[PlacedAccount], captures: int) -> list[list[PlacedAccount]]:
    """Accounts of each capture."""
    grouped: list[list[PlacedAccount]] = [[] for _ in range(captures)]
    for account in accounts:
        grouped[account["capture"]].append(account)
    return grouped


def merge(accounts: Iterable[PieceAccount], files: Sequence[File]) -> MergedAccount:
    """One account of a capture from those of its pieces."""
    ordered = sorted(accounts, key=lambda account: (account["piece"], "landing" not in account))

    def total(key: Sums) -> int:
        return sum(account.get(key, 0) for account in ordered)

    def counts(key: Counters) -> dict[str, int]:
        return dict(sorted(_added(account.get(key) for account in ordered).items()))

    endpoints = _endpoints(ordered)
    clusters = sorted(counts("clusters").items(), key=lambda told: (-told[1], told[0]))
    skipped = _skipped(ordered, files)
    beyond = [account.get("skipped_more", (0, 0)) for account in ordered]
    stretches = [(stop - first, 1) for a in ordered for first, stop, _ in a.get("skipped", ())]
    figures: CaptureFigures = {
        "path": files[0].called,
        "files": [file.shown for file in files],
        "bytes": total("bytes"),
        "wire_bytes": total("wire_bytes"),
        "frames": total("frames"),
        "frames_by": _fates(ordered),
        "first_ns": _extreme(min, ordered, "first_ns"),
        "last_ns": _extreme(max, ordered, "last_ns"),
        "untimed": total("untimed"),
        "messages_by": {
            system: told
            for system, kinds in _by_name(a.get("messages_by") for a in ordered).items()
            if (told := _counted(kinds))
        },
        "undecoded": counts("undecoded"),
        "cut": any(account.get("cut") for account in ordered),
        "problem": next((a["problem"] for a in ordered if a.get("problem")), ""),
        "skipped": skipped[:SKIPPED],
        "skipped_bytes": sum(size for size, _ in stretches) + sum(size for _, size in beyond),
        "skipped_more": len(skipped[SKIPPED:]) + sum(number for number, _ in beyond),
        "fragments": counts("fragments"),
        "tcp": counts("tcp"),
        "interfaces": _interfaces(ordered, files),
        "interfaces_more": total("interfaces_more"),
        "links": counts("links"),
        "endpoints": [[*key, *numbers] for key, numbers in endpoints[:ENDPOINTS]],
        "endpoints_more": total("endpoints_more") + len(endpoints[ENDPOINTS:]),
        "clusters": dict(sorted(clusters[:CLUSTERS])),
        "clusters_more": total("clusters_more") + len(clusters[CLUSTERS:]),
        "comments": total("comments"),
        "comment_texts": [text for a in ordered for text in a.get("comment_texts", ())][:COMMENTS],
        "datagrams": counts("datagrams"),
        LAYOUTS: _by_name(account.get(LAYOUTS) for account in ordered),
        "sureness": _counted(counts("sureness")),
        "versions": counts("versions"),
    }
    if tunnels := counts("tunnels"):
        figures["tunnels"] = tunnels
    trust = damage(ordered)
    return MergedAccount(
        figures,
        counts("of_no_system"),
        merge_order(ordered, files),
        merge_tick(ordered),
        counts("twice"),
        {"unclear": _addresses(trust.unclear), "untold": _addresses(trust.untold)},
        merge_frames(ordered, "cut_frames"),
        merge_frames(ordered, "damaged_frames"),
        merge_frames(ordered, "undecoded_frames"),
        _torn_borders(ordered, files),
    )


def _torn_borders(accounts: Iterable[PieceAccount], files: Sequence[File]) -> list[int]:
    """Job frames, of no record, between a file that ends early and the next one."""
    torn = {_file_of(a["piece"], files) for a in accounts if a.get("cut") or a.get("problem")}
    return [files[place].stop_split << FRAME_BITS for place in sorted(torn - {len(files) - 1})]


def _fates(accounts: Iterable[PieceAccount]) -> FramesBy:
    sums = _added(account.get("frames_by") for account in accounts)
    return cast(FramesBy, {fate: sums.get(fate, 0) for fate in OUTCOMES})


def _skipped(accounts: Iterable[PieceAccount], files: Sequence[File]) -> list[SkippedRow]:
    """Stretches of pieces that are no records, as far as the pieces name them."""
    return [
        {"file": files[_file_of(a["piece"], files)].shown, "from": first, "to": stop, "why": why}
        for a in accounts
        for first, stop, why in a.get("skipped", ())
    ]


def _interfaces(accounts: Sequence[PieceAccount], files: Sequence[File]) -> list[InterfaceRow]:
    told: list[list[list[dict[str, object]]]] = [[] for _ in files]
    for account in accounts:
        told[_file_of(account["piece"], files)].append(account.get("interfaces", []))
    return [
        cast(InterfaceRow, {"file": file.shown} | interface)
        for file, own in zip(files, told, strict=True)
        for interface in merge_interfaces(own)
    ]


def _endpoints(accounts: Iterable[PieceAccount]) -> list[tuple[Endpoint, list[int]]]:
    """Endpoints with their frames and bytes, those with most frames first. Those of feeds of which
    every datagram was refused later are of no system."""
    found: dict[Endpoint, list[int]] = {}

    def add(endpoint: Endpoint, frames: int, size: int) -> None:
        known = found.setdefault(endpoint, [0, 0])
        known[0] += frames
        known[1] += size

    refused: dict[str, int] = {}
    for account in accounts:
        _add(refused, account.get("refused_at", {}))
        for transport, address, port, system, frames, size in account.get("endpoints", ()):
            add((transport, address, port, system), frames, size)
    places = {}
    for place, count in refused.items():
        address, _, text = place.rpartition(":")
        places[address.strip("[]"), text] = count
    for endpoint, counts in [*found.items()]:
        transport, address, port, system = endpoint
        if system and counts[0] == places.get((address, str(port))):
            del found[endpoint]
            add((transport, address, port, ""), *counts)
    return sorted(found.items(), key=lambda item: (-item[1][0], *map(str, item[0])))


def _addresses(senders: Iterable[Sender]) -> list[str]:
    return sorted({address for address, _ in senders})


def torn_orders(
    accounts: Iterable[PlacedAccount], files: Sequence[Sequence[File]]
) -> frozenset[int]:
    """Captures of which records that are out of order lie on both sides of a border of chunks or
    of pieces, and were not put in order across it."""
    found = set()
    for capture, own in enumerate(by_capture(accounts, len(files))):
        ordered = sorted(own, key=itemgetter("piece"))
        border = _PieceBorders(files[capture])
        for account in ordered:
            order = account.get("order")
            if order and not order["overlapping"]:
                across = border.back_ns(account["piece"], order) or any(
                    (border.ends_unsure, order["unsure"][0])
                )
                if order["torn"] or (across and border.is_read):
                    found.add(capture)
            border.passes(account["piece"], order)
    return frozenset(found)


class _PieceBorders:
    """How far time goes back at the borders of pieces.

    Attributes:
        is_read: whether both sides of the border before the piece that was asked about can be put
            in order together.
        ends_unsure: of the one before.
    """

    def __init__(self, files: Sequence[File]) -> None:
        self._files = files
        self._file: int | None = None
        self._high: int | None = None
        self.is_read = False
        self.ends_unsure = False

    def back_ns(self, piece: int, order: PieceOrderDetail) -> int:
        """From the highest time before a piece to its first records."""
        number = _file_of(piece, self._files)
        within_file = number == self._file
        low, first, high = order["low_ns"], order["first_ns"], self._high
        if high is None or low is None or first is None:
            self.is_read = within_file
            return 0
        near = 0 < high - low <= SINGLE_NS
        stored = not any(self._files[n].compression for n in (number, self._file or 0))
        self.is_read = within_file or (near and stored)
        return max(0, high - (low if within_file or near else first))

    def passes(self, piece: int, order: PieceOrderDetail | None) -> None:
        """A piece is over."""
        if not order or order["high_ns"] is None:
            return
        self.ends_unsure = order["unsure"][1]
        high = order["high_ns"]
        self._high = high if order["steps"] or self._high is None else max(high, self._high)
        self._file = _file_of(piece, self._files)


def merge_order(accounts: Sequence[PieceAccount], files: Sequence[File]) -> Order:
    """What the times of all pieces together say (``decoders.network.order``), in job frames.

    Args:
        accounts: in the order of their pieces.
    """
    told: Order = {
        "late": 0, "most_ns": 0, "first_late": None, "first_late_ns": None, "moved": {},
        "moved_more": 0, "steps": [], "steps_more": 0, "guessed": [], "torn": [], "beyond": [],
    }  # fmt: skip
    border = _PieceBorders(files)
    frames = frames_of_splits(accounts)
    for account in accounts:
        own = account.get("order")
        if not own or own["first_ns"] is None:
            continue
        piece = account["piece"]
        base = piece << FRAME_BITS
        back = border.back_ns(piece, own)
        if back and not (border.is_read and own["overlapping"]):
            if back > HORIZON_NS:
                told["steps"].append([base + 1, own["first_ns"], back, 0, 0])
            else:
                told["torn"].append(base + 1)
                told["late"] += 1
                if told["first_late"] is None:
                    told["first_late"], told["first_late_ns"] = base + 1, own["first_ns"]
                told["most_ns"] = max(told["most_ns"], back)
        border.passes(piece, own)
        if own["late"] and told["first_late"] is None:
            told["first_late"] = _job_frame(piece, own["first_late"], frames)
            told["first_late_ns"] = own["first_late_ns"]
        told["late"] += own["late"]
        told["most_ns"] = max(told["most_ns"], own["most_ns"])
        told["steps_more"] += own["steps_more"]
        for place, number in own["moved"]:
            told["moved"][base + place] = _job_frame(piece, number, frames)
        told["moved_more"] += own["moved_more"]
        told["steps"] += [[base + frame, *more] for frame, *more in own["steps"]]
        for pair in own["guessed"]:
            told["guessed"].append([_job_frame(piece, n, frames) for n in pair])
        told["torn"] += [base + frame for frame in own["torn"]]
        if own["beyond"]:
            told["beyond"].append([_job_frame(piece, n, frames) for n in own["beyond"]])
    return told


def merge_tick(accounts: Iterable[PieceAccount]) -> TickRow | None:
    """How coarse the clock is, by the times of all pieces together; null: it is not.

    Args:
        accounts: in the order of their pieces.
    """
    tick_ns = ties = 0
    first_ns = last_ns = None
    for account in accounts:
        own = account.get("tick")
        if not own or own["first_ns"] is None:
            continue
        first_ns = own["first_ns"] if first_ns is None else first_ns
        tick_ns = gcd(tick_ns, own["tick_ns"], own["first_ns"] - first_ns)
        if is_fine(tick_ns):
            return None
        ties += own["ties"] + (own["first_ns"] == last_ns)
        last_ns = own["last_ns"]
    return {"tick_ns": tick_ns, "ties": ties} if ties >= LEAST_TIES else None


def _job_frame(piece: int, number: int, frames: Mapping[int, int]) -> int:
    """The job frame of a record by its number from a piece's first on, below 1 before it."""
    while number < 1 and piece - 1 in frames:
        piece -= 1
        number += frames[piece]
    while number > frames.get(piece, 0) and piece + 1 in frames:
        number -= frames[piece]
        piece += 1
    return (piece << FRAME_BITS) + number


def merge_frames(accounts: Iterable[PieceAccount], kind: KindOfFrames) -> NamedFrames:
    """Frames of one kind (``Named``), of all pieces, as job frames.

    Those of which only the second stage tells are not among them.
    """
    named: list[int] = []
    begins: dict[int, int | None] = {}
    last = []
    count = 0
    for account in accounts:
        own = account.get(kind)
        if own and own["last"] is not None:
            base = account["piece"] << FRAME_BITS
            named += [base + frame for frame in own["named"]]
            begins[base + own["named"][0]] = own["first_ns"]
            last.append(base + own["last"])
            count += own["count"]
    return {
        "named": sorted(named)[:NAMED_FRAMES],
        "last": max(last, default=None),
        "count": count,
        "first_ns": begins[min(begins)] if begins else None,
    }


def damage(accounts: Iterable[PieceAccount]) -> ChecksumTrust:
    """What the checksums of a capture say."""
    return verdict(united(account.get("checksums", ()) for account in accounts))


def merge_ends(parts: Iterable[PieceEnds | None]) -> PieceEnds:
    """What all pieces together say about the ends of a capture's unicasts."""
    frames = 0
    both: set[str] | None = None
    outgoing: set[str] = set()
    ttl: dict[str, list[int]] = {}
    within: dict[str, int] = {}
    for part in parts:
        if part is None:
            continue
        outgoing.update(part["outgoing"])
        for address, count in part.get("within", {}).items():
            within[address] = within.get(address, 0) + count
        for address, (low, high) in part["ttl"].items():
            known = ttl.setdefault(address, [low, high])
            known[0], known[1] = min(known[0], low), max(known[1], high)
        if part["frames"]:
            frames += part["frames"]
            both = set(part["both"]) if both is None else both & set(part["both"])
    return {
        "frames": frames,
        "both": sorted(both or ()),
        "outgoing": sorted(outgoing),
        "ttl": {address: ttl[address] for address in sorted(ttl)},
        "within": {address: within[address] for address in sorted(within)},
    }


def _file_of(split: int, files: Sequence[File]) -> int:
    for place, file in enumerate(files):
        if file.first_split <= split < file.stop_split:
            return place
    return 0


def _add(sums: dict[str, int], more: Mapping[str, int]) -> None:
    for key, count in more.items():
        sums[key] = sums.get(key, 0) + count


def _added(parts: Iterable[Mapping[str, int] | None]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for part in parts:
        _add(sums, part or {})
    return sums


def _by_name(
    parts: Iterable[Mapping[str, Mapping[str, int]] | None],
) -> dict[str, dict[str, int]]:
    """Counts of each system, or of each feed."""
    found: dict[str, dict[str, int]] = {}
    for part in parts:
        for name, kinds in (part or {}).items():
            _add(found.setdefault(name, {}), kinds)
    return found


def _counted(counts: Mapping[str, int]) -> dict[str, int]:
    """Less what was taken back."""
    return {word: count for word, count in counts.items() if count}


def _extreme(
    choose: Callable[[Iterable[int]], int], accounts: Iterable[PieceAccount], key: Extreme
) -> int | None:
    known = [time for account in accounts if (time := account.get(key)) is not None]
    return choose(known) if known else None
