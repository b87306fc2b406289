"""Rows with which nothing happens: what is replayed without events is what events would give."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import EVENTS, Flag, Kind
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage
from seqaudit.replay.pgm.engine import PgmEngine
from seqaudit.replay.raims.engine import RaimsEngine
from seqaudit.replay.raims.seqno import frame_of, frame_of_time, seqno
from seqaudit.replay.stages import replay as stage

SECOND: Final = 1_000_000_000
T0: Final = 1_795_215_202 * SECOND
HERE: Final = "10.77.0.2"
ME: Final = "ee" * 16
BRIDGES: Final = {"A": "aa" * 16, "B": "bb" * 16, "ME": ME}
ADDRESSES: Final = {"A": "10.77.0.1", "B": "10.77.0.3", "ME": HERE}
SUBJECTS: Final = ("_1.A", "_1.B", "_1.C.D")
ENGINES: Final = (RaimsEngine, PgmEngine)


class Story:
    """Rows of a capture at 10.77.0.2, as the decoder makes them of single messages."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.now = T0
        self.frame = 0
        self.sqn = dict.fromkeys(BRIDGES, 0)
        self.last: dict[tuple[str, str], int] = {}
        self.lost: list[tuple[str, int, list[tuple[Any, ...]]]] = []
        for who in BRIDGES:
            self.next_frame()
            detail = {"name": who, "address": f"{ADDRESSES[who]}:7239"}
            self.add("raims", None, Kind.MEMBER, "MEMBER", who, detail=detail, index=-1, count=0)
        self.subscribe("JOIN", SUBJECTS[0])

    def next_frame(self, seconds: float = 0.001) -> None:
        self.frame += 1
        self.now += int(seconds * SECOND)

    def add(
        self, system: str, stream: str | None, kind: Kind, word: str, who: str, **how: Any
    ) -> None:
        detail = how.pop("detail", None)
        row = dict.fromkeys(EVENTS.names) | {
            "capture": 0, "frame": self.frame, "last_frame": self.frame, "index": 0,
            "at_ns": self.now, "last_at_ns": self.now, "system": system, "conversation": "raims",
            "stream": stream, "kind": int(kind), "wire_kind": word, "count": 1, "flags": 16,
            "size": 100, "detail": None if detail is None else json.dumps(detail),
            "source": ADDRESSES[who] if system == "pgm" else BRIDGES[who],
        }  # fmt: skip
        how.setdefault("last_fresh_id", how.get("fresh_id"))
        self.rows.append(row | how)

    def link(self, who: str) -> str:
        return f"pgm:{ord(who[0]):012x}.1"

    def packet(self, who: str, word: str, sqn: int | None, **how: Any) -> None:
        kinds = {"ODATA": Kind.DATA, "RDATA": Kind.RETRANSMISSION, "SPM": Kind.HIGHEST}
        stop = None if sqn is None else sqn + 1
        for conversation, stream in (
            ("raims", f"{self.link(who)}|"),
            (f"pgm|{self.link(who)[4:]}", self.link(who)[4:]),
        ):
            self.add(
                "pgm", stream, kinds.get(word, Kind.NOTICE), word, who, seqno=sqn, stop_seqno=stop,
                stamp=0, conversation=conversation, **how,
            )  # fmt: skip

    # -- what happens ----------------------------------------------------------------------------

    def number(self, who: str, subject: str, skipped: int, *, forgets: bool) -> tuple[int, Any]:
        """The next number of a stream and its chain (raims.md 8)."""
        last = self.last.get((who, subject))
        frame = frame_of_time(self.now)
        if last is None or forgets:
            chosen, chain = seqno(frame, 1), None
        elif frame_of(last) <= frame_of_time(self.now - 10 * SECOND):
            chosen, chain = seqno(frame, 1), last + skipped
        else:
            chosen, chain = last + 1 + skipped, None
        self.last[who, subject] = chosen
        return chosen, chain

    def send(
        self, who: str, subjects: list[str], skipped: int = 0, flags: int = 16,
        *, forgets: bool = False, loses: bool = False, link: str | None = None,
        timed: bool = True,
    ) -> None:  # fmt: skip
        """A packet of messages; skipped numbers never came."""
        self.next_frame()
        stamp = self.now - self.now % 40_000_000 if timed else None
        made = [
            (subject, *self.number(who, subject, skipped, forgets=forgets), stamp)
            for subject in subjects
        ]
        sqn = self.sqn[who]
        self.sqn[who] += 1
        if loses:
            self.lost.append((who, sqn, made))
        elif link is None:
            self.packet(who, "ODATA", sqn)
            self.messages(who, made, self.link(who), sqn, flags)
        else:
            self.messages(who, made, link, None, flags)

    def messages(
        self, who: str, made: list[tuple[Any, ...]], link: str, sqn: int | None, flags: int
    ) -> None:
        for index, (subject, number, chain, stamp) in enumerate(made, 1):
            self.add(
                "raims", f"{link}|{BRIDGES[who]}|{subject}", Kind.DATA, "DATA", who, index=index,
                seqno=number, stop_seqno=number + 1, conn_id=chain, stamp=stamp, flags=flags,
                destination=subject, fresh_id=sqn, size=100 + 2 * index,
            )  # fmt: skip

    def repair(self) -> None:
        """The packet lost first comes after all."""
        if self.lost:
            who, sqn, made = self.lost.pop(0)
            self.next_frame()
            self.packet(who, "RDATA", sqn)
            self.messages(who, made, self.link(who), sqn, 16)

    def again(self, back: int, link: str | None) -> None:
        """A message of before, on its link as RDATA or on another one."""
        old = [row for row in self.rows if row["wire_kind"] == "DATA"]
        if old:
            row = old[-1 - back % len(old)]
            who = next(w for w, bridge in BRIDGES.items() if bridge == row["source"])
            self.next_frame()
            if link is None and row["fresh_id"] is not None:
                self.packet(who, "RDATA", row["fresh_id"])
            made = [(row["destination"], row["seqno"], row["conn_id"], row["stamp"])]
            self.messages(who, made, link or self.link(who), row["fresh_id"], 16)

    def spm(self, who: str) -> None:
        self.next_frame()
        self.packet(who, "SPM", self.sqn[who] - 1 if self.sqn[who] else None)

    def notice(self, who: str, word: str, **detail: Any) -> None:
        self.next_frame()
        self.add(
            "raims", f"{self.link(who)}|{BRIDGES[who]}|.{word}", Kind.NOTICE, word, who,
            detail=detail, stamp=self.now - 1_000_000,
        )  # fmt: skip

    def subscribe(self, word: str, subject: str, who: str = "ME") -> None:
        self.next_frame()
        name = "pattern" if word in ("PSUB", "STOP") else "subject"
        self.add("raims", None, Kind.SUBSCRIBE, word, who, seqno=1, detail={name: subject})


