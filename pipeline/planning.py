"""What is planned before a run: the pieces of its captures (pipeline/README.md 1)."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Final

from seqaudit.decoders.capture import remote
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.contract.settings import USUAL_WINDOW_SQNS, DecodeSettings, Learned
from seqaudit.decoders.kernels.loader import COMPILE_FROM_RECORDS
from seqaudit.decoders.network.account_rows import PlacedAccount
from seqaudit.decoders.network.networks import is_tunnels
from seqaudit.pipeline.direct import engine as direct
from seqaudit.pipeline.direct import workers as forked
from seqaudit.pipeline.direct.kernels_ready import load_for
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.proofs import apart_in, held_in, much_carried
from seqaudit.pipeline.report.accounts import by_capture
from seqaudit.pipeline.shared.plan import (
    CaptureInput,
    Plan,
    Shares,
    StandardInput,
    plan,
    stored_bytes,
)
from seqaudit.pipeline.shared.progress import Progress
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.replay.contract.parameters import GIVEN, ParameterError
from seqaudit.replay.pgm.parameters import WINDOW_SQNS
from seqaudit.replay.stages.parameters import parse_parameter

#: Networks that are decoded each by itself; the others stay together.
MOST_APART: Final = 64
#: Rough size of a record, to foresee whether compiled kernels pay.
RECORD_BYTES: Final = 100

#: How much a compressed capture grows, to foresee the same.
INFLATION: Final = 5

#: What a reader sees while decoders are loaded; the first time that is half a minute.
LOADING: Final = "loading decoders, which are compiled once on a machine"

#: Cores to plan for on a cluster.
CLUSTER_CORES: Final = 16

#: The value of a parameter, and where it is from.
Stated = tuple[int | bool | str, str]


class UnusableError(SeqauditError):
    """No input could be read; ``problems`` has (path, line) of each."""

    def __init__(self, problems: Iterable[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(text for _, text in self.problems))


class Planning:
    """The inputs of a job and what is known of them.

    Attributes:
        inputs: those that can be read.
        problems: path and line of the others.
        stdin: the spooled standard input for as long as the job runs.
        cores: to plan for; of a cluster known when its executors came.
    """

    def __init__(
        self, inputs: Sequence[CaptureInput], options: Options, progress: Progress
    ) -> None:
        self._options = options
        self._progress = progress
        self.inputs = list(inputs)
        self.problems: list[tuple[str, str]] = []
        self.stdin = StandardInput(streamed=options.engine == "direct")
        self.cores = cores(options.place)
        self._apart = False  # networks were told apart

    def plan(self) -> Plan:
        """Pieces and tasks; Spark's captures are cut, those of this process where it pays."""
        direct_engine = self._options.engine == "direct" and self._options.target_bytes is None
        planned = self.planned_for(cut=not direct_engine)
        if direct_engine and self._worth_cutting(planned):
            return self.planned_for(cut=True)
        return planned

    def planned_for(self, *, cut: bool) -> Plan:
        """Pieces and tasks for the cores; inputs that cannot be read become problems.

        Raises:
            UnusableError: none can be read.
        """
        planned = plan(
            self.inputs, shares=self._shares(cut), stdin=self.stdin, cuts=self._options.cuts
        )
        self.problems += planned.problems
        self.inputs = list(planned.inputs)
        if not planned.pieces:
            raise UnusableError(self.problems)
        return planned

    def _shares(self, cut: bool) -> Shares:
        number = self.cores
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
        settings = self.decode_settings(planned, Learned())
        number = self.cores
        largest = max(map(stored_bytes, planned.pieces))
        if largest < 2 * direct.SMALLEST_BYTES or not forked.worth_it(
            planned.pieces, settings, number
        ):
            return False
        self._progress.begin(LOADING, 0)
        return not much_carried(load_for(planned.pieces, settings))

    def leave_out_unreadable(self, planned: Plan, accounts: Iterable[PlacedAccount]) -> bool:
        """Inputs that workers could not read become problems; whether there was any."""
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
            self.problems.append((given.path, text))
        self.inputs = remaining
        if not remaining:
            raise UnusableError(self.problems)
        return True

    def set_apart(self, planned: Plan, accounts: Sequence[PlacedAccount]) -> bool:
        """Networks that use the same addresses become captures of their own; whether there are
        any."""
        found = apart_in(accounts)
        if not found or self._apart:
            return False
        self._apart = True
        by = zip(planned.inputs, by_capture(accounts, len(planned.inputs)), strict=True)
        self.inputs = [part for given, own in by for part in _parts(given, found, held_in(own))]
        return True

    def decode_settings(self, planned: Plan, learned: Learned) -> DecodeSettings:
        """What the stages of decoding are told."""
        known = {field.name: getattr(learned, field.name) for field in fields(Learned)}
        return DecodeSettings(
            **known,
            decode_as=self._options.decode_as,
            no_decode=self._options.no_decode,
            feeds=self._options.feeds,
            compile_it=self.compile_it(planned),
            sparing=True,
            finish_fragments=planned.whole and not learned.fragmented,
            chosen=tuple(files[0].chosen for files in planned.files),
            receive_windows=self._receive_windows(len(planned.files)),
            storage=remote.in_use(),
        )

    def parameters_of(self, capture: int) -> dict[str, Stated]:
        """Full name to (value, origin) of one capture.

        Raises:
            SeqauditError: what was given for it makes no sense; one line.
        """
        parameters = dict(self._options.parameters)
        given = self.inputs[capture] if capture < len(self.inputs) else self.inputs[0]
        for name, value in given.parameters.items():
            try:
                full, parsed = parse_parameter(f"{name}={value}")
            except ParameterError as problem:
                raise SeqauditError(f"{given.path}: {problem}") from problem
            parameters[full] = (parsed, GIVEN)
        return parameters

    def _receive_windows(self, captures: int) -> tuple[int, ...]:
        """By capture; empty: the usual ones."""
        stated = [self.parameters_of(capture).get(WINDOW_SQNS) for capture in range(captures)]
        if not any(stated):
            return ()
        return tuple(USUAL_WINDOW_SQNS if one is None else int(one[0]) for one in stated)

    def compile_it(self, planned: Plan) -> bool:
        """Whether all pieces together are worth compiled kernels; one piece could not tell."""
        if self._options.compile_it is not None:
            return self._options.compile_it
        if self.stdin.is_long:  # nobody knows how long
            return True
        size = sum(
            stored_bytes(piece) * (INFLATION if piece.compression else 1)
            for piece in planned.pieces
        )
        return size // RECORD_BYTES >= COMPILE_FROM_RECORDS


def _parts(
    given: CaptureInput, found: Sequence[frozenset[int]], held: Collection[int]
) -> Iterator[CaptureInput]:
    """What a capture holds of each of some networks, and what it holds of others.

    Args:
        held: networks of which there is something in it.
    """
    own = [networks for networks in found[:MOST_APART] if networks & set(held)]
    together = sum(bool(networks & set(held)) for networks in found[MOST_APART:])
    several = frozenset().union(*own)
    tunnels = any(map(is_tunnels, several))
    for networks in own:
        yield replace(given, chosen=Chosen(tuple(sorted(networks)), tunnels=tunnels))
    if not own and not together:
        yield given
    elif set(held) - several:
        others = tuple(sorted(several))
        yield replace(given, chosen=Chosen(others, True, together, tunnels))


def cores(place: SparkAddress) -> int:
    """Cores of the place; of a cluster nobody knows before it answers, so a fair guess."""
    if not place.local:
        return CLUSTER_CORES
    match = re.fullmatch(r"local\[(\d+).*\]", place.master or "")
    if match:
        return int(match[1])
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
