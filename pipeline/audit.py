"""An audit from inputs to report: plan, run, prove the borders and the vantages, report.

What is guessed first is proven by the run itself, such as where pieces start (pipeline/README.md
1). A wrong guess costs another run, never a wrong report.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from seqaudit.decoders.capture.pieces import settle, walk_headers, with_proven_start
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.contract.settings import Learned
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.stages.registry import READERS, DecodeSettings
from seqaudit.pipeline.direct import engine as direct
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.planning import Planning
from seqaudit.pipeline.proofs import (
    OF_PROOFS,
    borders_of,
    damaged_senders,
    fragmented_connections,
    misread_links,
    templates_before,
    torn_carriers,
    tunnelled_in_fragments,
)
from seqaudit.pipeline.report.accounts import accounts_of, torn_orders
from seqaudit.pipeline.report.build import build
from seqaudit.pipeline.report.metrics import metrics_row
from seqaudit.pipeline.report.result_store import HeldResults, stored
from seqaudit.pipeline.shared import events_file, job
from seqaudit.pipeline.shared.events_file import Decoded, Files
from seqaudit.pipeline.shared.metrics import Run
from seqaudit.pipeline.shared.ordered import ordered
from seqaudit.pipeline.shared.parts import REPLAYED, TELLING
from seqaudit.pipeline.shared.plan import CaptureInput, Plan, stored_bytes
from seqaudit.pipeline.shared.progress import Progress, Silent, StoppedError
from seqaudit.pipeline.vantages import Vantages, members_of
from seqaudit.replay.contract.report_rows import Problem, Report
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from seqaudit.pipeline.spark.cluster import Executors
    from seqaudit.pipeline.spark.session import Session


#: Runs of one job: a guess, two with starts proven by landings, one with starts from the headers.
BORDER_RUNS: Final = 3

#: A partition of the shuffles for so many bytes of capture: each costs 40 ms.
LANE_BYTES: Final = 16 << 20

#: What a reader sees of the last stage.
REPLAYING: Final = "replaying"

#: Set in the environment, faults are raised where they happen: tests must not miss one.
NO_WALL: Final = "SEQAUDIT_NO_WALL"


def audit(
    inputs: Sequence[CaptureInput], options: Options, progress: Progress | None = None
) -> Report:
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
        learned: what runs before have shown of the captures.
        border_runs: runs whose landings have proven starts of pieces wrong.
    """

    planned: Plan
    learned: Learned = field(default_factory=Learned)
    border_runs: int = 0

    def knowing(self, **more: Any) -> "_Guess":
        """The same with something else that was learned (a field of ``Learned``)."""
        return replace(self, learned=replace(self.learned, **more))

    def otherwise_than(self, other: "_Guess") -> set[int] | None:
        """Captures that a run decodes otherwise by this guess than by another; null: all of them
        may be others."""
        if self.planned.files != other.planned.files:
            return None
        pieces = set(self.planned.pieces) ^ set(other.planned.pieces)
        return {piece.capture for piece in pieces} | self.learned.differs_in(other.learned)