@contextmanager
def without_taking() -> Iterator[None]:
    """Every row is fed as an event."""
    with pytest.MonkeyPatch.context() as patch:
        for engine in ENGINES:
            patch.setattr(engine, "takes", lambda self, row: False)
        yield


def replayed(rows: list[dict[str, Any]], at: str | None, **parameters: Any) -> list[Any]:
    ordered = sorted(
        rows, key=lambda row: (row["conversation"], row["frame"], row["index"])
    )  # fmt: skip
    vantage = Vantage("between") if at is None else Vantage("member", at)
    told = CaptureSettings(vantage, {f"raims.{k}": (v, "given") for k, v in parameters.items()})
    batch = pa.RecordBatch.from_pylist(ordered, schema=EVENTS)
    return [
        row for found in stage.replay([batch], ReplaySettings((told,))) for row in found.to_pylist()
    ]


WHO: Final = st.sampled_from("AB")
LINKS: Final = st.sampled_from([None, None, "tcp:x", "tcp:y"])
SENDING: Final = st.builds(
    lambda who, subjects, times: [("send", who, subjects)] * times,
    WHO, st.lists(st.sampled_from(SUBJECTS), min_size=1, max_size=3), st.integers(1, 4),
)  # fmt: skip
OTHERS: Final = st.one_of(
    st.builds(lambda s: [("pause", s)], st.sampled_from([0.05, 1.0, 4.0, 9.0, 11.0, 30.0])),
    st.builds(lambda w: [("spm", w)], st.sampled_from(["A", "B", "ME"])),
    st.builds(lambda w, s, n: [("lose", w, s, n)], WHO, st.sampled_from(SUBJECTS),
              st.integers(0, 2)),
    st.just([("repair",)]),
    st.builds(lambda n, link: [("again", n, link)], st.integers(0, 9), LINKS),
    st.builds(lambda w, s: [("forget", w, s)], WHO, st.sampled_from(SUBJECTS)),
    st.builds(lambda w, s, n: [("skip", w, s, n)], WHO, st.sampled_from(SUBJECTS),
              st.integers(1, 3)),
    st.builds(lambda w, s, link: [("other", w, s, link)] * 2, WHO, st.sampled_from(SUBJECTS),
              st.sampled_from(["tcp:x", "tcp:y"])),
    st.builds(lambda s: [("own", s)] * 3, st.sampled_from(SUBJECTS)),
    st.builds(lambda what, w, s: [(what, w, s)], st.sampled_from(["flagged", "untimed"]), WHO,
              st.sampled_from(SUBJECTS)),
    st.builds(lambda w, word: [("notice", w, word)], WHO,
              st.sampled_from(["HB", "HB", "AUTH", "BYE", "HELO"])),
    st.builds(lambda word, s, w: [("subscribe", word, s, w)],
              st.sampled_from(["JOIN", "LEAV", "PSUB", "STOP"]),
              st.sampled_from([*SUBJECTS, "_1.>", "_1.*.D"]), st.sampled_from(["ME", "ME", "A"])),
)  # fmt: skip
#: What needs several steps, each of which comes too seldom by itself.
TURNS: Final = st.builds(
    lambda turn, w, s: [(what, *(w if how == "who" else s if how == "what" else how for how in row))
                        for what, *row in turn],
    st.sampled_from(
        [
            [*[("send", "who", SUBJECTS), ("spm", "who")] * 3, ("subscribe", "JOIN", "what", "ME"),
             ("send", "who", SUBJECTS)],
            [("notice", "who", "HB"), ("send", "who", SUBJECTS), ("pause", 30.0),
             ("send", "who", SUBJECTS)],
            [("send", "who", SUBJECTS), ("subscribe", "JOIN", "what", "ME"),
             ("subscribe", "PSUB", "_1.>", "B"), ("send", "who", SUBJECTS)],
            [("send", "who", SUBJECTS), ("subscribe", "LEAV", "what", "ME"),
             ("send", "who", SUBJECTS), ("untimed", "who", "what")],
            [("send", "who", SUBJECTS), ("lose", "who", "what", 0), ("send", "who", SUBJECTS),
             ("repair",), ("again", 4, "tcp:x"), ("again", 1, "tcp:x"), ("send", "who", SUBJECTS)],
        ]
    ), WHO, st.sampled_from(SUBJECTS),
)  # fmt: skip
PARAMETERS: Final = st.sampled_from(
    [
        {},
        {"sub_window_size": 1, "sub_window_count": 0, "pub_window_size": 1, "pub_window_count": 0},
        {"sub_window_size": 1, "sub_window_count": 0, "sub_window_time_ms": 3000},
        {"rules": "document"},
        {"release": "before-2024-04-01"},
        {"pub_window_time_ms": 4000, "pub_window_size": 1},
    ]
)


