"""zenoh scenarios: what we report beside what was published, delivered, missed and dropped.

Per (session, key expression): several subscribers of one node are one on the wire. ``wire_summary``
of the truth is what the recording's own decoder counted: a second opinion, compared for messages.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.replay.zenoh import findings as zenoh_findings
from tests.agreement.expected_zenoh import expected
from tests.agreement.rows import Row

SCHEMA: Final = "zenoh-truth/1"
Ranges = list[list[int]]

#: Why a figure may be unknown; a figure that is unknown for another reason fails (design 8.1).
NOT_HERE: Final = "what is delivered is visible at the subscriber's interface only (zenoh.md 11)"
OTHER_HOST: Final = "this subscriber is on another host of the group"
BEGAN_LATER: Final = zenoh_findings.BEGAN_LATER
CUT: Final = "samples were cut off by snap length"
NO_NUMBERS: Final = "samples carry no SourceInfo"
NO_SUCCESSOR: Final = "nothing at this leg says that later samples exist"
NOBODY_THERE: Final = "published before anybody was connected: not on the wire"
ONE_SIDE: Final = "only the sender's leg was captured"

#: Words of the recording's decoder, and ours.
SAME_MESSAGES: Final = {"Scout": "Scout or Hello", "Hello": "Scout or Hello"}


@dataclass(frozen=True)
class ZenohScenario:
    """One folder."""

    folder: Path
    truth: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def files(self) -> list[str]:
        return [capture["file"] for capture in self.truth["captures"]]

    def at(self, file: str) -> str:
        """The address of the interface that the capture was taken at."""
        place = next(c["vantage"] for c in self.truth["captures"] if c["file"] == file)
        if "loopback" in place:
            return "127.0.0.1"
        publisher = "publisher side" in place or "publisher host" in place
        if "ipv6" in self.name:
            return "fd77::1" if publisher else "fd77::2"
        return "10.77.0.1" if publisher else "10.77.0.2"

    def host_at(self, file: str) -> str | None:
        """The host of that interface as the truth names it; null for a loopback."""
        at = self.at(file).replace("fd77::", "10.77.0.")
        return None if at == "127.0.0.1" else at

    @property
    def dropped_frames(self) -> dict[str, int]:
        """Direction -> frames and fragments in datagrams that the relay dropped."""
        dropped = {"a2b": 0, "b2a": 0}
        for action in (self.truth["relay"] or {}).get("actions", ()):
            if action.get("action") == "drop":
                messages = action.get("zenoh")
                kinds = ["Frame"] if messages is None else [m.get("T") for m in messages]
                dropped[action["dir"]] += sum(kind in ("Frame", "Fragment") for kind in kinds)
        return dropped


def find(top: Path, match: str = "*") -> list[ZenohScenario]:
    """Folders below ``top`` whose truth is zenoh's."""
    found = []
    for path in sorted(top.rglob("truth.json")):
        if path.parent.match(match):
            truth = json.loads(path.read_text())
            if truth.get("schema") == SCHEMA:
                found.append(ZenohScenario(path.parent, truth))
    return found


def compare_all(scenarios: Sequence[ZenohScenario], options: Options) -> Iterator[Row]:
    """One job over all captures; all rows."""
    if not scenarios:
        return
    places = [(scenario, file) for scenario in scenarios for file in scenario.files]
    report = audit(
        [CaptureInput(str(s.folder / file), at=s.at(file)) for s, file in places],
        options,
    )
    at = 0
    for scenario in scenarios:
        numbers = {}
        for file in scenario.files:
            numbers[file] = at
            at += 1
        yield from _Comparison(scenario, report, numbers).rows()


def _numbers(ranges: Ranges) -> set[int]:
    return {sn for first, last in ranges for sn in range(first, last + 1)}


def to_ranges(sns: Sequence[int]) -> Ranges:
    """sns in their order; a range goes on while the next one follows."""
    ranges: Ranges = []
    for sn in sns:
        if ranges and ranges[-1][1] == sn - 1:
            ranges[-1][1] = sn
        else:
            ranges.append([sn, sn])
    return ranges


