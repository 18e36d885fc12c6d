"""Front matter of a Markdown file: YAML between two lines of three dashes.

Read event by event, so nothing is ever constructed but texts, lists and mappings: every scalar is
text, save the plain words of truth and of nothing. Anchors, aliases and tags are refused, and so
is a telling rule where no reader would look for it.

References
----------
YAML 1.2.2, https://yaml.org/spec/1.2.2/; PyYAML's events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from recalltune.errors import SourceError
from recalltune.ingest.attributes import attribute_name
from recalltune.ingest.gate import is_telling_rule, refuse_unread_rule

__all__ = ["MAX_FRONT_MATTER_BYTES", "split_front_matter"]

MAX_FRONT_MATTER_BYTES = 64 * 2**10
"""Longer front matter is refused."""

_MAX_DEPTH = 16
_FENCE = re.compile(r"---[ \t]*")
_ENTRY = re.compile(r"""["']?\w[\w ./-]{0,63}["']?[ \t]{0,8}:(?:[ \t].*)?""")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "none": None, "": None}
_TELLING = "told_at"


def split_front_matter(lines: list[str], file: str) -> tuple[dict[str, Any], int]:
    """Values of the front matter, and how many lines it takes (0 = there is none).

    Three dashes may also be a rule between paragraphs: front matter starts with a key on the line
    after them, and ends with three dashes.

    Parameters
    ----------
    lines
        Lines of the file without their ends.
    file
        Name for messages.

    Returns
    -------
    values
        By key, in their order: texts, lists and mappings of texts; plain ``true``, ``false``,
        ``null``, ``none``, ``~`` and nothing at all stand for what they say. An empty list is None.
    taken
        Lines up to and with the closing dashes.

    Raises
    ------
    SourceError
        If it is no YAML mapping; holds an anchor, alias or tag, or a key twice; is nested deeper
        than 16 levels or larger than 64 KiB; or holds a telling rule where it is not read.

    Examples
    --------
    >>> split_front_matter(["---", "layer: user", "tags: [a, 'b c']", "---", "# text"], "f.md")
    ({'layer': 'user', 'tags': ['a', 'b c']}, 4)
    """
    end = _end(lines, file)
    # A line on its own for the opening dashes keeps YAML's line numbers those of the file.
    text = "\n".join(["", *lines[1 : max(end - 1, 1)], ""])
    if not text.strip():
        return {}, end
    try:
        values = _Builder(yaml.parse(text, Loader=yaml.BaseLoader), file).mapping()
    except yaml.MarkedYAMLError as error:
        raise _refused(file, _line(error), str(error.problem or error.context)) from None
    except yaml.reader.ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        what = f"must be printable, got character {error.character}"
        raise _refused(file, number, what) from None
    return {key: None if value == [] else value for key, value in values.items()}, end


class _Builder:
    """Values from the events of one document."""

    def __init__(self, events: Iterator[yaml.Event], file: str) -> None:
        self._events = events
        self._file = file

    def mapping(self) -> dict[str, Any]:
        """Value of the only document."""
        next(self._events), next(self._events)  # The stream and the document begin.
        first = next(self._events)
        if not isinstance(first, yaml.MappingStartEvent):
            raise self._wrong(first, "must be 'key: value'")
        values: dict[str, Any] = self._value(first, 1)
        next(self._events)  # The document ends.
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._wrong(after, "must be one document")
        return values

    def _value(self, event: yaml.Event, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            raise self._wrong(event, f"must be plain, got an alias (*{event.anchor})")
        if event.anchor is not None:
            raise self._wrong(event, f"must be plain, got an anchor (&{event.anchor})")
        if event.tag is not None:
            raise self._wrong(event, f"must be plain, got a tag ({str(event.tag)[:60]})")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if depth > _MAX_DEPTH:
            raise self._wrong(event, f"must be nested at most {_MAX_DEPTH} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._value(item, depth + 1) for item in self._until(yaml.SequenceEndEvent)]
        values: dict[str, Any] = {}
        for named in self._until(yaml.MappingEndEvent):
            key = self._key(named, depth)
            if key in values:
                raise self._wrong(named, f"key {key[:60]!r} is given twice")
            values[key] = self._value(next(self._events), depth + 1)
        return values

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _key(self, event: yaml.Event, depth: int) -> str:
        if not isinstance(event, yaml.ScalarEvent) or not event.value:
            raise self._wrong(event, "must have texts as keys")
        self._value(event, depth)  # An anchor or a tag is no better on a key.
        key: str = event.value
        if is_telling_rule(key) and (depth > 1 or attribute_name(key) != _TELLING):
            raise self._wrong(event, f"key {key[:60]!r} is a telling rule where it is not read")
        return key

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text: str = event.value
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise self._wrong(event, "must be Unicode, got half a surrogate pair")
        if "\n" in text:
            refuse_unread_rule(text, f"{self._file}:{event.start_mark.line + 1}")
        plain = event.style is None
        return _WORDS.get(text.lower(), text) if plain else text

    def _wrong(self, event: yaml.Event, what: str) -> SourceError:
        return _refused(self._file, event.start_mark.line + 1, what)


def _end(lines: list[str], file: str) -> int:
    """Lines up to and with the closing dashes; 0 unless the file opens with front matter."""
    if len(lines) < 2 or not _FENCE.fullmatch(lines[0]):
        return 0
    if not (_ENTRY.fullmatch(lines[1].rstrip()) or _FENCE.fullmatch(lines[1])):
        return 0
    size = 0
    for number, line in enumerate(lines[1:], start=2):
        if _FENCE.fullmatch(line):
            if size > MAX_FRONT_MATTER_BYTES:
                what = f"must be at most {MAX_FRONT_MATTER_BYTES:,} bytes, got {size:,}"
                raise _refused(file, 1, what)
            return number
        size += len(line.encode()) + 1
    return 0


def _line(error: yaml.MarkedYAMLError) -> int:
    """Line where the fault begins: an open bracket or quote rather than where it was missed."""
    inside_block = (error.context or "").startswith("while parsing a block")
    marks = (error.problem_mark, error.context_mark)
    mark = next(filter(None, marks if inside_block else marks[::-1]))
    return int(mark.line) + 1


def _refused(file: str, line: int, what: str) -> SourceError:
    return SourceError(f"{file}:{line}: front matter {what}")
