"""Templates of IPFIX (RFC 7011 3.4): how the records of a set of data are laid out."""

from typing import NamedTuple

#: Bytes of a record's parts, those of fields side by side added up; OF_VARIABLE: its value says it.
Widths = tuple[int, ...]


class ExportSession(NamedTuple):
    """Whose templates these are: ends and observation domain."""

    source: str
    source_port: int
    destination: str
    port: int
    domain: int


class Template(NamedTuple):
    """A template of a session; without widths it was withdrawn."""

    session: ExportSession
    number: int
    widths: Widths
