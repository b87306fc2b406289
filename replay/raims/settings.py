"""The parameters of raims and PGM as the windows of one conversation take them."""

from collections.abc import Mapping
from typing import Any, Final

from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.pgm.parameters import PARAMETERS as PGM_PARAMETERS
from seqaudit.replay.raims.parameters import PARAMETERS
from seqaudit.replay.raims.releases import AUGUST_2022, OCTOBER_2023, WORDS
from seqaudit.replay.raims.rotation import (
    PUBLISHER_CODE,
    PUBLISHER_DOCUMENT,
    SUBSCRIBER_CODE,
    SUBSCRIBER_DOCUMENT,
    RotationSettings,
)
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.raims.subscriber import SubscriptionWindow

#: The observer's timer ticks so often in a heartbeat interval (raims.md 8).
TICKS: Final = 250
#: Bytes of IP, UDP and the largest PGM header around a TSDU (raims.md 2).
PGM_OVERHEAD: Final = 72
#: Bytes of a PGM packet in UDP less the headers of UDP and ODATA.
LARGEST_TSDU: Final = 65_535 - 8 - 24
#: Bytes of a message in front of its subject, and of a field with 8 bytes (raims.md 5).
ENVELOPE_BYTES: Final = 48
FIELD_BYTES: Final = 10
#: Default sizes of the windows by the document (raims.md 9.3), and in its time (raims.md 14.1).
DOCUMENT_BYTES: Final = 4 << 20


class Settings:
    """What the user states, and the defaults of the rules and the release replayed."""

    def __init__(self, given: Mapping[str, Given]) -> None:
        self.parameters = EngineParameters("raims", PARAMETERS, given)
        self.pgm = EngineParameters("pgm", PGM_PARAMETERS, given)
        self.document = self.parameters.value("rules") == "document"
        self.release = WORDS[self.parameters.value("release")]
        self.tick_ns = self.parameters.value("heartbeat_ms") * 1_000_000 // TICKS

    def in_force(self, name: str) -> Any:
        """A parameter's value; where nobody states it, the default of the rules replayed."""
        if not self.parameters.is_given(name):
            if self.document and name in ("pub_window_size", "sub_window_size"):
                return DOCUMENT_BYTES
            if not self.document and self.release < OCTOBER_2023:  # raims-14.1-defaults
                if name in ("pub_window_count", "sub_window_count"):
                    return -1
                if name == "pub_window_size":
                    return DOCUMENT_BYTES
        return self.parameters.value(name)

    def rotation(self, *, publisher: bool) -> RotationSettings:
        side = "pub" if publisher else "sub"
        value = self.parameters.value
        return RotationSettings(
            self.in_force(f"{side}_window_size"),
            self.in_force(f"{side}_window_count"),
            value(f"{side}_window_time_ms") * 1_000_000,
            self.tick_ns,
            PUBLISHER_CODE if publisher else SUBSCRIBER_CODE,
            PUBLISHER_DOCUMENT if publisher else SUBSCRIBER_DOCUMENT,
            self.document,
            value("pub_window_autoscale") if publisher else 0,
        )

    def subscription_window(self, start_ns: int) -> SubscriptionWindow:
        rotation = self.rotation(publisher=False)
        return SubscriptionWindow(rotation, start_ns, document=self.document, release=self.release)

    def room(self, stream: RaimsStream) -> int:
        """Messages of a stream in one PGM packet at most (raims.md 5): each with its subject,
        seqno and, from August 2022 on, time, and nothing else. Nobody says how large a TSDU is but
        who states the mtu, so it is as large as UDP carries."""
        size = ENVELOPE_BYTES + (len(stream.subject.encode()) + 1) // 2 * 2
        size += FIELD_BYTES if self.release < AUGUST_2022 else 2 * FIELD_BYTES
        tsdu: int = self.pgm.value("mtu") - PGM_OVERHEAD
        if not self.pgm.is_given("mtu"):
            tsdu = LARGEST_TSDU
        return max(1, tsdu // size)
