"""Where one receive window of a multicast stream begins, and since when it is there (jgroups.md
5.4: R16, R17, W1, W2)."""

from seqaudit.replay.sequence.gaps import Mark


class Origin:
    """The beginning of one window, as far as views, digests and the member's own words tell it.

    Attributes:
        floor: it begins no later than behind this seqno; null: nothing tells yet.
        since: when it was there at the latest, by a view, a digest or its member's first word of
            it; null: nothing shows that it is.
        spoken_at: when its member said something of it last, or a view told of it; null: none did.
        let_in: a view let its sender in, which may have sent before.
        all_sent: all that is not captured from there on was sent to it.
    """

    __slots__ = ("all_sent", "floor", "let_in", "since", "spoken_at")

    def __init__(self, low: int, based: Mark | None, let_in: Mark | None) -> None:
        """
        Args:
            low: the window expects ``low + 1`` next.
            based: when a view or digest told so; null: none did.
            let_in: when a view let its sender in; null: none did.
        """
        self.floor = None if based is None else low
        self.since = let_in or based
        self.spoken_at = based
        self.let_in = let_in is not None
        self.all_sent = based is not None and let_in is None

    def again(self, low: int, there: Mark, *, all_sent: bool) -> None:
        """A new window of the same stream, which its member has not spoken of yet."""
        self.floor, self.since, self.spoken_at = low, there, None
        self.let_in, self.all_sent = not all_sent, all_sent

    def moved(self, there: Mark) -> None:
        """A merge replaced it: what came before may have come to the one before, or to none."""
        self.since, self.all_sent = there, False

    def spoke(self, level: int, mark: Mark) -> bool:
        """Its member says that it has ``level``; true for the first word of a window that nothing
        told of: it begins no later."""
        first = self.floor is None
        if first:
            self.floor, self.since = level, mark
        self.spoken_at = mark
        return first

    def there_before(self, came: Mark) -> bool:
        """Was it there when something came?"""
        return self.since is not None and self.since.frame <= came.frame
