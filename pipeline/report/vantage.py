"""Where a capture was taken: stated by the user, or inferred and said so (replay/README.md 4).

A capture at a member's own interface holds, of all unicasts, only those from it and to it; so one
address is an end of every one. Only two members talking leaves two such addresses: then link-layer
direction (SLL), then TTL decides, since a member's own packets still have their initial TTL while
those of others may have lost some on the way. What an address sends to itself goes over a loopback
interface, which only its own host sees, beside whatever else that host sees.

Whose unicasts and which TTLs are no proof: a mirror port on the host's switch that is set to this
host shows the same. What is true only at the interface itself is likely at most by them.
"""

import ipaddress
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from seqaudit.decoders.network.account import TTL_ADDRESSES
from seqaudit.decoders.network.account_rows import PieceEnds
from seqaudit.replay.contract.results import MemberDetail
from seqaudit.replay.contract.settings import BETWEEN, MEMBER, UNKNOWN, Vantage

#: TTLs that hosts begin with.
INITIAL_TTLS: Final = frozenset({64, 128, 255})

#: Members that a line names.
NAMED: Final = 6


def given_vantage(at: str, names: Mapping[str, str], members: Iterable[MemberDetail]) -> Vantage:
    """The vantage for ``--at NAME|IP|between``; unknown while no member of that name was seen.

    Args:
        names: ``--names``: identity (UUID or IP address) to name.
        members: as seen on the wire.
    """
    if at == BETWEEN:
        return Vantage("between", None, "given", "--at between")
    address = ip_of(at)
    if address is not None:
        return Vantage("member", address, "given", f"--at {at}")
    wanted = {identity for identity, name in names.items() if name == at}
    for identity in sorted(wanted):
        address = ip_of(identity)
        if address is not None:
            return Vantage("member", address, "given", f"--at {at} (--names)")
    for member in members:
        if at in (member.get("name"), member["member"]) or member["member"] in wanted:
            address = ip_of_endpoint(member.get("address") or "")
            if address is not None:
                return Vantage("member", address, "given", f"--at {at}, seen at {address}")
    return Vantage("unknown", None, "given", f"--at {at}: no member of that name was seen")


def checked_vantage(given: Vantage, ends: PieceEnds) -> Vantage:
    """A given vantage, unless the capture contradicts it: what is captured at a member's interface
    comes from it or goes to it.

    A wrong address would make a member out of whoever is heard first, and losses out of what goes
    between others.
    """
    frames, senders = ends["frames"], ends["ttl"]
    if given.kind != MEMBER or given.address in ends["outgoing"]:
        return given
    seen = inferred_vantage(ends)
    if not frames:
        if seen.kind != MEMBER or seen.address == given.address:
            return given
        why = f"{given.why}: a loopback interface, where its host is {seen.address}"
        return Vantage("member", seen.address, "given", why)
    if given.address in ends["both"]:
        if seen.kind != MEMBER or seen.address == given.address:
            return given
        why = seen.why
    elif len(senders) >= TTL_ADDRESSES:
        return given
    elif given.address not in senders:
        why = f"no unicast of a decoded system in this capture comes from {given.address}"
    elif seen.kind == MEMBER:
        why = seen.why
    else:
        why = f"of {frames} unicasts some are neither from {given.address} nor to it"
    return Vantage("unknown", None, "given", f"{given.why}: {why}")


def of_one_member(vantage: Vantage, names: Iterable[str | None]) -> Vantage:
    """A vantage, unless several members are at its address that do not share what they get.

    Args:
        names: of those that are.
    """
    several = sorted({name for name in names if name})
    if vantage.kind != MEMBER or len(several) < 2:
        return vantage
    listed = ", ".join(several[:NAMED])
    more = f" and {len(several) - NAMED} more" if len(several) > NAMED else ""
    why = f"{listed}{more} are all at {vantage.address}, and each has losses of its own"
    advice = "nothing tells them apart here: let each have an address of its own"
    return Vantage("unknown", None, "default", why, advice=advice)


