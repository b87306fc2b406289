"""An audit from inputs to report: plan, run, prove the borders and the vantages, report.

Three things are guessed first and proven by the run itself: where pieces start (pipeline/README.md
1), where captures were taken (replay/README.md 4), and that nothing has to be put together from
several pieces. A wrong guess costs another run, never a wrong report.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import pyarrow as pa

from seqaudit.decoders.capture import remote
from seqaudit.decoders.capture.pieces import (
    settle,
    walk_headers,
    with_proven_start,
)
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.contract.events import EVENTS, Kind
from seqaudit.decoders.contract.feed_layout import Feed
from seqaudit.decoders.kernels.loader import COMPILE_FROM_RECORDS
from seqaudit.decoders.stages.registry import READERS, DecodeSettings
from seqaudit.pipeline import events_file, job
from seqaudit.pipeline.direct import engine as direct
from seqaudit.pipeline.direct import workers as forked
from seqaudit.pipeline.events_file import Decoded, Files
from seqaudit.pipeline.kernels_ready import compile_for, load_for
from seqaudit.pipeline.plan import (
    CaptureInput,
    Plan,
    Shares,
    StandardInput,
    plan,
    stored_bytes,
)
from seqaudit.pipeline.progress import Progress, Silent, StoppedError
from seqaudit.pipeline.report.accounts import (
    OF_BORDERS,
    Account,
    accounts_of,
    borders_of,
    has_carriers,
    much_carried,
    torn_carriers,
)
from seqaudit.pipeline.report.build import build
from seqaudit.pipeline.report.result_store import HeldResults, held
from seqaudit.pipeline.spark.cluster import ready
from seqaudit.pipeline.spark.progress import JobError, in_session, run_watched
from seqaudit.pipeline.spark.session import Place, Session, about
from seqaudit.pipeline.vantages import Member, Vantages, members_of, same
from seqaudit.replay.contract.parameters import GIVEN, ParameterError
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage
from seqaudit.replay.stages.parameters import parse_parameter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


#: Of each capture so much is decoded in the driver to guess its vantage.
GUESS_BYTES: Final = 4 << 20

#: Captures are guessed only if that reads little: else Spark decodes first, keeps the events, and
#: replays when it is known where each was taken.
GUESSED_CAPTURES: Final = 64
GUESSED_BYTES: Final = 16 << 20

#: Runs of one job: a guess, two with starts proven by landings, one with starts from the headers.
BORDER_RUNS: Final = 3

#: Rough size of a record, to foresee whether compiled kernels pay.
RECORD_BYTES: Final = 100

#: A partition of the shuffles for so many bytes of capture: each costs 40 ms.
LANE_BYTES: Final = 16 << 20

#: Cores to plan for on a cluster.
CLUSTER_CORES: Final = 16

#: Set in the environment, faults are raised where they happen: tests must not miss one.
NO_WALL: Final = "SEQAUDIT_NO_WALL"

#: How much a compressed capture grows, to foresee the same.
INFLATION: Final = 5


class Look(Protocol):
    """Who wants to see the events of an audit beside its report."""

    @property
    def columns(self) -> Sequence[str]:
        """Columns of EVENTS that are asked for."""

    @property
    def kinds(self) -> Sequence[int]:
        """Kinds of events that are asked for; of those only rows with a ``seqno``."""

    def keep(self, events: pa.Table) -> None:
        """Events of a run, at least those that are asked for; they replace an earlier run's."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to audit; the defaults are those of the command line.

    Attributes:
        place: which Spark.
        at: vantage of all captures that have none of their own.
        parameters: full name to (value, origin), for all captures.
        names: identity (UUID or IP address) to name.
        decode_as: (transport, port, system): what comes there is the system's.
        no_decode: systems that nothing is recognised as.
        compile_it: whether kernels are compiled; null: if so many records are expected that it
            pays.
        look: is shown the events that are replayed, whichever engine decoded them.
        cuts, target_bytes, lanes: only for tests: where to cut, size of tasks, partitions.
    """

    engine: Literal["spark", "direct"] = "spark"
    place: Place = field(default_factory=Place)
    at: str | None = None
    parameters: Mapping[str, tuple[int | bool | str, str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    decode_as: tuple[tuple[str, int, str], ...] = ()
    no_decode: frozenset[str] = frozenset()
    feeds: tuple[Feed, ...] = ()
    compile_it: bool | None = None
    look: Look | None = None
    cuts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    target_bytes: int | None = None
    lanes: int | None = None


class UnusableError(SeqauditError):
    """No input could be read; ``problems`` has (path, line) of each."""

    def __init__(self, problems: Iterable[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(text for _, text in self.problems))


def audit(
    inputs: Sequence[CaptureInput], options: Options, progress: Progress | None = None
) -> dict[str, Any]:
    """The report (replay/README.md 5) of captures, or of one events file.

    Raises:
        SeqauditError: nothing could be judged, or the options make no sense; one line.
        Interrupted: Ctrl-C.
    """
    watch = progress or Silent()
    with _Job(inputs, options, watch) as work:
        return work.audit()


def decode(
    inputs: Sequence[CaptureInput], options: Options, progress: Progress | None = None
) -> Decoded:
    """The events of captures, in their final order (``events_file.write`` keeps them)."""
    watch = progress or Silent()
    with _Job(inputs, options, watch) as work:
        return work.decode()


@dataclass(frozen=True, slots=True)
class _Guess:
    """What a run takes for granted. Where its rows prove it wrong, it is corrected and run again.

    Attributes:
        planned: which captures can be read, and where their pieces start (pipeline/README.md 1).
        carriers: TCP connections of which every piece ships all frames.
        one_stage: nothing has to be put together from several pieces.
        vantages: where captures were taken (replay/README.md 4); null: that is asked of what was
            decoded.
        border_runs: runs whose landings have proven starts of pieces wrong.
    """

    planned: Plan
    carriers: frozenset[tuple[int, str]] = frozenset()
    one_stage: bool = False
    vantages: tuple[Vantage, ...] | None = None
    border_runs: int = 0


class _Kept(contextlib.ExitStack):
    """Events that Spark keeps between two jobs."""

    events: "DataFrame"

    def keep(self, events: "DataFrame") -> None:
        self.close()  # what an earlier run decoded
        self.events = events.persist()
        self.callback(self.events.unpersist)


class _Job:
    """One audit or decode: its inputs, and the spooled standard input for as long as it runs."""

    def __init__(
        self, inputs: Sequence[CaptureInput], options: Options, progress: Progress
    ) -> None:
        self._inputs = list(inputs)
        self._options = options
        self._progress = progress
        self._stdin = StandardInput(streamed=options.engine == "direct")
        self._problems: list[tuple[str, str]] = []
        self._vantages = Vantages(options.at, options.names)
        self._files: Files = ()  # that are being decoded
        self._cores = cores(options.place)
        self._where = ""  # of a cluster: who is there

    def __enter__(self) -> "_Job":
        return self

    def __exit__(self, *_: object) -> None:
        self._stdin.close()

    def audit(self) -> dict[str, Any]:
        if any(events_file.is_events_file(given.path) for given in self._inputs):
            return self._audit_events()
        return self._audit_direct() if self._options.engine == "direct" else self._audit_spark()

    # --- the kinds of run ---

    def _audit_direct(self) -> dict[str, Any]:
        try:
            guess, events = self._settled(self._guessed(), self._decode_direct)
        except direct.DecodeStoppedError as stopped:
            known = self._replay_direct(self._files, stopped.events)
            raise StoppedError("interrupted; this is what is known so far", known) from None
        replayed = self._replayed_direct(guess.planned.files, events)
        del events  # the report takes the room
        pa.default_memory_pool().release_unused()
        return self._report(guess.planned.files, *replayed)

    def _audit_spark(self) -> dict[str, Any]:
        """One job where the vantages can be guessed and nobody looks at events; else two, on
        events that Spark keeps."""
        guess = self._guessed(look=self._options.look is None)
        with self._session(guess.planned.files) as session, _Kept() as kept:
            guess = self._as_executors_are(session, guess)

            def run(guess: _Guess) -> pa.Table:
                if guess.vantages is None:
                    return self._on_spark(session, guess, partial(_kept_and_told, kept))
                lanes = self._lanes_of(guess.planned)
                settings = self._settings_of(guess.vantages, guess.planned.inputs)
                return self._on_spark(
                    session, guess, lambda rows: job.collected(job.results(rows, settings, lanes))
                )

            guess, rows = self._settled(guess, run)
            vantages = guess.vantages or self._vantages_in(guess.planned.files, rows.cast(EVENTS))
            settings = self._settings_of(vantages, guess.planned.inputs)
            if guess.vantages is None:
                lanes = self._lanes(guess.planned.total_bytes)
                self._show_kept(session, kept)
                rows = self._replay_on_spark(session, lambda: kept.events, settings, lanes)
        results = held(rows)
        del rows  # the report takes the room
        return self._report(guess.planned.files, results, vantages, settings)

    def _show_kept(self, session: Session, kept: _Kept) -> None:
        """Show who looks at them the events that Spark keeps: only what is asked for travels."""
        look = self._options.look
        if look is None:
            return
        wanted = f"seqno is not null and kind in ({', '.join(map(str, look.kinds))})"
        rows = kept.events.filter(wanted).select(*look.columns)
        self._progress.begin("fetching events for pictures", 1)
        look.keep(run_watched(session, lambda: job.collected(rows), 1, self._progress))

    def _audit_events(self) -> dict[str, Any]:
        if len(self._inputs) > 1:
            raise SeqauditError(
                f"{self._inputs[0].path}: an events file is audited alone; "
                "name one events file, or only captures"
            )
        kept = events_file.read(self._inputs[0].path)
        self._problems = list(kept.problems)
        if self._options.engine == "direct":
            return self._replay_direct(kept.files, kept.events)
        if self._options.look is not None:
            self._options.look.keep(kept.events)
        vantages = self._vantages_in(kept.files, kept.events)
        settings = self._settings_of(vantages, self._inputs * len(kept.files))
        path = str(Path(self._inputs[0].path).absolute())
        lanes = self._lanes(kept.events.nbytes)
        with self._session(()) as session:
            ready(session, [(path, -1)], self._progress)

            def rows() -> "DataFrame":
                return session.spark.read.schema(job.ddl(EVENTS)).parquet(path)

            results = self._replay_on_spark(session, rows, settings, lanes)
        return self._report(kept.files, held(results), vantages, settings)

    def decode(self) -> Decoded:
        if self._options.engine == "direct":
            try:
                guess, events = self._settled(self._guessed(), self._decode_direct)
            except direct.DecodeStoppedError:
                raise StoppedError("interrupted; nothing was written") from None
        else:
            guess = self._guessed()
            with self._session(guess.planned.files) as session:
                guess = self._as_executors_are(session, guess)
                guess, events = self._settled(
                    guess, lambda guess: self._on_spark(session, guess, job.collected)
                )
        events = direct.ordered(events.cast(EVENTS), "conversation")
        return Decoded(events, guess.planned.files, tuple(self._problems))

    # --- the loop ---

    def _settled(self, guess: _Guess, run: Callable[[_Guess], pa.Table]) -> tuple[_Guess, pa.Table]:
        """Run; where something guessed proved wrong, say it, correct it, run again."""
        while True:
            try:
                rows = run(guess)
            except JobError as problem:
                if not (guess.one_stage and job.CARRIER_SHIPPED in str(problem.__cause__)):
                    raise
                wrong = "decoding again: fragments or TCP came after the first megabytes"
                guess = replace(guess, one_stage=False)
            else:
                wrong, guess = self._proven(guess, rows)
                if not wrong:
                    return guess, rows
                del rows
            self._progress.note(wrong)

    def _proven(self, guess: _Guess, rows: pa.Table) -> tuple[str, _Guess]:
        """What was wrong with a guess, empty if nothing was, and the guess made right."""
        planned = guess.planned
        accounts = accounts_of(rows, OF_BORDERS)
        if self._leave_out_unreadable(planned, accounts):
            again = self._guessed(look=guess.vantages is not None)
            return "reading the others again: a capture cannot be read", again
        wrong = settle(planned.pieces, borders_of(accounts))
        if wrong and guess.border_runs < BORDER_RUNS - 1:
            pieces = list(planned.pieces)
            for number, landing, state in wrong:
                pieces[number] = with_proven_start(pieces[number], landing, state)
            better = planned.with_pieces(pieces)
            return "decoding again: a piece did not start where it was guessed", replace(
                guess, planned=better, border_runs=guess.border_runs + 1
            )
        if wrong:
            pieces = walk_headers(planned.pieces, compile_it=self._compile(planned))
            better = planned.with_pieces(pieces)
            return "walking the headers: guesses of starts failed again", replace(
                guess, planned=better
            )
        torn = torn_carriers(accounts) - guess.carriers
        if torn:
            return "decoding again: a piece did not know a TCP connection", replace(
                guess, carriers=guess.carriers | torn
            )
        if guess.vantages is None:
            return "", guess
        vantages = self._vantages_in(guess.planned.files, rows)
        return (
            ""
            if same(vantages, guess.vantages)
            else "replaying again: a capture was taken elsewhere than guessed",
            replace(guess, vantages=vantages),
        )

    def _guessed(self, *, look: bool = False) -> _Guess:
        """The first guess.

        Args:
            look: at the beginning of the captures, for their vantages, where that is soon done.
        """
        planned = self._plan()
        self._compile_needed(planned)
        if not (look and self._guessable(planned)):
            return _Guess(planned)
        accounts, members = self._look(planned)
        return _Guess(
            planned,
            one_stage=self._options.place.local and not any(map(has_carriers, accounts)),
            vantages=tuple(self._vantages.of(planned.files, accounts, members, self._inputs)),
        )

    # --- steps ---

    def _plan(self) -> Plan:
        direct_engine = self._options.engine == "direct" and self._options.target_bytes is None
        planned = self._planned(cut=not direct_engine)
        if direct_engine and self._worth_cutting(planned):
            return self._planned(cut=True)
        return planned

    def _planned(self, *, cut: bool) -> Plan:
        planned = plan(
            self._inputs, shares=self._shares(cut), stdin=self._stdin, cuts=self._options.cuts
        )
        self._problems += planned.problems
        self._inputs = list(planned.inputs)
        if not planned.pieces:
            raise UnusableError(self._problems)
        return planned

    def _shares(self, cut: bool) -> Shares:
        number = self._cores
        if self._options.target_bytes is not None:
            return Shares(number, self._options.target_bytes)
        if self._options.engine == "direct":
            return Shares(
                number, smallest=direct.SMALLEST_BYTES, largest=direct.LARGEST_BYTES, cut=cut
            )
        return Shares(number)

    def _worth_cutting(self, planned: Plan) -> bool:
        """Whether the direct engine cuts captures for several processes. It does not where TCP or
        fragments show: what lies in one piece is finished there, and no payload has to be kept
        until all pieces are decoded."""
        settings = self._decode_settings(planned)
        number = self._cores
        largest = max(map(stored_bytes, planned.pieces))
        if largest < 2 * direct.SMALLEST_BYTES or not forked.worth_it(
            planned.pieces, settings, number
        ):
            return False
        self._compile_needed(planned)
        return not much_carried(load_for(planned.pieces, settings))

    def _leave_out_unreadable(self, planned: Plan, accounts: Iterable[Account]) -> bool:
        """Whether there was any."""
        errors = {a["piece"]: a["error"] for a in accounts if a.get("error")}
        if not errors:
            return False
        remaining = []
        for given, files in zip(planned.inputs, planned.files, strict=True):
            text = next(
                (
                    errors[split].replace(file.path, file.shown)
                    for file in files
                    for split in range(file.first_split, file.stop_split)
                    if split in errors
                ),
                None,
            )
            if text is None:
                remaining.append(given)
                continue
            if not self._options.place.local:
                text += " (the workers must see the same files as this command)"
            self._problems.append((given.path, text))
        self._inputs = remaining
        if not remaining:
            raise UnusableError(self._problems)
        return True

    def _decode_direct(self, guess: _Guess) -> pa.Table:
        planned = guess.planned
        self._files = planned.files
        return direct.decode(
            planned.tasks(),
            self._decode_settings(planned, guess.carriers),
            not planned.whole,
            self._progress,
            self._stdin.stream,
            self._cores,
        )

    def _replay_direct(self, files: Files, events: pa.Table) -> dict[str, Any]:
        return self._report(files, *self._replayed_direct(files, events))

    def _replayed_direct(
        self, files: Files, events: pa.Table
    ) -> tuple[HeldResults, Sequence[Vantage], ReplaySettings]:
        if self._options.look is not None:
            self._options.look.keep(events)
        vantages = self._vantages_in(files, events)
        settings = self._settings_of(vantages, self._inputs)
        results = direct.replay(events, settings, self._cores)
        return results, vantages, settings

    def _on_spark(
        self, session: Session, guess: _Guess, act: Callable[["DataFrame"], pa.Table]
    ) -> pa.Table:
        """What ``act`` makes of the job's events (pipeline/README.md 2)."""
        planned = guess.planned
        tasks, lanes = planned.tasks(), self._lanes_of(planned)
        settings = self._decode_settings(planned, guess.carriers)
        carriers = not (planned.whole or guess.one_stage)
        self._progress.begin(f"decoding{self._where}", len(tasks))
        return run_watched(
            session,
            lambda: act(job.events(session.spark, tasks, settings, lanes, carriers)),
            len(tasks),
            self._progress,
        )

    def _replay_on_spark(
        self,
        session: Session,
        rows: Callable[[], "DataFrame"],
        settings: ReplaySettings,
        lanes: int,
    ) -> pa.Table:
        self._progress.begin("replaying", lanes)
        return run_watched(
            session,
            lambda: job.collected(job.results(rows(), settings, lanes)),
            lanes,
            self._progress,
        )

    def _session(self, files: Files) -> AbstractContextManager[Session]:
        shown = [file.shown for of_capture in files for file in of_capture]
        shown = shown or [self._inputs[0].path]
        return in_session(self._options.place, self._progress, about(shown))

    def _as_executors_are(self, session: Session, guess: _Guess) -> _Guess:
        """The plan for those who came; before they do, nobody knows how many will."""
        sizes = {piece.path: piece.size_bytes for piece in guess.planned.pieces}
        executors = ready(session, list(sizes.items()), self._progress)
        if executors is None or executors.cores == self._cores:
            return guess
        self._where = f" on {executors.line}"
        self._cores = executors.cores
        return replace(guess, planned=self._planned(cut=True))

    def _guessable(self, planned: Plan) -> bool:
        """Whether a look at all captures costs less than Spark's start."""
        size = 0
        for files in planned.files:
            piece = planned.pieces[files[0].first_split]
            if piece.compression:  # is decoded whole or not at all
                size += stored_bytes(piece) * INFLATION
            else:
                size += min(piece.stop, GUESS_BYTES)
        return len(planned.files) <= GUESSED_CAPTURES and size <= GUESSED_BYTES

    def _look(self, planned: Plan) -> tuple[list[Account], list[Member]]:
        """Accounts and members of the first megabytes of each capture."""
        settings = replace(self._decode_settings(planned), finish_fragments=True)
        accounts: list[Account] = []
        members: list[Member] = []
        for files in planned.files:
            piece = planned.pieces[files[0].first_split]
            stop = piece.stop if piece.compression else min(piece.stop, GUESS_BYTES)
            short = replace(piece, stop=stop, whole=True)
            rows = pa.Table.from_batches(job.decode_pieces([short], settings), EVENTS)
            accounts += accounts_of(rows)
            members += members_of(rows)
        return accounts, members

    def _decode_settings(
        self, planned: Plan, carriers: frozenset[tuple[int, str]] = frozenset()
    ) -> DecodeSettings:
        return DecodeSettings(
            decode_as=self._options.decode_as,
            no_decode=self._options.no_decode,
            feeds=self._options.feeds,
            compile_it=self._compile(planned),
            sparing=True,
            finish_fragments=planned.whole,
            carriers=carriers,
            storage=remote.in_use(),
        )

    def _compile_needed(self, planned: Plan) -> None:
        """Here, before workers would each wait for it."""
        settings = self._decode_settings(planned)
        if settings.compile_it:
            compile_for([planned.pieces[files[0].first_split] for files in planned.files], settings)

    def _compile(self, planned: Plan) -> bool:
        """Whether all pieces together are worth compiled kernels; one piece could not tell."""
        if self._options.compile_it is not None:
            return self._options.compile_it
        if self._stdin.is_long:  # nobody knows how long
            return True
        size = sum(
            stored_bytes(piece) * (INFLATION if piece.compression else 1)
            for piece in planned.pieces
        )
        return size // RECORD_BYTES >= COMPILE_FROM_RECORDS

    def _vantages_in(self, files: Files, rows: pa.Table) -> tuple[Vantage, ...]:
        """Where captures were taken, by events or results of all of them."""
        accounts = accounts_of(rows, self._vantages.wanted(self._inputs))
        return tuple(self._vantages.of(files, accounts, members_of(rows), self._inputs))

    def _settings_of(
        self, vantages: Sequence[Vantage], inputs: Sequence[CaptureInput]
    ) -> ReplaySettings:
        captures = []
        for number, vantage in enumerate(vantages):
            parameters = dict(self._options.parameters)
            given = inputs[number] if number < len(inputs) else inputs[0]
            for name, value in given.parameters.items():
                try:
                    full, parsed = parse_parameter(f"{name}={value}")
                except ParameterError as problem:
                    raise SeqauditError(f"{given.path}: {problem}") from problem
                parameters[full] = (parsed, GIVEN)
            # Why is for the report: a count in it must not make a guess differ from its proof.
            captures.append(CaptureSettings(replace(vantage, why=""), parameters))
        walled = NO_WALL not in os.environ
        return ReplaySettings(tuple(captures), READERS, walled)

    def _lanes_of(self, planned: Plan) -> int:
        """What one task decodes, one lane replays in the same stage, without a shuffle."""
        lanes = self._lanes(planned.total_bytes)
        return job.ALONE if lanes == 1 == len(planned.tasks()) else lanes

    def _lanes(self, total_bytes: int) -> int:
        if self._options.lanes is not None:
            return self._options.lanes
        return min(2 * self._cores, 1 + total_bytes // LANE_BYTES)

    def _report(
        self,
        files: Files,
        results: HeldResults,
        vantages: Sequence[Vantage],
        settings: ReplaySettings,
    ) -> dict[str, Any]:
        self._vantages.refuse_nobody(files, self._inputs)
        return build(files, results, vantages, settings, self._options.names, self._problems)


def cores(place: Place) -> int:
    """Cores of the place; of a cluster nobody knows before it answers, so a fair guess."""
    if not place.local:
        return CLUSTER_CORES
    match = re.fullmatch(r"local\[(\d+).*\]", place.master or "")
    if match:
        return int(match[1])
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _kept_and_told(kept: _Kept, rows: "DataFrame") -> pa.Table:
    """What tells the vantages; all events are kept."""
    kept.keep(rows)
    return job.collected(kept.events.filter(f"kind in ({Kind.ACCOUNT:d}, {Kind.MEMBER:d})"))