def told(parts: list[list[tuple[Any, ...]]]) -> Story:
    """The story of some steps."""
    story = Story()
    for what, *how in (step for part in parts for step in part):
        if what == "pause":
            story.next_frame(how[0])
        elif what == "lose":
            story.send(how[0], [how[1]] * (1 + how[2]), loses=True)
        elif what == "forget":
            story.send(how[0], [how[1]], forgets=True)
        elif what == "skip":
            story.send(how[0], [how[1]], skipped=how[2])
        elif what == "other":
            story.send(how[0], [how[1]], link=how[2])
        elif what == "untimed":
            story.send(how[0], [how[1]], timed=False)
        elif what == "own":
            story.send("ME", [how[0]])
        elif what == "flagged":
            story.send(how[0], [how[1]], flags=16 | int(Flag.NETWORK_DUPLICATE))
        elif what == "notice":
            story.notice(how[0], how[1], interval=10, start=T0, converge=T0)
        elif what == "subscribe":
            story.subscribe(*how)
        else:
            getattr(story, what)(*how)
    return story


#: A silence ends with a row that need not be fed, before one that says whether it was one.
SILENT: Final = [
    [("spm", "ME"), ("notice", "B", "HB"), ("skip", "B", "_1.A", 1), ("pause", 22.0)],
    [("again", 2, "tcp:y"), *[("own", "_1.B")] * 3],
]


