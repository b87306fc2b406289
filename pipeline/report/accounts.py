"""Accounts of pieces, brought together per capture (decoders/README.md 1).

Every piece says how far it read and what became of each of its frames. Sums, unions and
intersections here do not depend on how a capture was cut.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, Final

import pyarrow as pa

from seqaudit.decoders.capture.pieces import merge_interfaces
from seqaudit.decoders.contract.arrow import equal, filtered
from seqaudit.decoders.contract.events import FRAME_BITS, Kind
from seqaudit.decoders.network.account import COUNTED_BY_NAME, NAMED_FRAMES
from seqaudit.decoders.network.checksums import ChecksumTrust, united, verdict
from seqaudit.decoders.network.networks import NetworkEvidence, separated
from seqaudit.decoders.network.order import HORIZON_NS, SINGLE_NS
from seqaudit.decoders.network.tick import LEAST_TIES, is_fine
from seqaudit.decoders.stages.tcp import carrier_digest
from seqaudit.pipeline.shared.plan import File
from seqaudit.replay.contract.capture_rows import NamedFrames, Order, TickRow
from seqaudit.replay.contract.results import Row

Account = Row

FRAMES_BY: Final = ("decoded", "other", "malformed", "truncated", "undecodable")
_SUMS: Final = (
    "frames",
    "bytes",
    "wire_bytes",
    "untimed",
    "comments",
    "interfaces_more",
    "endpoints_more",
    "clusters_more",
)
_COUNTERS: Final = (
    "frames_by",
    "undecoded",
    "of_no_system",
    "sureness",
    "links",
    "fragments",
    "clusters",
    "datagrams",
    "versions",
    "tcp",
    "twice",
)

#: Endpoints and skipped stretches listed per capture; the rest is counted.
ENDPOINTS: Final = 200
SKIPPED: Final = 100

#: One frame of so many may be a fragment before they weigh anything.
FEW_FRAGMENTS: Final = 100

#: Comments shown per capture; all are counted.
COMMENTS: Final = 5


#: What is read of accounts to prove borders and connections.
OF_BORDERS: Final = (
    "piece", "begin", "landing", "begin_state", "landing_state", "error", "shipped", "order",
    "checksums", "carried", "unread", "networks", "messages_by", "frames",
)  # fmt: skip


def accounts_of(rows: pa.Table, only: Collection[str] = ()) -> list[Account]:
    """The accounts among events or results, each with its ``capture``.

    Args:
        only: keys that are wanted; none: all. Of ten thousand captures all would be 100 MB.
    """
    kind: object = "ACCOUNT" if pa.types.is_string(rows.schema.field("kind").type) else Kind.ACCOUNT
    picked = filtered(rows, equal(rows["kind"], kind)).select(["capture", "detail"])
    accounts = []
    for row in picked.to_pylist():
        account = json.loads(row["detail"])
        if only:
            account = {key: account[key] for key in only if key in account}
        accounts.append(account | {"capture": row["capture"]})
    return accounts


def frames_of_splits(accounts: Iterable[Account]) -> dict[int, int]:
    """Frames of each split; several accounts of one piece add up (fragments have their own)."""
    frames: dict[int, int] = {}
    for account in accounts:
        own = int(account["numbered" if "numbered" in account else "frames"])
        frames[account["piece"]] = frames.get(account["piece"], 0) + own
    return frames


def by_capture(accounts: Iterable[Account], captures: int) -> list[list[Account]]:
    """Accounts of each capture; every one has its number under ``capture``."""
    grouped: list[list[Account]] = [[] for _ in range(captures)]
    for account in accounts:
        grouped[account["capture"]].append(account)
    return grouped


@dataclass(slots=True)
class PieceBorder:
    """Where a piece began and landed (``decoders.capture.pieces.settle``)."""

    begin: int
    landing: int
    begin_state: str
    landing_state: str


def borders_of(accounts: Iterable[Account]) -> list[PieceBorder]:
    """Where pieces began and landed, in their order; accounts of fragments know nothing of it."""
    return [
        PieceBorder(*(account[name] for name in PieceBorder.__slots__))
        for account in sorted(accounts, key=lambda account: int(account["piece"]))
        if "landing" in account
    ]


def much_carried(accounts: Sequence[Account]) -> bool:
    """Whether much of what pieces held may continue in others: TCP, or many fragments."""
    frames = sum(int(account.get("frames", 0)) for account in accounts)
    fragments = sum(int(account.get("fragments", {}).get("frames") or 0) for account in accounts)
    return fragments * FEW_FRAGMENTS > frames or any(
        transport == "tcp" for account in accounts for transport, *_ in account.get("endpoints", ())
    )


def torn_carriers(accounts: Iterable[Account]) -> frozenset[tuple[int, str]]:
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
        capture = int(account["capture"])
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


def merge(accounts: Iterable[Account], files: Sequence[File]) -> Account:
    """One account of a capture from those of its pieces.

    Skipped stretches are ``{"file", "from", "to", "why"}``; ``first_ns`` and ``last_ns`` are null
    without frames.
    """
    ordered = sorted(accounts, key=lambda account: (account["piece"], "landing" not in account))
    merged: Account = dict.fromkeys(_SUMS, 0)
    merged |= {name: {} for name in (*_COUNTERS, *COUNTED_BY_NAME)}
    merged["frames_by"] = dict.fromkeys(FRAMES_BY, 0)
    merged |= {
        "path": files[0].called,
        "files": [f.shown for f in files],
    }
    merged |= {"cut": False, "skipped": [], "skipped_more": 0, "skipped_bytes": 0}
    merged |= {"problem": "", "comment_texts": []}
    interfaces: list[list[list[dict[str, object]]]] = [[] for _ in files]
    endpoints: dict[tuple[Any, ...], list[int]] = {}
    refused: dict[str, int] = {}
    for account in ordered:
        _add(refused, account.get("refused_at") or {})
        place = _file_of(account["piece"], files)
        for name in _SUMS:
            merged[name] += int(account.get(name) or 0)
        for name in _COUNTERS:
            _add(merged[name], account.get(name) or {})
        for name in COUNTED_BY_NAME:
            for word, kinds in (account.get(name) or {}).items():
                _add(merged[name].setdefault(word, {}), kinds)
        if account.get("tunnels"):
            _add(merged.setdefault("tunnels", {}), account["tunnels"])
        merged["problem"] = merged["problem"] or account.get("problem") or ""
        merged["comment_texts"] += account.get("comment_texts") or []
        merged["cut"] = merged["cut"] or bool(account.get("cut"))
        _add_skipped(merged, account, files[place].shown)
        interfaces[place].append(account.get("interfaces") or [])
        for proto, address, port, system, frames, size in account.get("endpoints") or []:
            counts = endpoints.setdefault((proto, address, port, system), [0, 0])
            counts[0] += frames
            counts[1] += size
    merged["first_ns"] = _extreme(min, ordered, "first_ns")
    merged["last_ns"] = _extreme(max, ordered, "last_ns")
    merged["interfaces"] = [
        {"file": file.shown} | interface
        for file, own in zip(files, interfaces, strict=True)
        for interface in merge_interfaces(own)
    ]
    _give_back(endpoints, refused)
    by_frames = sorted(endpoints.items(), key=lambda item: (-item[1][0], *map(str, item[0])))
    merged["endpoints"] = [[*key, *counts] for key, counts in by_frames[:ENDPOINTS]]
    merged["endpoints_more"] += max(0, len(by_frames) - ENDPOINTS)
    del merged["comment_texts"][COMMENTS:]
    for name in _COUNTERS[1:]:
        merged[name] = dict(sorted(merged[name].items()))
    merged["sureness"] = _counted(merged["sureness"])
    said = {system: _counted(kinds) for system, kinds in merged["messages_by"].items()}
    merged["messages_by"] = {system: kinds for system, kinds in said.items() if kinds}
    merged["ends"] = merge_ends(account.get("ends") for account in ordered)
    merged["order"] = merge_order(ordered, files)
    merged["tick"] = merge_tick(ordered)
    merged["cut_frames"] = merge_frames(ordered, "cut_frames")
    merged["damaged_frames"] = merge_frames(ordered, "damaged_frames")
    merged["undecoded_frames"] = merge_frames(ordered, "undecoded_frames")
    told = damage(ordered)
    merged["checksums"] = {
        name: sorted({address for address, _ in getattr(told, name)})
        for name in ("unclear", "untold")
    }
    return merged


def _add_skipped(merged: Account, account: Account, file: str) -> None:
    """Stretches of a piece that were skipped: so many are named."""
    for first, stop, why in account.get("skipped") or []:
        merged["skipped_bytes"] += stop - first
        if len(merged["skipped"]) < SKIPPED:
            merged["skipped"].append({"file": file, "from": first, "to": stop, "why": why})
        else:
            merged["skipped_more"] += 1
    more = account.get("skipped_more") or 0
    if isinstance(more, Sequence):
        count, size = more
        merged["skipped_more"] += int(count)
        merged["skipped_bytes"] += int(size)
    else:
        merged["skipped_more"] += int(more)


def _give_back(endpoints: dict[tuple[Any, ...], list[int]], refused: Mapping[str, int]) -> None:
    """Endpoints of feeds of which every datagram was refused later are of no system."""
    places = {}
    for place, count in refused.items():
        address, _, port = place.rpartition(":")
        places[address.strip("[]"), port] = count
    for key, counts in [*endpoints.items()]:
        proto, address, port, system = key
        if system and counts[0] == places.get((str(address), str(port))):
            del endpoints[key]
            others = endpoints.setdefault((proto, address, port, ""), [0, 0])
            others[0] += counts[0]
            others[1] += counts[1]


def torn_orders(accounts: Iterable[Account], files: Sequence[Sequence[File]]) -> frozenset[int]:
    """Captures of which records that are out of order lie on both sides of a border of chunks or
    of pieces, and were not put in order across it."""
    found = set()
    for capture, own in enumerate(by_capture(accounts, len(files))):
        ordered = sorted(own, key=lambda account: int(account["piece"]))
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

    def back_ns(self, piece: int, order: Row) -> int:
        """From the highest time before a piece to its first records."""
        number = _file_of(piece, self._files)
        within_file = number == self._file
        low, first, high = order["low_ns"], order["first_ns"], self._high
        if high is None or low is None:
            self.is_read = within_file
            return 0
        near = 0 < high - int(low) <= SINGLE_NS
        stored = not any(self._files[n].compression for n in (number, self._file or 0))
        self.is_read = within_file or (near and stored)
        return max(0, high - int(low if within_file or near else first))

    def passes(self, piece: int, order: Row | None) -> None:
        """A piece is over."""
        if not order or order["high_ns"] is None:
            return
        self.ends_unsure = bool(order["unsure"][1])
        high = int(order["high_ns"])
        self._high = high if order["steps"] or self._high is None else max(high, self._high)
        self._file = _file_of(piece, self._files)


def merge_order(accounts: Sequence[Account], files: Sequence[File]) -> Order:
    """What the times of all pieces together say (``decoders.network.order``), in job frames.

    Args:
        accounts: in the order of their pieces.
    """
    told: Order = {
        "late": 0, "most_ns": 0, "first_late": None, "first_late_ns": None, "moved": {},
        "steps": [], "steps_more": 0, "guessed": [], "torn": [], "beyond": [],
    }  # fmt: skip
    border = _PieceBorders(files)
    frames = frames_of_splits(accounts)
    for account in accounts:
        own = account.get("order")
        if not own or own["first_ns"] is None:
            continue
        piece = int(account["piece"])
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
        told["steps"] += [[base + frame, *more] for frame, *more in own["steps"]]
        for pair in own["guessed"]:
            told["guessed"].append([_job_frame(piece, n, frames) for n in pair])
        told["torn"] += [base + frame for frame in own["torn"]]
        if own["beyond"]:
            told["beyond"].append([_job_frame(piece, n, frames) for n in own["beyond"]])
    return told


def merge_tick(accounts: Iterable[Account]) -> TickRow | None:
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


def merge_frames(accounts: Iterable[Account], kind: str) -> NamedFrames:
    """Frames of one kind (``Named``), of all pieces, as job frames.

    Those of which only the second stage tells are not among them.
    """
    named: list[int] = []
    begins: dict[int, int | None] = {}
    last = []
    count = 0
    for account in accounts:
        own = account.get(kind)
        if own and own["count"]:
            base = int(account["piece"]) << FRAME_BITS
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


def misread_links(accounts: Iterable[Account]) -> frozenset[tuple[int, str]]:
    """(capture, link) of links that carry messages, and of which a piece left something out before
    it knew."""
    carried: set[tuple[int, str]] = set()
    unread: set[tuple[int, str]] = set()
    for account in accounts:
        for found, name in ((carried, "carried"), (unread, "unread")):
            found.update((account["capture"], link) for link in account.get(name) or ())
    return frozenset(carried & unread)


def apart_in(accounts: Iterable[Account]) -> list[frozenset[int]]:
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


def held_in(own: Sequence[Account]) -> set[int]:
    """The networks of which a capture with these accounts has something; 0: what is of none."""
    counts = [pair for a in own if a.get("networks") for pair in a["networks"]["frames"] if pair[0]]
    every = sum(int(a.get("frames", 0)) for a in own)
    numbered = {network for network, _ in counts}
    return numbered | {0} if every > sum(count for _, count in counts) else numbered


def damage(accounts: Iterable[Account]) -> ChecksumTrust:
    """What the checksums of a capture say."""
    return verdict(united(account.get("checksums") or () for account in accounts))


def damaged_senders(accounts: Iterable[Account], captures: int) -> frozenset[tuple[int, str, int]]:
    """(capture, address, kind) of senders whose packets are damaged where their checksum is wrong,
    and of which some are."""
    return frozenset(
        (capture, *sender)
        for capture, own in enumerate(by_capture(accounts, captures))
        for sender in damage(own).damaged
    )


def merge_ends(parts: Iterable[Row | None]) -> Row:
    """What all pieces together say about the ends of a capture's unicasts."""
    frames = 0
    both: set[str] | None = None
    outgoing: set[str] = set()
    ttl: dict[str, list[int]] = {}
    for part in parts:
        if not part:
            continue
        outgoing.update(part.get("outgoing") or ())
        for address, (low, high) in (part.get("ttl") or {}).items():
            known = ttl.setdefault(address, [low, high])
            known[0], known[1] = min(known[0], low), max(known[1], high)
        if part.get("frames"):
            frames += int(part["frames"])
            both = set(part["both"]) if both is None else both & set(part["both"])
    return {
        "frames": frames,
        "both": sorted(both or ()),
        "outgoing": sorted(outgoing),
        "ttl": {address: ttl[address] for address in sorted(ttl)},
    }


def _file_of(split: int, files: Sequence[File]) -> int:
    for place, file in enumerate(files):
        if file.first_split <= split < file.stop_split:
            return place
    return 0


def _add(sums: dict[str, int], more: Mapping[str, int]) -> None:
    for key, count in more.items():
        sums[key] = sums.get(key, 0) + int(count)


def _counted(counts: Mapping[str, int]) -> dict[str, int]:
    """Less what was taken back."""
    return {word: count for word, count in counts.items() if count}


def _extreme(choose: Any, accounts: Iterable[Account], name: str) -> int | None:
    known = [account[name] for account in accounts if account.get(name) is not None]
    return int(choose(known)) if known else None
