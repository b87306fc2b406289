"""What seqaudit raises when an input as a whole cannot be used; the command prints it as one line.

A damaged packet or stretch is never an exception (decoders/README.md 1): it is a status, a skipped
stretch.
"""


class SeqauditError(Exception):
    """Base of all errors that a user can do something about."""


class CaptureError(SeqauditError):
    """A capture that cannot be read: what is wrong, where, and what to try.

    Args:
        path: as the user gave it; ``-`` is standard input.
        problem: what is wrong, without a full stop.
        advice: what to try.
        offset: byte of the file at which it was noticed; None if it concerns the file as a whole.
    """

    def __init__(self, path: str, problem: str, advice: str, offset: int | None = None) -> None:
        super().__init__(path, problem, advice, offset)  # the same arguments: workers pickle it
        self.path = path
        self.problem = problem
        self.advice = advice
        self.offset = offset

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        return f"{self.path}: {self.problem}{place}; {self.advice}"
