"""Every rule of the registry, and a capture that shows it.

A recording of ``fixtures/``, one to which something happened (``spoiled``), or one that a world or
a story writes byte by byte. Where it can, a rule has a recording: a world shows only what its maker
thought of.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from seqaudit.replay.stages.systems import RULES
from tests.rules import spoiled as s
from tests.rules.feeds import feeds
from tests.rules.raims import pgm_and_raims
from tests.rules.spoiled import FIXTURES, Files
from tests.rules.stories import mcast, unicast
from tests.rules.wire import Made
from tests.rules.zenoh import zenoh


class Proof(NamedTuple):
    """A capture that shows a rule: its files by name, and the options of its audit.

    ``name`` is the recording's, or the rule's whose story it is; the same name and options are the
    same audit.
    """

    name: str
    files: Callable[[], Files]
    options: tuple[str, ...]


#: Rules that no capture shows, and why.
WITHOUT: Final[Mapping[str, str]] = {
    "CP099": "only a fault of seqaudit itself makes it: tests/pipeline/test_wall.py puts one in",
}


def _read(folder: str, names: tuple[str, ...]) -> Files:
    return {name: (FIXTURES / folder / name).read_bytes() for name in names}


def recorded(capture: str, *options: str) -> Proof:
    """``folder/file``, or ``folder/file+file``."""
    folder, _, files = capture.rpartition("/")
    return Proof(capture, partial(_read, folder, tuple(files.split("+"))), options)


def changed(rule: str, make: Callable[[], bytes | Files], *options: str) -> Proof:
    """A spoiled recording; one file that has no name of its own is capture.pcap."""

    def files() -> Files:
        made = make()
        return {"capture.pcap": made} if isinstance(made, bytes) else made

    return Proof(rule, files, options)


def written(rule: str, made: Made) -> Proof:
    """What a world or a story writes."""
    make, options = made
    return changed(rule, make, *options)


_AT_RV: Final = ("--at", "B.pcap=10.77.0.2", "--at", "B-client.pcap=10.77.0.2")

_RECORDED: Final[Mapping[str, str]] = {
    "CP003": "captures/interfaces.pcapng",
    "CP004": "zenoh/truncated-snaplen-1/sub.pcap",
    "CP005": "jgroups/v42-n2-loss-1/C.pcap",
    "CP006": "raims/mesh-enc-1/C.pcap",
    "CP010": "zenoh/reply-lost-1/sub.pcap",
    "CP015": "zenoh/midstream-1/sub.pcap",
    "MC001": "jgroups/n4-last-lost-1/A.pcap+B.pcap+C.pcap",
    "MC002": "jgroups/n2-last-lost-1/C.pcap",
    "MC003": "jgroups/n4-last-lost-1/A.pcap+B.pcap+C.pcap",
    "MC004": "jgroups/n4-last-lost-1/A.pcap+B.pcap+C.pcap",
    "MC005": "jgroups/ipv6-discard-1/A-any.pcap+B-nano.pcap",
    "MC006": "jgroups/n4-acks-lost-1/B.pcap",
    "MC008": "jgroups/n4-acks-lost-1/B.pcap",
    "MC009": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "MC010": "jgroups/u4n4-dup-reorder-1/C.pcap",
    "MC011": "jgroups/u4n4-dup-reorder-1/C.pcap",
    "MC012": "jgroups/n4-crash-leave-1/A.pcap",
    "MC013": "jgroups/n4-receiver-paused-1/C.pcap",
    "MC018": "jgroups/n4-last-lost-1/A.pcap+B.pcap+C.pcap",
    "MC023": "jgroups/n4-receiver-paused-1/C.pcap",
    "PG002": "raims/glsno-loss-1/B.pcap",
    "PG007": "raims/rv-dataloss-1/B.pcap",
    "RA001": "raims/small-txw-1/B.pcap",
    "RA002": "raims/frame-unknown-loss-1/B.pcap",
    "RA003": "raims/tcp-partition-1/A.pcap+B.pcap",
    "RA004": "raims/glsno-loss-1/B.pcap",
    "RA005": "raims/console-pub-1/A.pcap+B.pcap",
    "RA006": "raims/console-pub-1/A.pcap+B.pcap",
    "RA008": "raims/console-pub-1/A.pcap+B.pcap",
    "RA009": "raims/not-subscribed-1/C.pcap",
    "RA010": "raims/tcp-partition-1/A.pcap+B.pcap",
    "RA011": "raims/console-pub-1/A.pcap+B.pcap",
    "RA014": "raims/late-join-1/B.pcap",
    "RA021": "raims/mesh-enc-1/C.pcap",
    "UC001": "jgroups/u3-sync-storm-1/C.pcap",
    "UC003": "jgroups/u3-sync-storm-1/C.pcap",
    "UC004": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC005": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC006": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC007": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC008": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC012": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC013": "jgroups/u3-sync-storm-1/C.pcap",
    "UC014": "jgroups/u3-sync-storm-1/C.pcap",
    "UC015": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC018": "jgroups/n4-last-lost-1/A.pcap+B.pcap+C.pcap",
    "UC023": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC029": "jgroups/u4n4-dup-reorder-1/C.pcap",
    "UC030": "jgroups/u4n4-dup-reorder-1/C.pcap",
    "UC034": "jgroups/ipv6-discard-1/A-any.pcap+B-nano.pcap",
    "UC043": "jgroups/u3-stale-ack-fixed-1/A.pcap+B.pcap+mirror.pcap",
    "UC044": "jgroups/u3-sync-storm-1/B.pcap",
    "UC046": "jgroups/u3-sync-storm-1/C.pcap",
    "ZN001": "zenoh/reply-lost-1/sub.pcap",
    "ZN002": "zenoh/reply-lost-1/sub.pcap",
    "ZN004": "zenoh/router-no-cache-1/sub.pcap",
    "ZN005": "zenoh/reply-lost-1/sub.pcap",
    "ZN006": "zenoh/udp-reorder-dup-1/sub.pcap",
    "ZN008": "zenoh/midstream-1/sub.pcap",
    "ZN010": "zenoh-sessions/link-cut-udp/sub.pcap.zst",
    "ZN011": "zenoh/heartbeat-lost-1/pub.pcap+sub.pcap",
    "ZN012": "zenoh/timestamp-cache-only-1/sub.pcap",
    "ZN013": "zenoh/reply-lost-1/sub.pcap",
    "ZN014": "zenoh/reply-lost-1/sub.pcap",
    "ZN017": "zenoh/midstream-1/sub.pcap",
    "ZN019": "zenoh/heartbeat-lost-1/pub.pcap+sub.pcap",
    "ZN020": "zenoh/heartbeat-lost-1/pub.pcap+sub.pcap",
    "ZN021": "zenoh/heartbeat-lost-1/pub.pcap+sub.pcap",
    "ZN025": "zenoh/udp-first-lost-1/pub.pcap+sub.pcap",
}

_SPOILED: Final[Mapping[str, Proof]] = {
    "CP001": changed("CP001", s.cut),
    "CP002": changed("CP002", s.damaged),
    "CP011": changed("CP011", lambda: {"capture.pcap.gz": s.compressed()}),
    "CP012": changed("CP012", s.a_segment_missing, "--at", "10.77.0.3"),
    "CP013": changed("CP013", s.disordered),
    "CP014": changed("CP014", s.stepped),
    "CP016": changed("CP016", s.ended_in_traffic),
    "CP017": changed("CP017", s.twice),
    "CP020": recorded(s.LOSS, "--at", "10.80.0.1"),
    "CP021": changed("CP021", s.flipped),
    "CP031": changed("CP031", partial(s.both_ends, "B")),
    "CP032": changed("CP032", partial(s.both_ends, "A")),
    "RA024": changed("RA024", s.untold, *_AT_RV),
    "RA025": changed("RA025", s.told_too_much, *_AT_RV),
    "RA026": changed("RA026", s.told_too_soon, *_AT_RV),
}

#: By rule, in the order of their codes.
PROOFS: Final[Mapping[str, Proof]] = dict(
    sorted(
        {
            **{rule: recorded(capture) for rule, capture in _RECORDED.items()},
            **_SPOILED,
            **{
                rule: written(rule, made)
                for world in (feeds(), mcast(), unicast(), pgm_and_raims(), zenoh())
                for rule, made in world.items()
            },
        }.items()
    )
)


def missing() -> list[str]:
    """Rules that the table does not have."""
    return sorted(RULES.keys() - PROOFS.keys() - WITHOUT.keys())