class _CachedEvents(contextlib.ExitStack):
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
        self._planning = Planning(inputs, options, progress)
        self._options = options
        self._progress = progress
        self._vantages = Vantages(options.at, options.names)
        self._files: Files = ()  # that are being decoded
        self._where = ""  # of a cluster: who is there
        self._run = Run(time.monotonic())
        self._parts: pa.Table  # of the direct engine's last decoding
        self._before: _Guess | None = None  # that proved wrong

    def __enter__(self) -> "_Job":
        return self

    def __exit__(self, *_: object) -> None:
        self._planning.stdin.close()

    def audit(self) -> Report:
        if any(events_file.is_events_file(given.path) for given in self._planning.inputs):
            return self._audit_events()
        return self._audit_direct() if self._options.engine == "direct" else self._audit_spark()

    # --- the kinds of run ---

    def _audit_direct(self) -> Report:
        try:
            guess, _ = self._settled(_Guess(self._planning.plan()), self._decode_direct)
        except direct.DecodeStoppedError as stopped:
            raise self._stopped(stopped.parts) from None
        with self._all_was_read() as ended:
            replayed = self._replayed_direct(guess.planned.files, self._parts)
            del self._parts  # the report takes the room
            pa.default_memory_pool().release_unused()
            return ended(self._report(guess.planned.files, *replayed))

    def _stopped(self, parts: pa.Table) -> StoppedError:
        """What an interrupted decoding knows; of captures that it had not read to their end, that
        they were not."""
        report = self._replay_direct(self._files, parts)
        read = {account["piece"] for account in accounts_of(direct.telling(parts), OF_PROOFS)}
        cut = {
            number: report["captures"][number]["path"]
            for number, files in enumerate(self._files)
            if not read.issuperset(range(files[0].first_split, files[-1].stop_split))
        }
        problem = "not read to its end before the interruption"
        report["unjudged"] = [
            *(entry for entry in report["unjudged"] if entry["capture"] not in cut),
            *[
                Problem(capture=number, path=path, problem=f"{path}: {problem}")
                for number, path in cut.items()
            ],
        ]
        done = f"{len(self._files) - len(cut)} of {len(self._files)} captures had been read"
        return StoppedError(f"interrupted; {done}, and this is what is known so far", report)

    @contextlib.contextmanager
    def _all_was_read(self) -> Iterator[Callable[[Report], Report]]:
        """Around what makes a report of all that was read: Ctrl-C does not throw that away, but the
        report is one of an interrupted run, whose code that of the command is."""

        def say_interrupted() -> None:
            self._progress.note(
                "interrupted; all was read, so its report follows; Ctrl-C again ends at once"
            )

        with interrupts.first_is_heard(say_interrupted) as heard:

            def ended(report: Report) -> Report:
                if heard():
                    raise StoppedError("interrupted; all had been read", report)
                return report

            yield ended

    def _audit_spark(self) -> Report:
        """Two jobs, on events that Spark keeps: the first tells where captures were taken."""
        guess = _Guess(self._planning.plan())
        with contextlib.ExitStack() as late:
            with self._session(guess.planned.files) as session, _CachedEvents() as kept:
                guess = self._as_executors_are(session, guess)
                told = partial(_kept_and_told, kept)
                guess, rows = self._settled(
                    guess, lambda guess: self._on_spark(session, guess, told)
                )
                ended = late.enter_context(self._all_was_read())
                vantages = self._vantages_in(guess.planned.files, rows)
                del rows
                settings = self._settings_of(vantages, guess.planned.files)
                self._show_kept(session, kept)
                size = guess.planned.total_bytes
                results = self._replay_on_spark(session, lambda: kept.events, settings, size)
            return ended(self._report(guess.planned.files, results, vantages, settings))

    def _show_kept(self, session: "Session", kept: _CachedEvents) -> None:
        """Show who looks at them the events that Spark keeps: only what is asked for travels."""
        from seqaudit.pipeline.spark.progress import JobStage, run_watched

        look = self._options.look
        if look is None:
            return
        rows = job.picked(kept.events, look.kinds, look.columns)
        schema = job.columns_of(look.columns)
        self._progress.begin("fetching events for pictures", 1)
        steps = [JobStage("fetching events")]
        look.keep(run_watched(session, lambda: job.table_of(rows, schema), steps, self._progress))

    def _audit_events(self) -> Report:
        if len(self._planning.inputs) > 1:
            raise SeqauditError(
                f"{self._planning.inputs[0].path}: an events file is audited alone; "
                "name one events file, or only captures"
            )
        kept = events_file.read(self._planning.inputs[0].path)
        self._planning.problems = list(kept.problems)
        if self._options.engine == "direct":
            return self._replay_direct(kept.files, direct.parts_of(kept.events.to_batches()))
        if self._options.look is not None:
            self._options.look.keep(kept.events)
        vantages = self._vantages_in(kept.files, kept.events)
        settings = self._settings_of(vantages, kept.files)
        path = str(Path(self._planning.inputs[0].path).absolute())
        size = kept.events.nbytes
        from seqaudit.pipeline.spark.cluster import await_executors
        from seqaudit.pipeline.spark.worker_look import Asked

        with self._session(()) as session:
            self._follow(await_executors(session, [Asked(path)], self._progress))

            def rows() -> "DataFrame":
                return job.parts(session.spark.read.schema(job.ddl(EVENTS)).parquet(path))

            results = self._replay_on_spark(session, rows, settings, size)
        return self._report(kept.files, results, vantages, settings)

    def decode(self) -> Decoded:
        if self._options.engine == "direct":
            try:
                guess, _ = self._settled(_Guess(self._planning.plan()), self._decode_direct)
            except direct.DecodeStoppedError:
                raise StoppedError("interrupted; nothing was written") from None
            events = pa.Table.from_batches(direct.events_of(self._parts), EVENTS)
        else:
            guess = _Guess(self._planning.plan())
            with self._session(guess.planned.files) as session:
                guess = self._as_executors_are(session, guess)
                act = partial(job.events_of, where=REPLAYED)
                guess, events = self._settled(
                    guess, lambda guess: self._on_spark(session, guess, act)
                )
        return Decoded(
            ordered(events, "conversation"), guess.planned.files, tuple(self._planning.problems)
        )

    # --- the loop ---

    def _settled(self, guess: _Guess, run: Callable[[_Guess], pa.Table]) -> tuple[_Guess, pa.Table]:
        """Run; where something guessed proved wrong, say it, correct it, run again."""
        while True:
            rows = run(guess)
            ran = guess
            wrong, guess = self._proven(ran, rows)
            if not wrong:
                return guess, rows
            self._before = ran
            del rows
            self._progress.note(wrong)

    def _proven(self, guess: _Guess, rows: pa.Table) -> tuple[str, _Guess]:
        """What was wrong with a guess, empty if nothing was, and the guess made right."""
        planned = guess.planned
        accounts = accounts_of(rows, OF_PROOFS)
        if self._planning.leave_out_unreadable(planned, accounts):
            again = _Guess(self._planning.plan())
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
            pieces = walk_headers(planned.pieces, compile_it=self._planning.compile_it(planned))
            better = planned.with_pieces(pieces)
            return "walking the headers: guesses of starts failed again", replace(
                guess, planned=better
            )
        known = guess.learned
        unordered = torn_orders(accounts, planned.files) - known.unordered
        if unordered:
            return (
                "decoding again: records are out of order across the borders of pieces",
                guess.knowing(unordered=known.unordered | unordered),
            )
        if self._planning.set_apart(planned, accounts):
            again = _Guess(self._planning.plan())
            return "decoding again: networks in it use the same addresses", again
        torn = torn_carriers(accounts) - known.carriers
        if torn:
            anew = guess.knowing(carriers=known.carriers | torn)
            return "decoding again: a piece did not know a TCP connection", anew
        tunnelled = tunnelled_in_fragments(accounts) - known.tunnelled
        if tunnelled:
            anew = guess.knowing(tunnelled=known.tunnelled | tunnelled)
            return "decoding again: packets of a tunnel came in fragments", anew
        fragmented = fragmented_connections(accounts) - known.fragmented
        if fragmented:
            anew = guess.knowing(
                carriers=known.carriers | fragmented, fragmented=known.fragmented | fragmented
            )
            return "decoding again: segments of TCP came in fragments", anew
        templates = templates_before(accounts)
        if templates != known.templates:
            anew = guess.knowing(templates=templates)
            return "decoding again: a piece did not know templates of IPFIX", anew
        misread = misread_links(accounts) - known.carrying
        if misread:
            anew = guess.knowing(carrying=known.carrying | misread)
            return "decoding again: a piece did not know what a PGM link carries", anew
        damaged = damaged_senders(accounts, len(planned.files)) - known.damaged
        if damaged:  # what a link carries may have been read of them alone
            those = {capture for capture, *_ in damaged}
            anew = guess.knowing(
                damaged=known.damaged | damaged,
                carrying=frozenset(link for link in known.carrying if link[0] not in those),
            )
            return "decoding again: packets are damaged", anew
        return "", guess

    # --- steps ---

    def _decode_direct(self, guess: _Guess) -> pa.Table:
        """The events that tell of all; after a run that was wrong about some captures only these
        are decoded."""
        planned, before = guess.planned, self._before
        self._before = None
        self._files = planned.files
        self._run.planned, self._run.runs = planned, self._run.runs + 1
        some, known = planned, None
        if before is not None and (again := guess.otherwise_than(before)) is not None:
            some = planned.with_pieces([p for p in planned.pieces if p.capture in again])
            known = direct.without(self._parts, again)
        if before is not None:
            del self._parts  # what is decoded again takes the room
        settings = self._settings_for(guess)
        self._parts = direct.decode(
            some.tasks(),
            settings,
            not settings.finish_fragments,
            self._progress,
            self._planning.stdin.stream,
            self._planning.cores,
            known,
        )
        return direct.telling(self._parts)

    def _replay_direct(self, files: Files, parts: pa.Table) -> Report:
        return self._report(files, *self._replayed_direct(files, parts))

    def _replayed_direct(
        self, files: Files, parts: pa.Table
    ) -> tuple[HeldResults, Sequence[Vantage], ReplaySettings]:
        if (look := self._options.look) is not None:
            shown = [batch.select(look.columns) for batch in direct.events_of(parts)]
            look.keep(pa.Table.from_batches(shown, job.columns_of(look.columns)))
        self._progress.begin(REPLAYING, 0)
        vantages = self._vantages_in(files, direct.telling(parts))
        settings = self._settings_of(vantages, files)
        counted = self._options.measured
        results = direct.replay(parts, settings, self._planning.cores, counted=counted)
        return results, vantages, settings

    def _settings_for(self, guess: _Guess) -> DecodeSettings:
        return self._planning.decode_settings(guess.planned, guess.learned)

    def _on_spark(
        self, session: "Session", guess: _Guess, act: Callable[["DataFrame"], pa.Table]
    ) -> pa.Table:
        """What ``act`` makes of the job's events (pipeline/README.md 2)."""
        from seqaudit.pipeline.spark.progress import JobStage, run_watched

        self._grow(session)
        planned = guess.planned
        self._before = None
        self._run.planned, self._run.runs = planned, self._run.runs + 1
        tasks, lanes = planned.tasks(), self._lanes(planned.total_bytes)
        settings = self._settings_for(guess)
        carriers = not settings.finish_fragments
        what = f"decoding{self._where}"
        self._progress.begin(what, 0)
        sizes = tuple(sum(map(stored_bytes, task)) for task in tasks)
        between = [JobStage("putting connections together")] * carriers
        return run_watched(
            session,
            lambda: act(job.events(session.spark, tasks, settings, lanes, carriers)),
            [JobStage(what, sizes), *between],
            self._progress,
        )

    def _replay_on_spark(
        self,
        session: "Session",
        rows: Callable[[], "DataFrame"],
        settings: ReplaySettings,
        size: int,
    ) -> HeldResults:
        """The results of events of so many bytes."""
        from seqaudit.pipeline.spark.progress import JobStage, figures_of, run_watched

        self._grow(session)
        lanes = self._lanes(size)
        self._progress.begin(REPLAYING, lanes)
        counted = self._options.measured
        results = run_watched(
            session,
            lambda: stored(job.collected(job.results(rows(), settings, lanes, counted))),
            [JobStage("sorting events"), JobStage(REPLAYING)],
            self._progress,
        )
        if counted:
            self._run.of_spark = figures_of(session)
            self._run.rows, self._run.size = results.rows, results.size
        return results

    def _session(self, files: Files) -> AbstractContextManager["Session"]:
        from seqaudit.pipeline.spark.progress import in_session
        from seqaudit.pipeline.spark.session import about

        shown = [file.shown for of_capture in files for file in of_capture]
        shown = shown or [self._planning.inputs[0].path]
        return in_session(self._options.place, self._progress, about(shown))

    def _as_executors_are(self, session: "Session", guess: _Guess) -> _Guess:
        """The plan for those who came; before they do, nobody knows how many will."""
        from seqaudit.pipeline.spark.cluster import await_executors
        from seqaudit.pipeline.spark.worker_look import Asked

        files = {p.path: Asked(p.path, p.size_bytes, p.mtime_ns) for p in guess.planned.pieces}
        if not self._follow(await_executors(session, files.values(), self._progress)):
            return guess
        return replace(guess, planned=self._planning.planned_for(cut=True))

    def _grow(self, session: "Session") -> None:
        """Have jobs that follow use the executors that came since the last one."""
        from seqaudit.pipeline.spark.cluster import there

        now = there(session)
        if now is not None and now.cores > self._planning.cores and self._follow(now):
            self._progress.note(f"{now.line} by now; what follows is planned for them")

    def _follow(self, executors: "Executors | None") -> bool:
        """Plan for those who are there; whether that is otherwise than before."""
        if executors is None:
            return False
        self._run.executors = executors.number
        if executors.cores == self._planning.cores:
            return False
        self._where = f" on {executors.line}"
        self._planning.cores = executors.cores
        return True

    def _vantages_in(self, files: Files, rows: pa.Table) -> tuple[Vantage, ...]:
        """Where captures were taken, by events of all of them."""
        accounts = accounts_of(rows, self._vantages.wanted(self._planning.inputs))
        return tuple(self._vantages.of(files, accounts, members_of(rows), self._planning.inputs))

    def _settings_of(self, vantages: Sequence[Vantage], files: Files) -> ReplaySettings:
        captures = []
        for number, vantage in enumerate(vantages):
            parameters = self._planning.parameters_of(number)
            # why is for the report alone
            network = files[number][0].network
            captures.append(CaptureSettings(replace(vantage, why=""), parameters, network))
        walled = NO_WALL not in os.environ
        return ReplaySettings(tuple(captures), READERS, walled)

    def _lanes(self, total_bytes: int) -> int:
        if self._options.lanes is not None:
            return self._options.lanes
        return min(2 * self._planning.cores, 1 + total_bytes // LANE_BYTES)

    def _report(
        self,
        files: Files,
        results: HeldResults,
        vantages: Sequence[Vantage],
        settings: ReplaySettings,
    ) -> Report:
        self._vantages.refuse_nobody(files, self._planning.inputs)
        report = build(
            files, results, vantages, settings, self._options.names, self._planning.problems
        )
        if self._options.measured:
            engine, cores = self._options.engine, self._planning.cores
            frames = report["totals"]["frames"]
            report["metrics"] = metrics_row(self._run, engine, cores, results, frames)
        return report


def _kept_and_told(kept: _CachedEvents, parts: "DataFrame") -> pa.Table:
    """What tells the vantages; all events are kept."""
    kept.keep(parts)
    return ordered(job.events_of(kept.events, TELLING), "conversation")
