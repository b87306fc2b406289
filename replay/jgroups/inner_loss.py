"""Messages that came to a receiver's interface, and that it lacked when it asked for them."""

from dataclasses import dataclass, field

from seqaudit.replay.sequence.notes import Note


@dataclass(slots=True)
class InnerLoss:
    """Of one stream, what was dropped inside its receiver, or seems to have been.

    Attributes:
        found: came, and was asked for later.
        lacked: of these, came to the very window that asks: it was dropped, or not read yet.
        dropped: of these, the receiver read what came later, and not this.
    """

    found: Note = field(default_factory=Note)
    lacked: Note = field(default_factory=Note)
    dropped: Note = field(default_factory=Note)
