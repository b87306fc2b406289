"""A node of a feed file and its place, with readers that say what is wrong with it
(cli/README.md 2).

The file is read as PyYAML's graph of nodes, so every error can name file, line and field, and
nothing in it is ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TypeVar

import yaml

from seqaudit.decoders.contract.errors import SeqauditError

T = TypeVar("T")

#: Entries of a list or map.
MOST_ENTRIES: Final = 1024

NUMBER: Final = re.compile(r"-?(0x[0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,19})")


class FeedError(SeqauditError):
    """A feed that cannot be used: one line that says what, where and what to try.

    Attributes:
        line: of the file, from 1; None: of the command line.
        field: such as ``fields.seqno.width``; "" for the whole.
    """

    def __init__(self, path: str, line: int | None, field: str, problem: str, advice: str) -> None:
        super().__init__(path, line, field, problem, advice)
        self.path = path
        self.line = line
        self.field = field
        self.problem = problem
        self.advice = advice

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path} line {self.line}"
        named = f"{place}, {self.field}" if self.field else place
        return f"{named}: {self.problem}; {self.advice}"


class Node:
    """A node of the graph and its place, with readers that raise FeedError."""

    def __init__(self, path: str, field: str, node: yaml.Node, line: int | None = None) -> None:
        self.path = path
        self.field = field
        self.node = node
        self.line = node.start_mark.line + 1 if line is None else line

    def fail(self, problem: str, advice: str) -> NoReturn:
        raise FeedError(self.path, self.line, self.field, problem, advice)

    def below(self, name: str, node: yaml.Node, line: int | None = None) -> Node:
        return Node(self.path, f"{self.field}.{name}" if self.field else name, node, line)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    @property
    def is_map(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    def map(self, keys: Sequence[str] | None, advice: str) -> dict[str, Node]:
        """The entries; ``keys`` are all that may be, None: any."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail(f"is {self._sort()}, not a map", advice)
        entries: dict[str, Node] = {}
        for key_node, value in self.node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                Node(self.path, self.field, key_node).fail("has a key that is no word", advice)
            key = key_node.value
            entry = self.below(key, value, line)
            if key in entries:
                entry.fail(f"is said twice, first in line {entries[key].line}", "leave one out")
            if keys is not None and key not in keys:
                entry.fail("is no key here", f"there are {', '.join(keys)}")
            if len(entries) >= MOST_ENTRIES:
                entry.fail(f"is one of more than {MOST_ENTRIES}", "a feed has fewer")
            entries[key] = entry
        return entries

    def list(self, advice: str) -> list[Node]:
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail(f"is {self._sort()}, not a list", advice)
        if len(self.node.value) > MOST_ENTRIES:
            self.fail(f"has more than {MOST_ENTRIES} entries", "a feed has fewer")
        return [
            Node(self.path, f"{self.field}[{number}]", value)
            for number, value in enumerate(self.node.value)
        ]

    def text(self, advice: str) -> str:
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag.endswith(":null"):
            self.fail(f"is {self._sort()}, not a word", advice)
        return str(self.node.value)

    def number(self, low: int, high: int, advice: str) -> int:
        text = self.text(advice)
        if not NUMBER.fullmatch(text):
            self.fail(f"is {text!r}, not a whole number", advice)
        value = int(text, 0)
        if not low <= value <= high:
            self.fail(f"is {text}, not {low} to {high}", advice)
        return value

    def word(self, choices: Sequence[str], advice: str = "") -> str:
        text = self.text(advice or f"write one of {', '.join(choices)}")
        if text not in choices:
            self.fail(f"is {text!r}", f"write one of {', '.join(choices)}")
        return text

    def parsed(self, parse: Callable[[str], T], advice: str) -> T:
        """What ``parse`` makes of the word; its ValueError is the problem."""
        try:
            return parse(self.text(advice))
        except ValueError as problem:
            self.fail(str(problem), advice)

    def _sort(self) -> str:
        if isinstance(self.node, yaml.ScalarNode):
            return "empty" if self.node.tag.endswith(":null") else f"{self.node.value[:40]!r}"
        return "a map" if self.is_map else "a list"
