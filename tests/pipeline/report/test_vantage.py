"""Where a capture was taken (replay/README.md 4)."""

from typing import Any

import pytest

from seqaudit.decoders.network.account import TTL_ADDRESSES
from seqaudit.pipeline.report.vantage import (
    checked_vantage,
    given_vantage,
    inferred_vantage,
    ip_of,
    ip_of_endpoint,
    of_one_member,
)
from seqaudit.replay.contract.results import MemberDetail
from seqaudit.replay.contract.settings import Vantage

A, B, C = "10.80.0.1", "10.80.0.2", "10.80.0.3"


def ends(both: list[str], **more: Any) -> Any:
    return {"frames": 9, "both": both, "outgoing": [], "ttl": {}, "within": {}} | more


def place(vantage: Vantage) -> tuple[str, str | None, str]:
    return vantage.kind, vantage.address, vantage.origin


def test_the_one_address_that_is_an_end_of_every_unicast_took_the_capture() -> None:
    assert inferred_vantage(ends([B])) == Vantage(
        "member", B, "inferred", f"{B} is an end of all 9 unicasts", sure=False
    )


@pytest.mark.parametrize(
    ("vantage", "sure"),
    [
        (inferred_vantage(ends([B])), False),
        (inferred_vantage(ends([A, B], ttl={A: [64, 64], B: [61, 61]})), False),
        (inferred_vantage(ends([B], outgoing=[B])), True),
        (inferred_vantage(ends([A, B], outgoing=[A])), True),
        (inferred_vantage(ends([])), True),
        (given_vantage(B, {}, []), True),
    ],
)
def test_a_mirror_port_set_to_one_host_looks_like_its_interface_but_for_the_link_layers_direction(
    vantage: Vantage, sure: bool
) -> None:
    assert vantage.sure is sure


def test_without_such_an_address_the_capture_is_from_between() -> None:
    assert place(inferred_vantage(ends([]))) == ("between", None, "inferred")


def test_without_unicasts_nobody_knows() -> None:
    assert place(inferred_vantage(ends([], frames=0))) == ("unknown", None, "default")


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({}, ("unknown", None, "default")),
        ({"outgoing": [A]}, ("member", A, "inferred")),
        ({"outgoing": [A, B]}, ("unknown", None, "default")),
        ({"outgoing": [C]}, ("unknown", None, "default")),
        ({"ttl": {A: [64, 64], B: [61, 61]}}, ("member", A, "inferred")),
        ({"ttl": {A: [127, 127], B: [255, 255]}}, ("member", B, "inferred")),
        ({"ttl": {A: [64, 64], B: [64, 64]}}, ("unknown", None, "default")),
        ({"ttl": {A: [64, 64], B: [60, 64]}}, ("unknown", None, "default")),
        ({"ttl": {A: [64, 64]}}, ("unknown", None, "default")),
    ],
)
def test_of_two_members_alone_direction_decides_and_then_ttl(
    evidence: dict[str, Any], expected: tuple[str, str | None, str]
) -> None:
    assert place(inferred_vantage(ends([A, B], **evidence))) == expected


def test_a_given_address_is_taken_as_it_is() -> None:
    assert given_vantage(B, {}, []) == Vantage("member", B, "given", f"--at {B}")


def test_a_mirror_port_can_be_given_too() -> None:
    assert given_vantage("between", {}, []) == Vantage("between", None, "given", "--at between")


MEMBERS: list[MemberDetail] = [
    {"member": "u-1", "name": "A", "address": f"{A}:7800"},
    {"member": "u-2", "name": None, "address": "[fd00:80::2]:7800"},
]


@pytest.mark.parametrize(
    ("at", "names", "address"),
    [
        ("A", {}, A),  # the wire's own name
        ("u-1", {}, A),
        ("B", {"u-2": "B"}, "fd00:80::2"),
        ("B", {C: "B"}, C),
        ("B", {}, None),
    ],
)
def test_a_given_name_is_looked_up_in_names_and_on_the_wire(
    at: str, names: dict[str, str], address: str | None
) -> None:
    found = given_vantage(at, names, MEMBERS)
    assert (found.address, found.origin) == (address, "given")
    assert found.kind == ("member" if address else "unknown")


