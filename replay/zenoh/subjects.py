"""Key expressions that one end subscribes to, found by the keys that they match (zenoh.md 6)."""

from collections import Counter
from typing import Final

from seqaudit.replay.zenoh.keys import UNRESOLVED, matches

#: In key expressions of recovery's own subscribers: to heartbeats, and tokens (zenoh.md 9.1).
OWN: Final = "@adv"


class Subjects:
    """Of one end, each as often as it was declared; those of recovery itself are left out."""

    def __init__(self) -> None:
        self._plain: Counter[str] = Counter()
        self._wild: Counter[str] = Counter()

    def add(self, subject: str) -> None:
        if OWN not in subject:
            self._of(subject)[subject] += 1

    def discard(self, subject: str | None) -> None:
        """One declaration of it less."""
        if subject is None or OWN in subject:
            return
        there = self._of(subject)
        there[subject] -= 1
        if there[subject] <= 0:
            del there[subject]

    def _of(self, subject: str) -> Counter[str]:
        return self._wild if "*" in subject else self._plain

    def __bool__(self) -> bool:
        return bool(self._plain or self._wild)

    def matching(self, key: str | None) -> list[str]:
        """Those that get samples of a key; null: it is not known, so none is known to."""
        if key is None or key.startswith(UNRESOLVED):
            return []
        plain = [key] if key in self._plain else []
        return plain + [subject for subject in self._wild if matches(subject, key)]
