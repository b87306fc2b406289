"""When numbered networks are others, though their packets have the same ends (decoders/README.md
7)."""

from itertools import permutations

import pytest

from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.networks import (
    BETWEEN_PORTS,
    FLOWS,
    NetworkEvidence,
    Spoken,
    separated,
)

SECOND = 1_000_000_000
RED, BLUE, GREEN = (n << k.KEY_NUMBER | k.TUNNEL_VXLAN << k.KEY_KIND for n in (5, 6, 7))
V10, V20 = 10, 20
FLOW = BETWEEN_PORTS | 8
HOSTS = 8


def spoken(*digests: int, at_ns: int = 0, packets: int = 40, last_ns: int = SECOND) -> Spoken:
    return Spoken(packets, at_ns, at_ns + last_ns, dict.fromkeys(digests, at_ns))


def found(*said: tuple[int, int, Spoken]) -> list[frozenset[int]]:
    evidence = NetworkEvidence()
    for flow, network, one in said:
        evidence.add(flow, network, one)
    return separated(evidence)


ONE = spoken(1, 2, 3, 4)
OTHER = spoken(11, 12, 13, 14)


def test_the_same_ends_that_say_something_else_are_of_other_networks() -> None:
    assert found((FLOW, RED, ONE), (FLOW, BLUE, OTHER)) == [frozenset({RED}), frozenset({BLUE})]
    assert found((FLOW, V10, ONE), (FLOW, V20, OTHER)) == [frozenset({V10}), frozenset({V20})]


def test_the_same_packets_in_two_networks_are_one_networks() -> None:
    assert found((FLOW, RED, ONE), (FLOW, BLUE, spoken(1, 2, 3, 4, at_ns=10_000))) == []
    assert found((FLOW, V10, ONE), (FLOW, V20, spoken(1, 2, 3, 5))) == []


def test_the_same_bytes_long_after_are_not_the_same_packets() -> None:
    later = spoken(1, 2, 3, 4, at_ns=60 * SECOND)
    assert len(found((FLOW, RED, ONE), (FLOW, BLUE, later))) == 2


def test_a_flow_that_goes_on_in_another_vlan_was_led_there() -> None:
    later = spoken(11, 12, 13, at_ns=5 * SECOND)
    assert found((FLOW, V10, ONE), (FLOW, V20, later)) == []
    assert len(found((FLOW, RED, ONE), (FLOW, BLUE, later))) == 2


def test_directions_in_networks_of_their_own_are_together() -> None:
    assert found((FLOW, RED, ONE), (FLOW + 8, BLUE, OTHER)) == []


def test_few_packets_say_nothing() -> None:
    few = spoken(11, 12, packets=2)
    assert found((FLOW, RED, ONE), (FLOW, BLUE, few)) == []


def test_connections_of_two_hosts_may_be_led_through_several_vlans() -> None:
    one_way = (HOSTS, V10, ONE), (HOSTS, V20, OTHER)
    assert found(*one_way) == []
    assert len(found(*one_way, (HOSTS + 8, V10, ONE), (HOSTS + 8, V20, OTHER))) == 2
    assert len(found((HOSTS, RED, ONE), (HOSTS, BLUE, OTHER))) == 2


def test_mirrors_of_each_other_stay_together_where_a_third_is_apart() -> None:
    mirrored = spoken(1, 2, 3, 4, at_ns=1000)
    said = (FLOW, RED, ONE), (FLOW, GREEN, mirrored), (FLOW, BLUE, OTHER)
    assert found(*said) == [frozenset({RED, GREEN}), frozenset({BLUE})]


def test_what_is_of_no_network_is_no_capture_of_its_own() -> None:
    assert found((FLOW, 0, ONE), (FLOW, V10, OTHER)) == [frozenset({V10})]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_pieces_add_up_in_any_order(order: tuple[int, ...]) -> None:
    """Also where there are more flows than are compared."""
    pieces = []
    for piece in range(3):
        own = NetworkEvidence()
        own.frames = {RED: piece + 1}
        for number in range(FLOWS):
            own.add(number * 3 + piece, RED, spoken(number, number + piece, packets=piece + 1))
            own.add(number, BLUE, spoken(5 - piece))
        pieces.append(own.rows())
    together, expected = NetworkEvidence(), NetworkEvidence()
    for piece in order:
        together.take_in(pieces[piece])
    for one in pieces:
        expected.take_in(one)
    assert together.rows() == expected.rows()
    assert together.frames == {RED: 6}
    assert 0 < len({flow for flow, *_ in together.rows()["flows"]}) <= FLOWS
