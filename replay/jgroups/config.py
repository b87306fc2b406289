"""A JGroups stack file as parameters of the engines (jgroups.md 4.1, 5.1)."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import ParameterError, Value, parse_value
from seqaudit.replay.jgroups.mcast.parameters import PARAMETERS as MCAST
from seqaudit.replay.jgroups.unicast.parameters import PARAMETERS as UNICAST

_PARAMETERS: Final = {**MCAST, **UNICAST}

#: Protocols of a JGroups stack file and the attributes of each that are parameters of an engine.
_MCAST_NAMES: Final = {
    "capacity": "mcast.capacity",
    "ack_threshold": "mcast.ack_threshold",
    "xmit_interval": "mcast.xmit_interval_ms",
    "max_xmit_req_size": "mcast.max_xmit_req_size",
    "become_server_queue_size": "mcast.become_server_queue_size",
}
_UNICAST_NAMES: Final = {
    "xmit_interval": "unicast.xmit_interval_ms",
    "ack_threshold": "unicast.ack_threshold",
    "conn_expiry_timeout": "unicast.conn_expiry_timeout_ms",
    "conn_close_timeout": "unicast.conn_close_timeout_ms",
    "sync_min_interval": "unicast.sync_min_interval_ms",
    "get_first_seqno_interval": "unicast.sync_min_interval_ms",
    "max_xmit_req_size": "unicast.max_xmit_req_size",
    "capacity": "unicast.capacity",
}
_STACK: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(
        ("NAKACK4", "NAKACK3", "NAKACK2", "pbcast.NAKACK2", "pbcast.NAKACK4"), _MCAST_NAMES
    ),
    **dict.fromkeys(("UNICAST3", "UNICAST4"), _UNICAST_NAMES),
    "MERGE3": {"min_interval": "mcast.merge_min_interval_ms"},
}
#: Attributes where 0 says something: "never", or "no minimum".
_ZERO_COUNTS: Final = frozenset(
    {
        "unicast.conn_expiry_timeout_ms",
        "unicast.conn_close_timeout_ms",
        "unicast.sync_min_interval_ms",
    }
)


#: A value that a system property may replace, ``${name:default}``: the default is taken.
_PROPERTY: Final = re.compile(r"\$\{[^:}]*(?::([^}]*))?\}")


def from_jgroups_config(text: str, where: str = "stack file") -> dict[str, Value]:
    """The parameters that a JGroups stack (XML) states; attributes it leaves out are not there.

    Raises:
        ParameterError: not XML, or a value that is no number.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ParameterError(
            f"{where} line {error.position[0]}: not XML; give the stack file of the members"
        ) from error
    values: dict[str, Value] = {}
    for element in root.iter():
        protocol = element.tag.rpartition("}")[2]
        for attribute, name in _STACK.get(protocol, {}).items():
            stated = _PROPERTY.sub(lambda found: found[1] or "", element.attrib.get(attribute, ""))
            if stated.strip():
                value = parse_value(_PARAMETERS[name], stated.strip(), f"{where}, {protocol}")
                if value != 0 or name in _ZERO_COUNTS:  # else 0 is "not set" in these stacks
                    values[name] = value
    return values
