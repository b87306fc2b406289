"""Long identities made short, and explained once (cli/README.md 2)."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar, cast

T = TypeVar("T")

#: Characters of an identity that stand for it.
SHORT: Final = 8
#: A zid, a bridge, a UUID, alone or as a part of something; a number is none.
_IDENTITY: Final = re.compile(
    r"\b(?=[0-9]*[a-f])[0-9a-f]{16,}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)


def short_names(text: str, names: dict[str, str]) -> str:
    """A text with long identities made short; ``names`` gets what each stands for. One that would
    be short like another stays as it is."""

    def shortened(found: re.Match[str]) -> str:
        short = f"{found[0][:SHORT]}..."
        names.setdefault(short, found[0])
        return short if names[short] == found[0] else found[0]

    return _IDENTITY.sub(shortened, text)


def shortened(value: T, names: dict[str, str], whole: frozenset[str]) -> T:
    """A report, or a part of one, with long identities made short in all of its texts but those of
    the keys ``whole``; parts that have none are shared, not copied."""
    return cast(T, _shortened(value, names, whole))


def _shortened(value: object, names: dict[str, str], whole: frozenset[str]) -> object:
    if isinstance(value, str):
        return short_names(value, names)
    if isinstance(value, Mapping):
        return {
            key: part if key in whole else _shortened(part, names, whole)
            for key, part in value.items()
        }
    if isinstance(value, list) and value and not isinstance(value[0], int):
        return [_shortened(part, names, whole) for part in value]
    return value


def explained(names: Mapping[str, str], known: Iterable[str] = ()) -> list[str]:
    """A line for each short identity that nothing has explained yet."""
    before = frozenset(known)
    return [f"{short} is {whole}" for short, whole in names.items() if short not in before]
