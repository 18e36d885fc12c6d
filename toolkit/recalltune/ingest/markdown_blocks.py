"""Lines of a Markdown file to blocks: list items, paragraphs, and sections headed by a time.

One pass, one line at a time, no nesting: what is indented under an item belongs to it, a fenced
block stays whole. A block is one memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Block", "markdown_blocks"]

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_TIMED = re.compile(r"(\d{1,2}):(\d{2})(?!\d)[ \t]*(.*)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?")
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")


@dataclass(frozen=True)
class Block:
    """One memory's worth of lines."""

    line: int
    """1-based number of its first line."""
    text: str
    heading: str | None
    """Text of the nearest heading above it."""
    minutes: int | None = None
    """Minutes since midnight, for a section headed ``## HH:MM``."""


@dataclass
class _Open:
    """The block being read."""

    line: int
    lines: list[str]
    heading: str | None
    kind: str  # "item", "paragraph" or "timed"
    minutes: int | None = None
    level: int = 0


def markdown_blocks(lines: Sequence[str], *, first: int, timed: bool) -> Iterator[Block]:
    """Blocks of a file in order.

    Parameters
    ----------
    lines
        Lines without their ends.
    first
        Index of the first line after the front matter.
    timed
        A heading that starts with HH:MM opens a section that is one block.
    """
    heading: str | None = None
    block: _Open | None = None
    fence: str | None = None
    for number in range(first, len(lines)):
        line = lines[number].rstrip()
        inside, fence = fence is not None, _fence_after(line, fence)
        literal = inside or fence is not None
        if not literal and (found := _HEADING.fullmatch(line)):
            level, title = len(found[1]), found[2].rstrip("# \t") or found[2]
            if block is not None and block.kind == "timed" and level > block.level:
                block.lines.append(title)
                continue
            yield from _closed(block)
            block, heading = None, title
            if timed and (clock := _clock(title)) is not None:
                minutes, heading = clock
                opening = [heading] if heading else []
                block = _Open(number + 1, opening, heading, "timed", minutes, level)
            continue
        if block is not None and (block.kind == "timed" or inside or _belongs(line, block)):
            block.lines.append(line)
            continue
        yield from _closed(block)
        block = None
        if literal:
            block = _Open(number + 1, [line], heading, "paragraph")
        elif item := _ITEM.fullmatch(line):
            block = _Open(number + 1, [item[1] or ""], heading, "item")
        elif line.strip() and not _RULE.fullmatch(line):
            block = _Open(number + 1, [line], heading, "paragraph")
    yield from _closed(block)


def _belongs(line: str, block: _Open) -> bool:
    """Whether a line goes on with the open item or paragraph."""
    if block.kind == "paragraph":
        return bool(line.strip()) and not _ITEM.fullmatch(line) and not _RULE.fullmatch(line)
    if not line.strip() or line.startswith(("  ", "\t")):
        return True
    after_blank = block.lines[-1] == "" and len(block.lines) > 1
    return not after_blank and not _ITEM.fullmatch(line) and not _RULE.fullmatch(line)


def _fence_after(line: str, fence: str | None) -> str | None:
    """Mark of the fenced block that is open after this line."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if fence is None:
        return mark[1]
    return None if line.strip().startswith(fence) else fence


def _closed(block: _Open | None) -> Iterator[Block]:
    if block is not None:
        yield Block(block.line, "\n".join(block.lines).strip(), block.heading, block.minutes)


def _clock(title: str) -> tuple[int, str | None] | None:
    """Minutes since midnight a heading starts with, and the rest of it."""
    found = _TIMED.match(title)
    if not found or int(found[1]) > 23 or int(found[2]) > 59:
        return None
    return int(found[1]) * 60 + int(found[2]), found[3].strip(" -–—:·") or None
