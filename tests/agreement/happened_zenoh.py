"""What happened in a recorded zenoh run, told by its truth alone: what the path did to datagrams,
what publishers put out, what passed each place, and what the applications were given and told.

Nothing here asks what a recording is called or of what kind it is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tests.agreement.path_zenoh import Dropped, Identity, channel_of, dropped_of, flow_of

Truth = Mapping[str, Any]
Ranges = list[list[int]]
#: Transport numbers of a resolution (zenoh.md 8.2).
BITS: Final = {"8bit": 7, "16bit": 14, "32bit": 28, "64bit": 32}

#: No frame of these recordings is longer.
WHOLE: Final = 65_536


@dataclass(frozen=True, slots=True)
class Life:
    """One subscriber of the application, and when it lived."""

    name: str
    zid: str
    key: str
    options: Mapping[str, Any]
    since: float
    until: float
    delivered: list[list[Any]]  # rows of the truth
    misses: list[Mapping[str, Any]]


def numbers(ranges: Ranges) -> set[int]:
    """The numbers of inclusive ranges."""
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


@dataclass(frozen=True)
class Happened:
    """One recorded run."""

    truth: Truth

    # -- who and where ---------------------------------------------------------------------------

    @cached_property
    def hosts(self) -> dict[str, str]:
        """zid -> host."""
        return {node["zid"]: node["host"] for node in self.truth["nodes"]}

    @cached_property
    def identities(self) -> dict[Identity, list[Mapping[str, Any]]]:
        """Publishers that number their samples, by identity: a node that began again has one."""
        found: dict[Identity, list[Mapping[str, Any]]] = {}
        for publisher in self.truth["publishers"]:
            if "smd" in publisher["options"]:
                found.setdefault((publisher["zid"], publisher["eid"]), []).append(publisher)
        return found

    @cached_property
    def ended(self) -> float:
        """When the capture ended."""
        return float(max(event["t"] for event in self.truth["timeline"]))

    @cached_property
    def began_later(self) -> bool:
        """Whether nodes had opened their sessions before the capture began."""
        opened = [e["t"] for e in self.truth["timeline"] if e["event"].endswith(" open")]
        return self.began > max(opened, default=self.began)

    @cached_property
    def began(self) -> float:
        """When the capture began."""
        events = self.truth["timeline"]
        started = [e["t"] for e in events if e["event"] == "capture started"]
        return float(min(started or [min(e["t"] for e in events)]))

    @cached_property
    def lives(self) -> list[Life]:
        """The subscribers; where nobody noted when one was undeclared, it lived until it was handed
        something for the last time."""
        found = []
        undeclared = any(
            "declare.u_subscriber" in capture["network_messages"]
            for capture in self.truth["wire_summary"]["captures"]
        )
        for one in self.truth["subscribers"]:
            later = [
                other
                for other in self.truth["subscribers"]
                if (other["zid"], other["key"]) == (one["zid"], one["key"])
                and other["t_declared"] > max((r[0] for r in one["delivered"]), default=0.0)
                and other is not one
            ]
            heard = max((row[0] for row in one["delivered"]), default=one["t_declared"])
            noted = self.gone.get(f"undeclare {one['name']}")
            until = heard if undeclared and later and noted is None else self.ended
            until = min(until, noted or until, self.gone.get(f"SIGKILL {one['node']}", until))
            found.append(
                Life(
                    one["name"], one["zid"], one["key"], one["options"], one["t_declared"], until,
                    one["delivered"], one["misses"],
                )
            )  # fmt: skip
        return found

    @cached_property
    def gone(self) -> dict[str, float]:
        """What ended, such as ``undeclare s1``, ``SIGKILL n1``, ``node n1 closed``, and when."""
        words = ("undeclare ", "SIGKILL ", "node ")
        return {e["event"]: e["t"] for e in self.truth["timeline"] if e["event"].startswith(words)}

    # -- what passed where -----------------------------------------------------------------------

    def summary(self, file: str) -> Mapping[str, Any]:
        """What the recording's own decoder read from a capture."""
        found: Mapping[str, Any] = next(
            s for s in self.truth["wire_summary"]["captures"] if s["file"] == file
        )
        return found

    def cut(self, file: str) -> bool:
        """Whether the capture holds only the beginning of its frames."""
        capture = next(c for c in self.truth["captures"] if c["file"] == file)
        return bool(capture["snaplen"] < WHOLE)

    def live(self, file: str, source: Identity) -> list[int]:
        """Live samples of a source in the order of the wire, repeats included."""
        if self.cut(file):
            lost = self.lost_on_path(source)
            return [one["sn"] for one in self.published(source) if one["sn"] not in lost]
        return self._of(file, source, "push_sn")

    def replied(self, file: str, source: Identity) -> list[int]:
        """Samples of a source that passed in replies."""
        return self._of(file, source, "reply_sn")

    def known(self, file: str, source: Identity) -> set[int]:
        """Every sn of a source that passed, or that a heartbeat told of."""
        return {*self.live(file, source), *self.replied(file, source), *self.told(file, source)}

    def told(self, file: str, source: Identity) -> list[int]:
        """The sns that heartbeats of a source told of."""
        part = f"/{source[0]}/{source[1]}/"
        return [h for _, key, h in self.summary(file)["heartbeats"] if part in key]

    def _of(self, file: str, source: Identity, figure: str) -> list[int]:
        return [
            sn
            for name, ranges in self.summary(file)[figure].items()
            if name.partition(" ")[0] == f"{source[0]}/{source[1]}"
            for first, last in ranges
            for sn in range(first, last + 1)
        ]

    def accepted(self, file: str, source: Identity) -> list[int]:
        """Live samples that the receiving transport takes: not what newer ones had overtaken.

        Where the path held nothing up they left so: several threads put them.
        """
        late = self.stalled or any(action["action"] == "delay" for action in self.actions)
        if not late and not self.overslept:
            return list(dict.fromkeys(sn for run in self.runs(file, source) for sn in run))
        taken: list[int] = []
        for run in self.runs(file, source):
            highest = -1
            for sn in run:
                if sn > highest:
                    taken.append(sn)
                    highest = sn
        return taken

    def runs(self, file: str, source: Identity) -> list[list[int]]:
        """Live samples of each run of a source that began again; one list else."""
        live = self.live(file, source)
        if len(self.identities.get(source, ())) < 2:
            return [live]
        found: list[list[int]] = []
        for sn in live:
            if not found or sn == 0:
                found.append([])
            found[-1].append(sn)
        return found

    # -- what the path did -----------------------------------------------------------------------

    @cached_property
    def actions(self) -> list[Mapping[str, Any]]:
        """What the relay did to datagrams, in order."""
        return [a for a in (self.truth["relay"] or {}).get("actions", ()) if "action" in a]

    @cached_property
    def _datagram_ports(self) -> set[str]:
        found = set()
        for node in self.truth["nodes"]:
            for side in ("listen", "connect"):
                for endpoint in node["config"].get(side, {}).get("endpoints") or ():
                    if endpoint.startswith("udp/"):
                        found.add(endpoint.partition("#")[0].rpartition(":")[2])
        return found

    def of_datagrams(self, action: Mapping[str, Any]) -> bool:
        """Whether what the relay touched was a UDP datagram; of TCP nothing is lost for good.

        It decodes datagrams alone: a port that the system chose is in no configuration.
        """
        ports = {str(action.get("sport")), str(action.get("dport"))}
        known = bool(ports & self._datagram_ports) or bool(action.get("frag"))
        return known or action.get("zenoh") is not None

    @cached_property
    def stalled(self) -> bool:
        """Whether the path held TCP up: then nobody knows when a sample arrived."""
        return any(a["action"] == "drop" and not self.of_datagrams(a) for a in self.actions)

    @cached_property
    def overtaken(self) -> list[tuple[float, str]]:
        """What was in frames that newer ones of their counter overtook on the path, and when."""
        return [
            (action["t"], part["m"])
            for action in self.actions
            if action["action"] == "delay" and action["dir"] == "a2b" and self.of_datagrams(action)
            for message in action.get("zenoh") or ()
            for part in message.get("msgs", ())
        ]

    def refused(self, file: str) -> list[Mapping[str, Any]]:
        """What the transport behind a capture throws away: the second copy of a frame that the path
        doubled, and a frame that a newer one of its counter overtook."""
        return [
            part
            for action in self.actions
            if action["action"] in ("dup", "delay") and file in self.behind_of(action["dir"])
            for message in action.get("zenoh") or ()
            if action["action"] == "dup" or self.passed_by(file, action, message)
            for part in message.get("msgs", ())
        ]

    def passed_by(self, file: str, action: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
        """Whether a newer frame of its counter came before one that the path held up.

        A query that it holds says where it came; else it did unless it is the last of its counter.
        """
        for part in message.get("msgs", ()):
            if part["m"] == "request":
                since = [q for q in self.summary(file)["queries"] if q[0] > action["t"]]
                same = [q[2:] == [part["key"], part["params"]] for q in since]
                before = since[: same.index(True)] if True in same else []
                return any(q[1] > since[len(before)][1] for q in before)
        found = self.summary(file)["channels"].get(f"{flow_of(action)} {channel_of(message)}")
        return found is None or found["last"] != message["sn"]

    @cached_property
    def replies_refused(self) -> dict[str, set[int]]:
        """By source the replies that newer frames overtook, and that did not pass again."""
        late: dict[str, set[int]] = {}
        for action in self.actions:
            for message in action.get("zenoh") or ():
                for part in message.get("msgs", ()):
                    if action["action"] == "delay" and part["m"] == "response" and part.get("si"):
                        source = f"{part['si']['zid']}/{part['si']['eid']}"
                        late.setdefault(source, set()).add(part["si"]["sn"])
        for source, sns in late.items():
            zid, _, eid = source.partition("/")
            times = Counter(self.replied(self.files_behind[0], (zid, int(eid))))
            sns -= {sn for sn in sns if times[sn] > 1}
        return late

    @cached_property
    def files_behind(self) -> list[str]:
        """Captures at the subscribers' end of the path."""
        return [c["file"] for c in self.truth["captures"] if self.behind_path(c["file"])]

    def behind_path(self, file: str) -> bool:
        """Whether a capture was taken at the subscribers' end of the path."""
        return any(c["file"] == file and c["interface"] == "b0" for c in self.truth["captures"])

    @cached_property
    def dropped(self) -> list[Dropped]:
        """Transport messages with a number that the path dropped, of UDP."""
        found = []
        for action in self.actions:
            if action["action"] != "drop" or not self.of_datagrams(action):
                continue
            flow = flow_of(action)
            messages = action.get("zenoh")
            if messages is None:  # a fragment of a datagram: nobody decoded it
                unread = Dropped(action["t"], action["dir"], flow, False, None, "", (), (), ())
                found.append(unread)
            for message in messages or ():
                if message["T"] in ("Frame", "Fragment"):
                    found.append(dropped_of(action, flow, message))
        return found

    def passed_later(self, file: str, drop: Dropped) -> bool:
        """Whether the capture has a later frame of the counter of which one was dropped."""
        if drop.sn is None or self.cut(file):
            return True  # nobody decoded it, or what followed; there was more in every such run
        if any(sn < max(self.live(file, source), default=-1) for source, sn in drop.sns):
            return True
        found = self.summary(file)["channels"].get(f"{drop.flow} {drop.channel}")
        half = self.numbers_of_a_round // 2
        return found is not None and 0 < (found["last"] - drop.sn) % self.numbers_of_a_round <= half

    @cached_property
    def numbers_of_a_round(self) -> int:
        """How many transport numbers there are (zenoh.md 8.2)."""
        found = set()
        for node in self.truth["nodes"]:
            link = node["config"].get("transport", {}).get("link", {})
            found.add(link.get("tx", {}).get("sequence_number_resolution", "32bit"))
        return int(min(1 << BITS[one] for one in found))

    @cached_property
    def longest_outage(self) -> int:
        """Most transport messages of one counter that were dropped in a row."""
        longest = 0
        run: dict[tuple[str, str], tuple[int, int]] = {}
        for drop in self.dropped:
            if drop.sn is not None:
                last, count = run.get((drop.flow, drop.channel), (drop.sn - 1, 0))
                follows = (last + 1) % self.numbers_of_a_round == drop.sn
                run[drop.flow, drop.channel] = (drop.sn, count + 1 if follows else 1)
                longest = max(longest, run[drop.flow, drop.channel][1])
        return longest

    @cached_property
    def overslept(self) -> bool:
        """Whether so many frames were lost in a row that newer ones looked old (zenoh.md 8.3)."""
        return self.longest_outage > self.numbers_of_a_round // 2

    def behind(self, drop: Dropped) -> Iterator[str]:
        """Captures of the link behind the path, seen in the direction of what was dropped."""
        return self.behind_of(drop.direction)

    def behind_of(self, direction: str) -> Iterator[str]:
        """Captures of the link that is behind the path in a direction."""
        link = "b0" if direction == "a2b" else "a0"
        for capture in self.truth["captures"]:
            if capture["interface"] == link:
                yield capture["file"]

    def lost_on_path(self, source: Identity) -> set[int]:
        """Live samples of a source in datagrams that the path dropped."""
        return {sn for drop in self.dropped for identity, sn in drop.sns if identity == source}

    def lost_towards(self, file: str, source: Identity) -> set[int] | None:
        """Live samples that were dropped on the way to a capture; null: nobody knows which."""
        lost: set[int] = set()
        for drop in self.dropped:
            if file not in self.behind(drop):
                continue
            if drop.fragment or drop.sn is None:
                return None
            lost |= {sn for identity, sn in drop.sns if identity == source}
        return lost

    def cut_off(self) -> list[tuple[float, float]]:
        """When a node of the way was dead, or a path was blocked for longer than a lease."""
        lease = min(
            node["config"].get("transport", {}).get("link", {}).get("tx", {}).get("lease", 10_000)
            for node in self.truth["nodes"]
        ) / 1000  # fmt: skip
        found = []
        blocked: dict[str, float] = {}
        for event in self.truth["timeline"]:
            word, _, rest = event["event"].partition(" ")
            if word == "SIGKILL":
                found.append((event["t"], self.ended))
            elif rest.startswith("block"):
                blocked[rest[-3:]] = event["t"]
            elif rest.startswith("unblock") and event["t"] - blocked[rest[-3:]] > lease:
                found.append((blocked[rest[-3:]], self.ended))
        return found

    # -- what was published, delivered and told --------------------------------------------------

    def published(self, source: Identity) -> list[Mapping[str, Any]]:
        """All publications of a source, the runs of one that began again one after the other."""
        found: list[Mapping[str, Any]] = []
        for publisher in self.identities[source]:
            found += publisher["published"]
        return found

    def sees(self, file: str, life: Life) -> bool:
        """Whether what a subscriber is handed shows in a capture."""
        capture = next(c for c in self.truth["captures"] if c["file"] == file)
        if "publisher" in capture["vantage"] or "between" in capture["vantage"]:
            return False
        host = {"a0": "1", "b0": "2"}.get(capture["interface"])
        return host is None or self.hosts[life.zid].endswith(host)

    def on_another_host(self, file: str, life: Life) -> bool:
        """Whether the capture is of another member of the group, behind the path."""
        host = {"b0": "2"}.get(
            next(c["interface"] for c in self.truth["captures"] if c["file"] == file)
        )
        return host is not None and not self.hosts[life.zid].endswith(host)

    def asked_at_publisher(self, source: Identity) -> list[float]:
        """When queries for numbers of a source were on the link that is nearest to it."""
        nearest = self.truth["wire_summary"]["captures"][0]
        part = f"/{source[0]}/{source[1]}/"
        return [
            at
            for at, _, key, parameters in nearest["queries"]
            if part in f"{key}/" and "_sn=" in str(parameters)
        ]

    def asked_for(self, file: str, source: Identity, sn: int) -> list[tuple[float, list[Any]]]:
        """When queries for a sample that was there already passed a capture, and what they say."""
        part = f"/{source[0]}/{source[1]}/"
        born = max(one["t"] for one in self.published(source) if one["sn"] == sn)
        return [
            (at, words)
            for at, *words in self.summary(file)["queries"]
            if part in f"{words[1]}/" and at >= born and _asks_for(str(words[2]), sn)
        ]

    def why_missed(self, file: str, group: Sequence[Life], source: Identity, sn: int) -> set[str]:
        """Why a sample did not come back; several where they are one, as a dead publisher is, or
        where it was asked for more than once."""
        publisher = self.identities[source][0]
        asked = self.asked_for(file, source, sn)
        if not asked or all("rec" not in life.options for life in group):
            # without a cache no question leaves the node at all (zenoh.md 9.3)
            nobody = not publisher["options"].get("cache")
            return {"not asked", "no cache"} if nobody else {"not asked"}
        if not publisher["options"].get("cache"):
            return {"no cache"}
        dead = any(e["event"].startswith("SIGKILL") for e in self.truth["timeline"])
        nearest = self.truth["wire_summary"]["captures"][0]["file"]
        arrived = self.asked_for(nearest, source, sn)
        came = [words for _, words in arrived]
        why: set[str] = set()
        if self.both_ends and any(words not in came for _, words in asked):
            why |= {"query lost", "publisher gone"} if dead else {"query lost"}
        depth = publisher["options"]["cache"]
        for at, _ in arrived:
            published = [one["sn"] for one in self.published(source) if one["t"] <= at]
            why |= {"evicted"} if sn in published[:-depth] else {"reply lost"}
        others = [one for one in self.lives if one.zid != group[0].zid and "rec" in one.options]
        if any(self.sees(file, one) and matches(one.key, publisher["key"]) for one in others):
            why |= {"not asked"}  # these queries may be of the other nodes at this interface
        return why

    def behind_another(self, life: Life) -> bool:
        """Whether a subscriber without recovery shares node and key expression with one that has
        it: declared once, and what the other is sent says nothing of this one."""
        return "rec" not in life.options and any(
            "rec" in other.options and (other.zid, other.key) == (life.zid, life.key)
            for other in self.lives
        )

    @property
    def both_ends(self) -> bool:
        """Whether the links on both sides of the path were captured."""
        return {"a0", "b0"} <= {capture["interface"] for capture in self.truth["captures"]}

    def delivered(self, life: Life, source: Identity) -> list[int]:
        """sns that a subscriber was handed, in order."""
        return [row[4] for row in life.delivered if (row[2], row[3]) == source]

    def recovered(self, file: str, life: Life, source: Identity) -> set[int]:
        """Delivered, and their live copies were lost or thrown away while it was subscribed."""
        taken = set(self.accepted(file, source))
        lost = self.lost_on_path(source)
        first = min(taken, default=None)
        return {
            sn
            for sn in self.delivered(life, source)
            if sn not in taken and ((first is not None and sn > first) or sn in lost)
        }

    def waited(self, file: str, life: Life, source: Identity, seconds: float) -> bool:
        """Whether a sample whose live copy had come was handed on so much later."""
        at = {one["sn"]: one["t"] for one in self.published(source)}
        taken = set(self.accepted(file, source))
        return any(
            (row[2], row[3]) == source and row[4] in taken and row[0] - at[row[4]] >= seconds
            for row in life.delivered
        )

    def head_lost(self, life: Life, source: Identity) -> set[int]:
        """Samples that the path dropped in its life, before the first that it was handed."""
        first = min(self.delivered(life, source), default=None)
        lost = self.lost_on_path(source)
        return {
            one["sn"]
            for one in self.published(source)
            if one["sn"] in lost
            and first is not None
            and one["sn"] < first
            and life.since <= one["t"] < life.until
        }

    def tail(self, life: Life, source: Identity) -> set[int]:
        """Last samples that left in its life for somebody, after the last that it was handed."""
        delivered = self.delivered(life, source)
        put_out = self.lost_on_path(source)
        for capture in self.truth["captures"]:
            put_out |= self.known(capture["file"], source)
        return {
            one["sn"]
            for one in self.published(source)
            if delivered
            and one["sn"] > max(delivered)
            and one["sn"] in put_out
            and life.since <= one["t"] < life.until
        }

    def tail_lost(self, file: str, life: Life, source: Identity) -> set[int]:
        """Those of which nothing at its interface told, neither a newer one nor a heartbeat."""
        heard = max(self.known(file, source), default=-1)
        return {sn for sn in self.tail(life, source) if sn > heard}

    def tail_told(self, file: str, life: Life, source: Identity) -> set[int]:
        """Those of which a heartbeat told."""
        heard = max(self.told(file, source), default=-1)
        return {sn for sn in self.tail(life, source) if sn <= heard}


def _asks_for(parameters: str, sn: int) -> bool:
    """Whether ``_sn=a..``, ``_sn=..b`` or ``_sn=a..b`` takes in a number."""
    found = re.search(r"_sn=(\d*)\.\.(\d*)", parameters)
    return found is not None and int(found[1] or 0) <= sn <= int(found[2] or sn)


def missing(passed: Sequence[int], published: Sequence[int]) -> Iterator[int]:
    """Published numbers between the first and the last that passed, which did not pass."""
    known = set(passed)
    if known:
        yield from (sn for sn in published if min(known) < sn < max(known) and sn not in known)


def matches(wanted: str, key: str) -> bool:
    """Whether a key expression with ``*`` and ``**`` takes in a key (zenoh.md 6)."""
    return _match(wanted.split("/"), key.split("/"))


def _match(wanted: list[str], key: list[str]) -> bool:
    if not wanted:
        return not key
    if wanted[0] == "**":
        return any(_match(wanted[1:], key[start:]) for start in range(len(key) + 1))
    return bool(key) and wanted[0] in ("*", key[0]) and _match(wanted[1:], key[1:])