#: The observer says when it started, while messages come that it does not want.
_UNWANTED: Final = [
    *[("send", "B", ("_1.A", "_1.B", "_1.C.D")), ("spm", "B")] * 3,
    ("subscribe", "JOIN", "_1.A", "ME"),
    ("send", "B", ("_1.A", "_1.B", "_1.C.D")),
]
STARTED: Final = [
    [("send", "A", ["_1.A"])], _UNWANTED, [("send", "A", ["_1.A"])], [("notice", "A", "HB")],
    _UNWANTED,
]  # fmt: skip


@settings(max_examples=75)
@example(SILENT, HERE, {})
@example(STARTED, ADDRESSES["A"], {})
@given(
    st.lists(st.one_of(SENDING, SENDING, TURNS, OTHERS), max_size=30),
    st.sampled_from([HERE, HERE, ADDRESSES["A"], None]),
    PARAMETERS,
)
def test_what_is_taken_is_what_would_have_been_fed(
    parts: list[list[tuple[Any, ...]]], at: str | None, parameters: dict[str, Any]
) -> None:
    rows = told(parts).rows
    taken = replayed(rows, at, **parameters)
    with without_taking():
        assert taken == replayed(rows, at, **parameters)


def test_what_came_before_a_long_silence_was_not_sent_by_one_that_is_dropped() -> None:
    """No word ends a run of messages that does not say whether somebody lives; but for time."""
    story = told(
        [[("notice", "A", "HB"), *[("other", "A", SUBJECTS[0], "tcp:x")] * 3, ("pause", 30.0),
          ("notice", "A", "ADJ")]]
    )  # fmt: skip
    (stream,) = [json.loads(row["detail"]) for row in replayed(story.rows, HERE)
                 if row["kind"] == "STREAM" and row["system"] == "raims"]  # fmt: skip
    assert (stream["messages"], stream["ignored"]) == (3, 0)


def test_of_a_faultless_story_few_rows_are_fed(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[str] = []
    for engine in ENGINES:
        kept = engine.feed

        def feed(self: Any, event: Any, kept: Any = kept) -> None:
            fed.append(event.wire_kind)
            kept(self, event)

        monkeypatch.setattr(engine, "feed", feed)
    story = told(
        [[("send", "A", list(SUBJECTS)), ("spm", "A"), ("pause", 0.5), ("own", SUBJECTS[0])]] * 100
    )
    results = replayed(story.rows, HERE)
    assert len([row for row in story.rows if row["wire_kind"] == "DATA"]) == 400
    assert [word for word in fed if word == "DATA"] == ["DATA"] * 4  # the first of each stream
    assert len(fed) < 20
    (loss,) = [
        json.loads(row["detail"])
        for row in results
        if row["kind"] == "TABLE" and '"table":"loss"' in row["detail"].replace(" ", "")
    ]
    assert (loss["msg_loss"], loss["repeat"], loss["null_rte"]) == (0, 0, 200)
