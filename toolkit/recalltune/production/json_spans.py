"""JSON with the place of every value: what a change of single values needs to keep the rest.

In: the text of a JSON file. Out: a tree of nodes that know where they start and end. Strict: what
`JSON.parse` refuses (comments, trailing commas, NaN) is refused here, with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from recalltune.errors import SourceError

__all__ = ["Member", "Node", "parse_spans"]

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_DEEPEST = 100


@dataclass(frozen=True)
class Node:
    """One value and where it stands."""

    kind: str
    """object, array, string, number or word (true, false, null)."""
    start: int
    end: int
    value: Any = None
    """The value of a string, number or word."""
    members: tuple[Member, ...] = ()
    """What an object holds, in file order."""
    children: tuple[Node, ...] = field(default=(), repr=False)
    """What an array holds."""

    def get(self, key: str) -> Node | None:
        """Return the value under a key; the last one where it occurs twice, as JSON.parse does."""
        found = [member.node for member in self.members if member.key == key]
        return found[-1] if found else None

    @property
    def keys(self) -> list[str]:
        """The keys of an object, in file order."""
        return [member.key for member in self.members]


@dataclass(frozen=True)
class Member:
    """One key of an object with its value."""

    key: str
    start: int
    """Where the key's opening quote stands."""
    key_end: int
    node: Node


def parse_spans(text: str, where: str) -> Node:
    """Return the root node of a JSON text.

    Parameters
    ----------
    text
        The text, without a byte order mark.
    where
        What messages call it.

    Raises
    ------
    SourceError
        If the text is not JSON; the message starts with ``where:line``.

    Examples
    --------
    >>> root = parse_spans('{"a": [1, 2.50]}', "x.json")
    >>> root.keys, root.get("a").children[1].value
    (['a'], 2.5)
    """
    root = _Reader(text, where).value(_skip(text, 0), 0)
    rest = _skip(text, root.end)
    if rest < len(text):
        raise _Reader(text, where).refusal(rest, "the text goes on after its value")
    return root


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where

    def refusal(self, at: int, reason: str) -> SourceError:
        line = self.text.count("\n", 0, at) + 1
        if at >= len(self.text):
            reason = f"the file ends too early ({reason})"
        elif self.text.startswith(("//", "/*"), at):
            reason = "a comment; production reads the file with JSON.parse, which knows none"
        return SourceError(f"{self.where}:{line}: not JSON: {reason}")

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.refusal(at, f"nested deeper than {_DEEPEST}")
        opening = self.text[at : at + 1]
        if opening == "{":
            return self.object(at, depth)
        if opening == "[":
            return self.array(at, depth)
        if opening == '"':
            end, value = self.string(at)
            return Node("string", at, end, value)
        if number := _NUMBER.match(self.text, at):
            whole = number.group(1) is None and number.group(2) is None
            # Python refuses to read whole numbers of thousands of digits; JSON.parse does not.
            size = float(number.group())
            exact = int(size) if whole and abs(size) < 2**53 else size
            return Node("number", at, number.end(), exact)
        for word, meaning in _WORDS.items():
            if self.text.startswith(word, at):
                return Node("word", at, at + len(word), meaning)
        raise self.refusal(at, f"a value is expected, got {self.text[at : at + 10]!r}")

    def string(self, at: int) -> tuple[int, str]:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self.refusal(at, "a text in double quotes is expected")
        return found.end(), str(json.loads(found.group()))

    def object(self, at: int, depth: int) -> Node:
        members = []
        for start in self.elements(at, "}"):
            key_end, key = self.string(start)
            colon = _skip(self.text, key_end)
            if self.text[colon : colon + 1] != ":":
                raise self.refusal(colon, f"a colon is expected after {key!r}")
            node = self.value(_skip(self.text, colon + 1), depth + 1)
            members.append(Member(key, start, key_end, node))
            self.end = node.end
        return Node("object", at, self.end, members=tuple(members))

    def array(self, at: int, depth: int) -> Node:
        children = []
        for start in self.elements(at, "]"):
            children.append(self.value(start, depth + 1))
            self.end = children[-1].end
        return Node("array", at, self.end, children=tuple(children))

    def elements(self, at: int, closing: str) -> Iterator[int]:
        """Yield where each element starts; who reads it leaves its end in ``self.end``."""
        here = _skip(self.text, at + 1)
        if self.text[here : here + 1] != closing:
            while True:
                yield here
                here = _skip(self.text, self.end)
                if self.text[here : here + 1] == closing:
                    break
                if self.text[here : here + 1] != ",":
                    raise self.refusal(here, f"a comma or {closing} is expected")
                here = _skip(self.text, here + 1)
        self.end = here + 1