def test_an_address_that_no_unicast_comes_from_is_nobodys() -> None:
    ttl = {A: [64, 64], B: [63, 63]}
    at_c = given_vantage(C, {}, [])
    assert checked_vantage(at_c, ends([C], ttl=ttl)) == at_c  # it receives, and sends nothing
    assert checked_vantage(at_c, ends([], frames=0)) == at_c  # only multicast: nothing contradicts
    many = {f"10.1.0.{n}": [64, 64] for n in range(TTL_ADDRESSES)}
    assert checked_vantage(at_c, ends([], ttl=many)) == at_c  # not all senders are kept
    found = checked_vantage(at_c, ends([], ttl=ttl))
    assert (found.kind, found.address, found.origin) == ("unknown", None, "given")
    assert C in found.why


@pytest.mark.parametrize(
    "evidence",
    [
        {"both": []},  # some go between others
        {"both": [B]},  # all are from another or to it
        {"both": [A, B], "ttl": {A: [63, 63], B: [64, 64]}},  # it is the far end of two
        {"both": [A, B], "outgoing": [B]},
    ],
)
def test_a_place_is_contradicted_by_unicasts_that_its_interface_cannot_have(
    evidence: dict[str, Any],
) -> None:
    ttl = {A: [64, 64], B: [64, 64]}
    found = checked_vantage(given_vantage(A, {}, []), ends([], ttl=ttl) | evidence)
    assert (found.kind, found.origin) == ("unknown", "given")
    assert found.why.startswith(f"--at {A}: ")


def test_what_one_address_sends_to_itself_is_captured_at_its_loopback_interface() -> None:
    lo = ends([], frames=0, within={A: 7}, ttl={A: [64, 64]})
    found = inferred_vantage(lo)
    assert (*place(found), found.sure) == ("member", A, "inferred", True)
    for at in (A, B):  # another address of the same host, for all that is captured
        assert place(checked_vantage(given_vantage(at, {}, []), lo)) == ("member", A, "given")
    several = lo | {"within": {A: 7, B: 2}}
    assert place(inferred_vantage(several)) == ("unknown", None, "default")
    assert checked_vantage(given_vantage(A, {}, []), several).kind == "member"


def test_beside_other_unicasts_those_of_a_loopback_say_nothing() -> None:
    assert place(inferred_vantage(ends([B], within={"127.0.0.1": 7}))) == ("member", B, "inferred")
    assert place(inferred_vantage(ends([], within={A: 7}))) == ("between", None, "inferred")


def test_of_several_at_one_address_with_losses_of_their_own_nobody_is_the_observer() -> None:
    here = Vantage("member", A, "given", f"--at {A}")
    assert of_one_member(here, ["X", None, "X"]) == here  # one that began anew
    found = of_one_member(here, ["X", "Y"])
    assert (found.kind, found.address) == ("unknown", None)
    assert found.why == f"X, Y are all at {A}, and each has losses of its own"
    assert "address of its own" in found.advice


@pytest.mark.parametrize("evidence", [{"both": [A]}, {"both": [A, B]}, {"outgoing": [A]}])
def test_a_place_that_all_unicasts_touch_is_believed(evidence: dict[str, Any]) -> None:
    given = given_vantage(A, {}, [])
    assert checked_vantage(given, ends([], ttl={A: [64, 64]}) | evidence) == given


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.80.0.1", "10.80.0.1"),
        ("fd00:0080::0001", "fd00:80::1"),
        ("[fd00:80::1]", "fd00:80::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("A", None),
        ("", None),
    ],
)
def test_an_address_is_read_in_every_spelling(text: str, address: str | None) -> None:
    assert ip_of(text) == address


@pytest.mark.parametrize(
    ("text", "address"),
    [("10.80.0.1:7800", "10.80.0.1"), ("[fd00:80::1]:7800", "fd00:80::1"), ("", None)],
)
def test_the_address_of_a_member_has_a_port(text: str, address: str | None) -> None:
    assert ip_of_endpoint(text) == address
