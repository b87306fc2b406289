"""What tells packets apart that two captures hold (``network.prints``)."""

from pathlib import Path

from seqaudit.decoders.capture.pieces import TO_THE_END, plan_pieces
from seqaudit.decoders.contract.networks import EVERYTHING
from seqaudit.decoders.network.prints import prints
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp

ENDS = ("10.0.0.1", "10.0.0.2")


def test_what_is_no_sound_packet_tells_nothing(tmp_path: Path) -> None:
    """Where a length is wrong there are no ends."""
    sound = ethernet(ipv4(udp(b"hello", 1111, 2222), *ENDS))
    spoiled = [sound[:at] + b"\xff\xff" + sound[at + 2 :] for at in (16, 38)]  # of IP and UDP
    path = tmp_path / "odd.pcap"
    for frames in (spoiled, [sound, *spoiled]):
        path.write_bytes(pcap(frames))
        (piece,) = plan_pieces(str(path), 0, 0, TO_THE_END, cuts=[])
        found = prints([piece], EVERYTHING, frozenset(ENDS), 100)
        assert len(found) == len(frames) - len(spoiled)


def test_of_several_pieces_records_are_read_in_order_up_to_a_number(tmp_path: Path) -> None:
    pieces = []
    for number in range(3):
        path = tmp_path / f"{number}.pcap"
        frames = [ethernet(ipv4(udp(b"%d" % (10 * number + n), 1, 2), *ENDS)) for n in range(2)]
        path.write_bytes(pcap(frames))
        pieces += plan_pieces(str(path), 0, 0, TO_THE_END, cuts=[])
    (tmp_path / "1.pcap").unlink()  # of what cannot be read nothing is told
    both = [seen.print for seen in prints(pieces, EVERYTHING, frozenset(ENDS), 4)]
    assert len(set(both)) == 4
    assert [one.print for one in prints(pieces, EVERYTHING, frozenset(ENDS), 3)] == both[:3]