class _Comparison:
    def __init__(
        self, scenario: ZenohScenario, report: Mapping[str, Any], numbers: Mapping[str, int]
    ) -> None:
        self.scenario = scenario
        self.truth = scenario.truth
        self.report = report
        self.numbers = numbers

    def row(
        self, file: str, figure: str, ours: object, truth: object, why: str | None = None
    ) -> Row:
        """``why``: the reason for which this figure may be unknown here; null: it must be known."""
        if why is not None and ours is None:
            return Row(self.scenario.name, file, figure, None, truth, "unknown", why)
        verdict = "equal" if ours == truth else "different"
        return Row(self.scenario.name, file, figure, ours, truth, verdict)

    def rows(self) -> Iterator[Row]:
        for file in self.scenario.files:
            yield from self._decoding(file)
            for publisher in self.truth["publishers"]:
                yield from self._published(file, publisher)
                for subscriber in self._subscribers():
                    yield from self._delivered(file, subscriber, publisher)
            yield from self._errors(file)
        yield from self._dropped()
        fired = {
            finding["rule"]
            for finding in self.report["findings"]
            if finding["capture"] in self.numbers.values()
            and finding["severity"] in ("warning", "error")
            and finding["rule"].startswith("ZN")
        }
        yield self.row("all", "warnings and errors", sorted(fired), expected(self.truth))

    def _errors(self, file: str) -> Iterator[Row]:
        """ZN002 where, and only where, a miss callback came; no other rule of severity error."""
        fired = {
            finding["rule"]
            for finding in self.report["findings"]
            if finding["capture"] == self.numbers[file] and finding["severity"] == "error"
        }
        due = any(
            subscriber["misses"] and self._why(file, subscriber) is None
            for subscriber in self._subscribers()
        )
        if "multicast" not in self.scenario.name:
            here = file.startswith(("sub", "lo"))
            yield self.row(file, "ZN002 fires", "ZN002" in fired if here else due, due)
        last_lost = (
            file.startswith("sub")
            and "pub.pcap" in self.scenario.files
            and any(
                publisher["published"]
                and publisher["published"][-1]["sn"]
                in _numbers(told["never_delivered_after_first"])
                for publisher in self.truth["publishers"]
                if "smd" in publisher["options"]
                for told in self.truth["outcome"]
                if told["publisher"] == publisher["name"]
            )
        )
        yield self.row(file, "ZN019 fires", "ZN019" in fired, last_lost)
        others = sorted(rule for rule in fired - {"ZN002", "ZN019"} if rule.startswith("ZN"))
        yield self.row(file, "other errors", others, [])

    # -- decoding --------------------------------------------------------------------------------

    def _decoding(self, file: str) -> Iterator[Row]:
        capture = self.report["captures"][self.numbers[file]]
        by = capture["frames_by"]
        yield self.row(file, "frames, by outcome", sum(by.values()), capture["frames"])
        if any(value < 0 for value in by.values()):
            yield self.row(file, "no outcome below zero", by, None)
        summary = next(s for s in self.truth["wire_summary"]["captures"] if s["file"] == file)
        told: dict[str, int] = {}
        for kinds in (summary["transport_messages"], summary["network_messages"]):
            for kind, count in kinds.items():
                name = SAME_MESSAGES.get(kind, kind)
                told[name] = told.get(name, 0) + count
        told.pop("LowLatency", None)  # a word for what has no transport message around it
        ours = capture["messages_by"].get("zenoh", {})
        cut = "truncated" in self.scenario.name
        for kind in sorted(ours.keys() | told.keys()):
            count = None if cut else ours.get(kind, 0)
            yield self.row(file, f"messages {kind}", count, told.get(kind, 0), CUT if cut else None)
        queries = [q for q in self.report["queries"] if q["capture"] == self.numbers[file]]
        asked = [q for q in summary["queries"] if "@adv" in str(q[2])]
        yield self.row(
            file, "queries", None if cut else len(queries), len(asked), CUT if cut else None
        )

        if not cut:
            yield from self._passed(file, summary)

    def _passed(self, file: str, summary: Mapping[str, Any]) -> Iterator[Row]:
        """Samples, replies and heartbeats that passed, by source: the other decoder's opinion."""
        ours: dict[str, dict[str, set[int]]] = {"push_sn": {}, "reply_sn": {}}
        beats: dict[tuple[str, str], int] = {}
        for stream in self.report["streams"]:
            if stream["capture"] == self.numbers[file] and stream.get("kind") == "samples":
                source = stream["source"]
                if source is None:
                    continue
                for figure, ranges in (
                    ("push_sn", stream["live"]),
                    ("reply_sn", stream["replied"]),
                ):
                    if ranges:
                        ours[figure].setdefault(source, set()).update(_numbers(ranges))
                beats[source, stream["sender_endpoint"]] = stream["heartbeats"]
        for figure, word in (("push_sn", "samples"), ("reply_sn", "replies")):
            told: dict[str, set[int]] = {}
            for name, ranges in summary[figure].items():
                told.setdefault(name.partition(" ")[0], set()).update(_numbers(ranges))
            for source in sorted(told.keys() | ours[figure].keys()):
                yield self.row(
                    file,
                    f"{source[:6]} {word} that passed",
                    to_ranges(sorted(ours[figure].get(source, ()))),
                    to_ranges(sorted(told.get(source, ()))),
                )
        yield self.row(
            file, "heartbeats that passed", sum(beats.values()), len(summary["heartbeats"])
        )

    # -- end to end ------------------------------------------------------------------------------

    def _streams(self, file: str, source: str) -> list[Mapping[str, Any]]:
        found = [
            stream
            for stream in self.report["streams"]
            if stream["capture"] == self.numbers[file]
            and stream.get("kind") == "samples"
            and stream["source"] == source
        ]
        return sorted(found, key=lambda stream: stream["first_ns"] or 0)

    def _published(self, file: str, publisher: Mapping[str, Any]) -> Iterator[Row]:
        if "smd" not in publisher["options"]:
            return
        last = publisher["published"][-1]["sn"]
        figure = f"{publisher['name']} published, last sn"
        streams = self._streams(file, f"{publisher['zid']}/{publisher['eid']}")
        known = [s["last_seqno"] for s in streams if s["last_seqno"] is not None]
        known += [s["heartbeat_highest"] for s in streams if s["heartbeat_highest"] is not None]
        highest = max(known, default=None)
        if highest is not None and highest < last and self.scenario.host_at(file) != "10.77.0.1":
            yield self.row(file, figure, None, last, NO_SUCCESSOR)
        else:
            yield self.row(file, figure, highest, last)
        if file.startswith("pub") and self.scenario.host_at(file) == "10.77.0.1":
            ours = {sn for s in streams for sn in _numbers(s["live"] + s["replied"])}
            sns = [p["sn"] for p in publisher["published"]]
            first = min(ours, default=0)
            figure = f"{publisher['name']} published"
            here = [sn for sn in sns if sn >= first]
            yield self.row(file, figure, to_ranges(sorted(ours)), to_ranges(here))
            if len(here) < len(sns):
                before = to_ranges(sns[: len(sns) - len(here)])
                yield self.row(file, f"{figure} to nobody", None, before, NOBODY_THERE)

    def _subscribers(self) -> list[dict[str, Any]]:
        """One a node and key expression."""
        logical: dict[tuple[str, str], dict[str, Any]] = {}
        for subscriber in self.truth["subscribers"]:
            found = logical.setdefault((subscriber["zid"], subscriber["key"]), dict(subscriber))
            found["advanced"] = found["advanced"] or subscriber["advanced"]
        return list(logical.values())

    def _delivered(
        self, file: str, subscriber: Mapping[str, Any], publisher: Mapping[str, Any]
    ) -> Iterator[Row]:
        source = f"{publisher['zid']}/{publisher['eid']}"
        name = f"{subscriber['name']} {publisher['name']}"
        identity = (publisher["zid"], publisher["eid"])
        rows = [r for r in subscriber["delivered"] if (r[2], r[3]) == identity]
        if "smd" not in publisher["options"]:
            yield self.row(file, f"{name} delivered", None, publisher["name"], NO_NUMBERS)
            return
        truth = to_ranges([r[4] for r in rows])
        misses = [
            m["nb"]
            for m in subscriber["misses"]
            if (m["zid"], m["eid"]) == (publisher["zid"], publisher["eid"])
        ]
        streams = [
            s
            for s in self._streams(file, source)
            if s["subscriber"] in (None, subscriber["key"])
            and (
                s["receiver"] in (subscriber["zid"], None)
                or s["receiver_endpoint"].startswith("224.")
            )
            and s["role"] == "receiver"
        ]
        why = self._why(file, subscriber)
        if not streams and not truth and why != NOT_HERE:
            return  # nobody subscribed to it
        if why == BEGAN_LATER:
            said = [stream["unknown"].get("earlier_seqnos") for stream in streams]
            yield self.row(file, f"{name} says what is unknown", said, [BEGAN_LATER])
        if why is not None:
            yield self.row(file, f"{name} delivered", None, truth, why)
            if subscriber["advanced"]:
                yield self.row(file, f"{name} misses", None, misses, why)
            return
        ours: Ranges = []
        for stream in streams:
            for first, last in stream["delivered"]:
                if ours and ours[-1][1] == first - 1:
                    ours[-1] = [ours[-1][0], last]
                else:
                    ours.append([first, last])
        yield self.row(file, f"{name} delivered", ours, truth)
        if subscriber["advanced"]:
            due = [miss["nb"] for stream in streams for miss in stream["misses"]]
            yield self.row(file, f"{name} misses", due, misses)
        yield from self._outcome(file, name, subscriber, publisher, streams)
        yield from self._evicted(file, name, publisher, streams)

    def _why(self, file: str, subscriber: Mapping[str, Any]) -> str | None:
        """Why a delivery cannot be known here, from the truth alone."""
        if "multicast" in self.scenario.name:
            nodes = {node["zid"]: node for node in self.truth["nodes"]}
            host = self.scenario.host_at(file)
            if nodes[subscriber["zid"]]["host"] != host:
                return NOT_HERE if file.startswith("pub") else OTHER_HOST
            if file.startswith("pub"):
                return NOT_HERE
        elif file.startswith(("pub", "rtr", "any")):
            return NOT_HERE
        if self.scenario.name.startswith("midstream"):
            return BEGAN_LATER
        if self.scenario.name.startswith("truncated"):
            return CUT
        return None

    def _outcome(
        self,
        file: str,
        name: str,
        subscriber: Mapping[str, Any],
        publisher: Mapping[str, Any],
        streams: Sequence[Mapping[str, Any]],
    ) -> Iterator[Row]:
        """``outcome``: what was never delivered behind the first one, and in which order."""
        told = next(
            o
            for o in self.truth["outcome"]
            if (o["subscriber"], o["publisher"]) == (subscriber["name"], publisher["name"])
        )
        lost = sorted(
            sn
            for stream in streams
            for first, last in stream["unrecovered_seqnos"]
            for sn in range(first, last + 1)
        )
        highest = max((s["last_seqno"] for s in streams), default=-1)
        truth = [
            sn
            for first, last in told["never_delivered_after_first"]
            for sn in range(first, last + 1)
        ]
        inside = [sn for sn in truth if sn <= highest]
        yield self.row(file, f"{name} not recovered", lost, inside)
        if not {"reorder", "8bit"} & set(self.scenario.name.split("-")):  # thrown away is lost
            yield self.row(
                file,
                f"{name} recovered",
                sum(s["recovered"] for s in streams),
                len(self._only_by_reply(file, subscriber, publisher)),
            )
        unseen = sum(stream["not_captured"] for stream in streams)
        yield self.row(file, f"{name} delivered without passing here", unseen, 0)
        tail = [sn for sn in truth if sn > highest]
        if tail:
            heard = max((s["heartbeat_highest"] or -1 for s in streams), default=-1)
            seen = list(range(highest + 1, heard + 1)) or None
            yield self.row(file, f"{name} last ones lost", seen, tail, NO_SUCCESSOR)
        apart = [stream["subscribers"] for stream in streams if stream["subscribers"]]
        for told_apart in apart:  # their queries stood side by side: so many there must be
            yield self.row(
                file,
                f"{name} subscribers told apart",
                sorted((one["delivered"], [m["nb"] for m in one["misses"]]) for one in told_apart),
                self._each(subscriber, publisher),
            )
        if self.truth["kind"] == "many-recovery-queries":
            yield self.row(file, f"{name} told apart at all", len(apart), 1)
        yield self.row(
            file,
            f"{name} delivered, count",
            sum(b - a + 1 for s in streams for a, b in s["delivered"]),
            told["delivered"],
        )

    def _only_by_reply(
        self, file: str, subscriber: Mapping[str, Any], publisher: Mapping[str, Any]
    ) -> set[int]:
        """Delivered, newer than the first that came live, and never seen live here."""
        identity = (publisher["zid"], publisher["eid"])
        delivered = {r[4] for r in subscriber["delivered"] if (r[2], r[3]) == identity}
        summary = next(s for s in self.truth["wire_summary"]["captures"] if s["file"] == file)
        live = {
            sn
            for name, ranges in summary["push_sn"].items()
            if name.startswith(f"{publisher['zid']}/{publisher['eid']} ")
            for sn in _numbers(ranges)
        }
        return {sn for sn in delivered - live if sn > min(live, default=sn)}

    def _each(self, of: Mapping[str, Any], publisher: Mapping[str, Any]) -> list[Any]:
        """Delivered and missed by each subscriber of a node and key expression."""
        identity = (publisher["zid"], publisher["eid"])
        return sorted(
            (
                to_ranges([r[4] for r in one["delivered"] if (r[2], r[3]) == identity]),
                [m["nb"] for m in one["misses"] if (m["zid"], m["eid"]) == identity],
            )
            for one in self.truth["subscribers"]
            if (one["zid"], one["key"]) == (of["zid"], of["key"])
        )

    def _evicted(
        self,
        file: str,
        name: str,
        publisher: Mapping[str, Any],
        streams: Sequence[Mapping[str, Any]],
    ) -> Iterator[Row]:
        """Missed samples that the cache must have evicted when it was asked."""
        depth = publisher["options"].get("cache")
        if not depth:
            return
        source = f"{publisher['zid']}/{publisher['eid']}"
        asked = [
            q["at_ns"] / 1e9
            for q in self.report["queries"]
            if q["capture"] == self.numbers[file]
            and q["source"] == source
            and q["outcome"].startswith("answered")
        ]
        for stream in streams:
            for miss in stream["misses"]:
                before = [at for at in asked if at <= miss["at_ns"] / 1e9]
                if not before:
                    continue
                published = [p["sn"] for p in publisher["published"] if p["t"] <= before[-1]]
                gone = set(published[:-depth])
                first, last = miss["seqnos"][0]
                truth = [sn for sn in range(first, last + 1) if sn in gone]
                ours = list(range(first, last + 1)) if "evicted" in miss["cause"] else []
                yield self.row(file, f"{name} evicted when asked", ours, truth)

    # -- hop by hop ------------------------------------------------------------------------------

    def _hops(self, file: str) -> dict[str, Mapping[str, Any]]:
        return {
            stream["id"]: stream
            for stream in self.report["streams"]
            if stream["capture"] == self.numbers[file] and stream.get("kind") == "transport"
        }

    def _dropped(self) -> Iterator[Row]:
        """Frames in datagrams that the relay dropped: both legs, else gaps at this one."""
        hops = {
            file: self._hops(file)
            for file in self.scenario.files
            if self.scenario.host_at(file) is not None
        }
        near = [file for file in hops if self.scenario.host_at(file) == "10.77.0.1"]
        far = [file for file in hops if self.scenario.host_at(file) == "10.77.0.2"]
        told = self.scenario.dropped_frames
        udp = {
            file: {key: hop for key, hop in found.items() if hop["transport"] == "udp"}
            for file, found in hops.items()
        }
        if near and far:
            for direction, sent, got in (("a2b", near[0], far[0]), ("b2a", far[0], near[0])):
                ours = self._between(udp[sent], udp[got], direction)
                truth = told[direction] if any(udp[sent].values()) else 0
                yield self.row(sent, f"frames dropped {direction}", ours, truth)
        elif far:
            ours = sum(hop["missing"] for hop in udp[far[0]].values())
            truth = told["a2b"] if udp[far[0]] else 0
            if "truncated" in self.scenario.name:
                yield self.row(far[0], "frames dropped a2b", None, truth, CUT)
            else:
                yield self.row(far[0], "frames dropped a2b", ours, truth)
        elif near:
            yield self.row(near[0], "frames dropped a2b", None, told["a2b"], ONE_SIDE)

    def _between(
        self,
        sent: Mapping[str, Mapping[str, Any]],
        got: Mapping[str, Mapping[str, Any]],
        direction: str,
    ) -> int:
        lost = 0
        for key, hop in sent.items():
            if self._direction(key) == direction:
                there = got.get(key)
                lost += hop["arrivals"] - (hop["network_duplicates"] or 0)
                if there is not None:
                    lost -= there["arrivals"] - (there["network_duplicates"] or 0)
        return lost

    def _direction(self, key: str) -> str:
        return "a2b" if key.startswith(("10.77.0.1:", "[fd77::1]:")) else "b2a"
