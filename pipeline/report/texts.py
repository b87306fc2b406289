"""Texts of findings with their facts in place."""

import re
from collections.abc import Mapping
from typing import Any

from seqaudit.pipeline.report.names import Names


def shown_fact(key: str, value: Any, called: Names) -> str:
    """A fact as a text says it: a member by its name, several in turn by theirs."""
    if key.endswith("_member") and isinstance(value, list):
        return " and then ".join(called.of(member) or "?" for member in value)
    if key.endswith("_member"):
        return called.of(value) or "?"
    return "?" if value is None else str(value)


def filled(text: str, facts: Mapping[str, str]) -> str:
    """A text with its ``{facts}``; anything else in braces is left as it is.

    ``{count:message}`` is "1 message" or "2 messages", ``{count:time}`` "once" or "2 times";
    ``{count|was|were}`` chooses likewise.
    """

    def fact(found: re.Match[str]) -> str:
        value = facts.get(found[1])
        if value is None:
            return found[0]
        if found[2]:
            return _counted(value, found[2])
        if found[3] is not None:
            return found[3] if value == "1" else found[4]
        return value

    return re.sub(r"\{(\w+)(?::([\w -]+)|\|([^|{}]*)\|([^|{}]*))?\}", fact, text)


def _counted(value: str, word: str) -> str:
    if value == "1":
        return "once" if word == "time" else f"1 {word}"
    if word.endswith("y"):
        return f"{value} {word[:-1]}ies"
    return f"{value} {word}es" if word.endswith(("ch", "s", "x")) else f"{value} {word}s"
