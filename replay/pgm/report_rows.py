"""The stream of a TSI as the report has it."""

from typing import Annotated, TypedDict

from seqaudit.replay.contract.report_rows import (
    ByKind,
    Bytes,
    Directions,
    NetworkDuplicates,
    Retransmissions,
    Role,
    StreamFigures,
    Time,
    Unknown,
)
from seqaudit.replay.sequence.durations import Percentiles


class PgmAskedRow(TypedDict):
    """What one receiver asked for."""

    requests: Annotated[int, "NAKs"]
    requested_seqnos: Annotated[int, "sqns in them"]


class PgmStreamRow(StreamFigures):
    """A TSI: the packets of one source, numbered by sqn."""

    role: Role
    first_ns: Time
    last_ns: Time
    network_duplicates: NetworkDuplicates
    bytes: Bytes
    by_wire_kind: ByKind
    by_source: Annotated[dict[str, dict[str, int]], "packets by source address and wire kind"]
    reordered: Annotated[
        int,
        "sqns whose original came late, and before any captured repair; those that the receiver "
        "had asked for are recovered as well",
    ]
    open: Annotated[int, "holes that nothing had ended when the capture did"]
    requests: Directions
    requested_seqnos: Directions
    retransmissions: Retransmissions
    recovery_ns: Percentiles
    peers: Annotated[dict[str, PgmAskedRow], "by address of who asked"]
    unknown: Unknown
