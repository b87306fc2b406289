"""Settings of decoders as keys: of ten thousand captures each asks for what was made for them."""

from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.contract.settings import DecodeSettings


def test_settings_of_many_captures_are_as_cheap_a_key_as_those_of_one() -> None:
    one, many = (DecodeSettings(chosen=(Chosen((7,)),) * number) for number in (1, 1_000))
    assert hash(one) == hash(many)
    assert one != many
