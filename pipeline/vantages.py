"""Where the captures of a run were taken: as the user says, or as what was decoded shows
(replay/README.md 4; ``report.vantage`` judges one capture, ``report.two_ends`` a link of two)."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, cast

import pyarrow as pa

from seqaudit.decoders.capture.pieces import TO_THE_END, Piece, plan_pieces
from seqaudit.decoders.contract.arrow import equal, filtered
from seqaudit.decoders.contract.errors import CaptureError, SeqauditError
from seqaudit.decoders.contract.events import Kind
from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.network.account_rows import PlacedAccount
from seqaudit.decoders.network.prints import Seen, prints
from seqaudit.pipeline.report.accounts import by_capture, merge_ends
from seqaudit.pipeline.report.names import SeenMember
from seqaudit.pipeline.report.two_ends import MOST_RECORDS, links_of, vantages_of_link
from seqaudit.pipeline.report.vantage import (
    checked_vantage,
    given_vantage,
    inferred_vantage,
    ip_of_endpoint,
    is_nobody,
    of_one_member,
    who_is_there,
)
from seqaudit.pipeline.shared.events_file import Files
from seqaudit.pipeline.shared.plan import CaptureInput, File
from seqaudit.replay.captures.doubts import is_twice
from seqaudit.replay.contract.settings import MEMBER, UNKNOWN, Vantage
from seqaudit.replay.stages.systems import SYSTEMS

Inputs = Sequence[CaptureInput]

#: What is read of accounts to infer vantages, and to hold given ones against the capture.
_OF_VANTAGES: Final = ("ends", "twice")
_OF_GIVEN_VANTAGES: Final = (*_OF_VANTAGES, "endpoints", "endpoints_more")


class HeardMember(SeenMember):
    """What was seen of a member of a system."""

    system: str | None


class NobodyError(SeqauditError):
    """``--at`` names nobody in the capture: a usage error."""


class Vantages:
    """Where the captures of one run were taken.

    Args:
        at: ``--at`` of all captures that have none of their own.
        names: identity (UUID or IP address) to name.
    """

    def __init__(self, at: str | None, names: Mapping[str, str]) -> None:
        self._at = at
        self._names = names
        self._seen: dict[tuple[str, Chosen], list[Seen]] = {}
        self._nobody: dict[int, str] = {}  # captures in which --at names nobody: who is there

    def wanted(self, inputs: Inputs) -> Sequence[str]:
        """What is read of accounts for vantages; the endpoints of ten thousand captures are not."""
        given = self._at is not None or any(own.at is not None for own in inputs)
        return _OF_GIVEN_VANTAGES if given else _OF_VANTAGES

    def of(
        self,
        files: Files,
        accounts: Iterable[PlacedAccount],
        members: Iterable[HeardMember],
        inputs: Inputs,
    ) -> list[Vantage]:
        """Where captures were taken.

        Args:
            files, inputs: of each capture.
            accounts: of all of them, with the keys of ``wanted``.
        """
        found: list[Vantage] = []
        both: list[Sequence[str]] = []
        self._nobody = {}
        twice: list[bool] = []
        alone: list[bool] = []  # whether all unicasts are of a loopback interface
        seen: dict[int, list[HeardMember]] = {}
        for member in members:
            seen.setdefault(member["capture"], []).append(member)
        for number, own in enumerate(by_capture(accounts, len(files))):
            at = self._of(number, inputs)
            ends = merge_ends(a.get("ends") for a in own)
            twice.append(is_twice(a.get("twice") for a in own))
            if at is not None:
                members_here = seen.get(number, [])
                if is_nobody(at, self._names, members_here, ends, _addresses(own)):
                    self._nobody[number] = who_is_there(members_here, ends)
                known = given_vantage(at, self._names, members_here)
                found.append(checked_vantage(known, ends))
            else:
                found.append(inferred_vantage(ends))
            both.append(ends["both"])
            alone.append(bool(ends["within"]) and not ends["frames"])
        for chosen in {own[0].chosen for own in files}:
            ends_there = [
                ends if own[0].chosen == chosen else ()
                for own, ends in zip(files, both, strict=True)
            ]
            for link, numbers in links_of(found, ends_there).items():
                told = vantages_of_link(link, {n: self._prints(files[n], link) for n in numbers})
                for number, vantage in told.items():
                    if found[number].kind == UNKNOWN:
                        found[number] = vantage
        return [
            replace(of_one_member(v, _observers(seen.get(number, ()), v, lo)), twice=again)
            for number, (v, again, lo) in enumerate(zip(found, twice, alone, strict=True))
        ]

    def _prints(self, files: Sequence[File], ends: tuple[str, str]) -> list[Seen]:
        """The first packets between two hosts in a capture, each of which tells itself: those of
        two rings need not be in their first files."""
        place = files[0].path, files[0].chosen
        if place not in self._seen:
            pieces = chain.from_iterable(map(_whole, files))
            self._seen[place] = prints(pieces, files[0].chosen, frozenset(ends), MOST_RECORDS)
        return self._seen[place]

    def refuse_nobody(self, files: Files, inputs: Inputs) -> None:
        """``--at`` that names nobody in any capture it is for would make a check green for ever.

        Raises:
            NobodyError: what, where, and what to try.
        """
        for number, there in self._nobody.items():
            at = self._of(number, inputs)
            same = [n for n in range(len(files)) if self._of(n, inputs) == at]
            own = _given(number, inputs).at is not None
            if own:  # of all networks that were told apart in it
                same = [n for n in same if files[n][0].path == files[number][0].path]
            if all(n in self._nobody for n in same):
                where = files[number][0].shown + (
                    f" and {len(same) - 1} more" if len(same) > 1 and not own else ""
                )
                raise NobodyError(
                    f"--at {at}: is nobody in {where}; there {'is' if ',' not in there else 'are'} "
                    f"{there or 'no member'}; give one of those, or --at between for a mirror port"
                )

    def _of(self, number: int, inputs: Inputs) -> str | None:
        return _given(number, inputs).at or self._at


def _whole(file: File) -> Sequence[Piece]:
    """A file in one piece; none if it cannot be read."""
    try:
        return plan_pieces(file.path, 0, 0, TO_THE_END, cuts=[])
    except CaptureError:
        return ()


def _observers(
    members: Iterable[HeardMember], vantage: Vantage, loopback: bool
) -> Iterator[str | None]:
    """Names of those at a vantage whose system judges what one member got: at a loopback interface
    all are, whatever address they tell."""
    if vantage.kind != MEMBER:
        return
    for member in members:
        system = SYSTEMS.get(member["system"] or "")
        here = loopback or ip_of_endpoint(member.get("address") or "") == vantage.address
        if here and system is not None and system.one_observer:
            yield member.get("name")


def _addresses(accounts: Sequence[PlacedAccount]) -> set[str] | None:
    """Endpoints in a capture; null: there are more than anybody counted."""
    if any(account.get("endpoints_more") for account in accounts):
        return None
    return {str(place[1]) for account in accounts for place in account.get("endpoints", ())}


def _given(number: int, inputs: Inputs) -> CaptureInput:
    return inputs[number] if number < len(inputs) else inputs[0]


def members_of(rows: pa.Table) -> list[HeardMember]:
    """Who was seen, of events."""
    picked = filtered(rows, equal(rows["kind"], Kind.MEMBER)).select(
        ["capture", "system", "source", "detail"]
    )
    return [
        cast(
            HeardMember,
            json.loads(row["detail"] or "{}")
            | {"capture": row["capture"], "system": row["system"], "member": row["source"]},
        )
        for row in picked.to_pylist()
    ]
