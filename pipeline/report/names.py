"""What members are called, and who was seen."""

import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from seqaudit.pipeline.report.packed_rows import as_rows
from seqaudit.pipeline.report.vantage import ip_of, ip_of_endpoint
from seqaudit.replay.contract.report_rows import MemberRow
from seqaudit.replay.contract.results import MemberDetail, ResultRow

#: Characters of a UUID shown where nobody knows a name.
SHORT: Final = 8


class SeenMember(MemberDetail):
    """What was seen of a member in a capture."""

    capture: int


class Names:
    """What members are called: ``--names``, then the wire's own names, then a short UUID."""

    def __init__(self, given: Mapping[str, str], members: Iterable[SeenMember]) -> None:
        self._names: dict[str, str] = {}
        self._addresses: dict[tuple[int, str], str] = {}
        self._at: dict[tuple[int, str], set[str]] = {}
        for member in members:
            address = ip_of_endpoint(str(member.get("address") or ""))
            name = given.get(member["member"]) or given.get(str(address)) or member.get("name")
            if name:
                self._names.setdefault(member["member"], str(name))
            if address is not None:
                self._addresses.setdefault((member["capture"], address), member["member"])
                self._at.setdefault((member["capture"], member["member"]), set()).add(address)
        self._names |= given

    def of(self, identity: str | None) -> str | None:
        """The name of a member; null for null."""
        if identity is None:
            return None
        known = self._names.get(identity)
        if known is not None:
            return known
        return identity[:SHORT] if len(identity) > SHORT and "-" in identity else identity

    def member_at(self, capture: int, address: str | None) -> str | None:
        """The member that a capture has seen at an IP address; null if none."""
        return None if address is None else self._addresses.get((capture, address))

    def addresses_of(self, capture: int, identity: str | None) -> Collection[str]:
        """The IP addresses at which a capture has seen a member, or that name one."""
        if identity is None:
            return ()
        if (known := self._at.get((capture, identity))) is not None:
            return known
        own = ip_of_endpoint(identity) or ip_of(identity)
        return () if own is None else (own,)


def members_of(rows: Iterable[ResultRow[MemberDetail]]) -> Iterator[SeenMember]:
    """Members in the order in which they were seen, each fact once."""
    for capture, own in groupby(rows, key=lambda row: int(row["capture"])):
        for row in sorted(own, key=lambda row: row["frame"] or 0):
            yield {**row["detail"], "capture": capture}


def members_listed(members: Iterable[SeenMember], called: Names) -> Sequence[MemberRow]:
    """One entry a member and capture, with all addresses and versions it was seen with.

    Args:
        members: by capture.
    """
    return as_rows(
        member
        for _, own in groupby(members, key=lambda member: int(member["capture"]))
        for member in _members_of_capture(own, called)
    )


def _members_of_capture(members: Iterable[SeenMember], called: Names) -> list[MemberRow]:
    listed: dict[tuple[int, str], MemberRow] = {}
    for member in members:
        key = (member["capture"], member["member"])
        entry = listed.setdefault(
            key,
            {
                "capture": member["capture"],
                "member": member["member"],
                "name": called.of(member["member"]),
                "addresses": [],
                "versions": [],
            },
        )
        for said, known in (
            (member.get("address"), entry["addresses"]),
            (member.get("version"), entry["versions"]),
        ):
            if said and said not in known:
                bisect.insort(known, said)
    return [listed[key] for key in sorted(listed)]
