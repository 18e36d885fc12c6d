"""Front matter of a Markdown file: ``key: value`` between two lines of three dashes.

This is a small, safe part of YAML, read by hand: texts, quoted texts, true/false, null, numbers
and flat lists. Anchors, aliases, tags, block texts and nesting are refused by line.
"""

from __future__ import annotations

import re
from typing import Any

from recalltune.errors import SourceError

__all__ = ["split_front_matter"]

_MAX_LINES = 200
_FENCE = re.compile(r"---[ \t]*")
_ENTRY = re.compile(r"([A-Za-z_][\w-]{0,63}):(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "none": None}
_REFUSED = {
    "&": "an anchor",
    "*": "an alias",
    "!": "a tag",
    "|": "a block text",
    ">": "a block text",
    "{": "a nested mapping",
    "@": "a reserved character",
    "`": "a reserved character",
    "%": "a directive",
}


def split_front_matter(lines: list[str], file: str) -> tuple[dict[str, Any], int]:
    """Values of the front matter, and how many lines it takes (0 = there is none).

    Parameters
    ----------
    lines
        Lines of the file without their ends.
    file
        Name for messages.

    Raises
    ------
    SourceError
        If a line between the dashes is outside the supported part of YAML.

    Examples
    --------
    >>> split_front_matter(["---", "layer: user", "tags: [a, 'b c']", "---", "# text"], "f.md")
    ({'layer': 'user', 'tags': ['a', 'b c']}, 4)
    """
    end = _end(lines)
    values: dict[str, Any] = {}
    open_list: list[Any] | None = None
    for number in range(1, end - 1):
        line, where = lines[number].rstrip(), f"{file}:{number + 1}"
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if open_list is not None and (item := _ITEM.fullmatch(line)):
            open_list.append(_scalar(item[1].strip(), where))
            continue
        entry = _ENTRY.fullmatch(line)
        if not entry:
            msg = f"{where}: front matter must be 'key: value', got {line[:60]!r}"
            raise SourceError(msg)
        if entry[1] in values:
            msg = f"{where}: front matter key {entry[1]!r} is given twice"
            raise SourceError(msg)
        text = (entry[2] or "").strip()
        open_list = None if text else []
        values[entry[1]] = _value(text, where) if text else open_list
    return {key: None if value == [] else value for key, value in values.items()}, end


def _end(lines: list[str]) -> int:
    """Lines up to and with the closing dashes; 0 unless the file opens with front matter."""
    if len(lines) < 2 or not _FENCE.fullmatch(lines[0]):
        return 0
    # Three dashes may also be a rule between paragraphs: front matter starts with a key at once.
    if not (_ENTRY.fullmatch(lines[1].rstrip()) or _FENCE.fullmatch(lines[1])):
        return 0
    for number, line in enumerate(lines[1:_MAX_LINES], start=2):
        if _FENCE.fullmatch(line):
            return number
    return 0


def _value(text: str, where: str) -> Any:
    if text.startswith("["):
        if not text.endswith("]"):
            msg = f"{where}: a front matter list must end on its line, got {text[:60]!r}"
            raise SourceError(msg)
        inner = text[1:-1].strip()
        return [_scalar(part.strip(), where) for part in inner.split(",")] if inner else []
    return _scalar(text, where)


def _scalar(text: str, where: str) -> Any:
    if text[:1] in ("'", '"'):
        if len(text) < 2 or text[-1] != text[0] or text[0] in text[1:-1]:
            msg = f"{where}: a quoted front matter text must end with its quote, got {text[:60]!r}"
            raise SourceError(msg)
        return text[1:-1]
    if text[:1] in _REFUSED:
        what = _REFUSED[text[0]]
        msg = f"{where}: front matter must be plain 'key: value', got {what}: {text[:60]!r}"
        raise SourceError(msg)
    text = text.split(" #", 1)[0].rstrip()
    return _WORDS.get(text.lower(), text)