def is_nobody(
    at: str,
    names: Mapping[str, str],
    members: Sequence[MemberDetail],
    ends: PieceEnds,
    endpoints: Collection[str] | None,
) -> bool:
    """Whether ``--at`` names nobody of whom a capture holds anything, though it holds members.

    Args:
        endpoints: addresses that it holds; null: there are more than anybody counted.
    """
    given = given_vantage(at, names, members)
    if given.kind == UNKNOWN:
        return bool(members or ends["frames"])
    if given.kind != MEMBER or not ends["frames"] or endpoints is None:
        return False
    heard = {*ends["ttl"], *ends["both"], *endpoints}
    return given.address not in heard and len(ends["ttl"]) < TTL_ADDRESSES


def who_is_there(members: Iterable[MemberDetail], ends: PieceEnds) -> str:
    """Members and addresses that ``--at`` can name."""
    called: dict[str, str] = {}
    for member in members:
        address, name = ip_of_endpoint(member.get("address") or ""), member.get("name")
        if address is not None and name:
            called.setdefault(address, f"{name} ({address})")
    addresses = sorted({*ends["ttl"], *ends["both"], *called})
    more = len(addresses) - NAMED
    listed = ", ".join(called.get(address, address) for address in addresses[:NAMED])
    return listed + (f" and {more} more" if more > 0 else "")


def inferred_vantage(ends: PieceEnds) -> Vantage:
    """The vantage that a capture's unicasts show."""
    frames, both, ttl, within = ends["frames"], ends["both"], ends["ttl"], ends["within"]
    if not frames and within:
        count = sum(within.values())
        if len(within) > 1:
            why = f"{len(within)} addresses sent all {count} unicasts to themselves"
            return Vantage("unknown", None, "default", why)
        (address,) = within
        why = f"{address} sent all {count} unicasts to itself: this is a loopback interface"
        return Vantage("member", address, "inferred", why)
    if not frames:
        return Vantage("unknown", None, "default", "no unicast of a decoded system was captured")
    if not both:
        return Vantage(
            "between",
            None,
            "inferred",
            f"no address is an end of all {frames} unicasts: a mirror port or several interfaces",
        )
    if len(both) == 1:
        why = f"{both[0]} is an end of all {frames} unicasts"
        marked = both[0] in ends["outgoing"]  # by the link layer
        return Vantage("member", both[0], "inferred", why, sure=marked)
    pair = " and ".join(both)
    own = [address for address in both if address in ends["outgoing"]]
    if len(own) == 1:
        return Vantage(
            "member", own[0], "inferred", f"the link layer marks frames of {own[0]} as outgoing"
        )
    initial = [
        address
        for address in both
        if address in ttl and ttl[address][0] == ttl[address][1] in INITIAL_TTLS
    ]
    routed = [
        address for address in both if address in ttl and not set(ttl[address]) & INITIAL_TTLS
    ]
    if len(initial) == 1 and len(routed) == 1:
        return Vantage(
            "member",
            initial[0],
            "inferred",
            f"packets of {initial[0]} have their initial TTL {ttl[initial[0]][0]}, "
            f"those of {routed[0]} have been forwarded",
            sure=False,
        )
    return Vantage("unknown", None, "default", f"only {pair} exchange unicasts, and nothing shows "
                   "at whose interface")  # fmt: skip


def ip_of(text: str) -> str | None:
    """The IP address that a text is, in its shortest form; null if it is none."""
    try:
        return str(ipaddress.ip_address(text.strip().strip("[]").partition("%")[0]))
    except ValueError:
        return None


def ip_of_endpoint(text: str) -> str | None:
    """The IP address of "10.80.0.1:7800" or "[fd00:80::1]:7800" (a member's address)."""
    return ip_of(text.rpartition(":")[0])
