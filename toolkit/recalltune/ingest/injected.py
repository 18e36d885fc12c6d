"""Memories an agent put into its own prompt: taken out of what was said, and read as a search.

In: the text of a turn, or the result of a tool. Out: what remains of it, and which memories it
shows. An import that kept such blocks would remember what was recalled as if it were said again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from recalltune.ingest.memory_lines import (
    Shown,
    is_list_line,
    is_recall_line,
    shown_in_lines,
    shown_in_records,
)
from recalltune.ingest.reader import decode_json

__all__ = ["Block", "Injected", "search_results", "take_injected"]

REMINDER, MEMORIES, HEADED, LISTED = "system reminder", "memory tag", "memory header", "memory list"
_TAGS = {
    "system-reminder": REMINDER,
    "system_reminder": REMINDER,
    **dict.fromkeys(
        (
            "relevant-memories",
            "relevant_memories",
            "recalled-memories",
            "recalled_memories",
            "retrieved-memories",
            "retrieved_memories",
            "memory-context",
            "memory_context",
            "memory-recall",
            "memory_recall",
            "memos_context",
            "memories",
            "memory",
        ),
        MEMORIES,
    ),
}
# Also an element of other people's XML: alone on its line, without attributes, and closed.
_WEAK = ("memory", "memories")
_TAG = re.compile(
    rf"<(/?)({'|'.join(sorted(_TAGS, key=len, reverse=True))})(\s[^<>\n]{{0,200}})?>",
    re.IGNORECASE | re.ASCII,
)
_TITLES = (
    "relevant memories",
    "recalled memories",
    "retrieved memories",
    "memory recall",
    "相关记忆",
    "相关记忆召回",
    "记忆召回",
)
_AFTER_TITLE = ("", ":", "：", "(", "（", " (", " （", " -", " —", " ·")
_BRACKETS = (
    *(f"[{title}]" for title in _TITLES),
    *(f"【{title}】" for title in _TITLES),
    "【结论层】",
    "【结论层 ·",
    "【流水层】",
    "【流水层 ·",
)
_FENCES = ("```", "~~~")
# Two blank lines: what stood around a block must not grow together into another one.
_SEAM = "\n\n\n"

_TOOLS = frozenset(
    ("search_memory", "memory_search", "search_memories", "memory_recall", "recall_memory", "recall")
)
_EMPTY = ("no results found", "no relevant memories found", "no memories found", "没有找到相关记忆")


@dataclass(frozen=True)
class Block:
    """One block of memories, as it stood in the text."""

    kind: str
    """``system reminder``, ``memory tag``, ``memory header`` or ``memory list``."""
    text: str
    ids: tuple[str, ...] = ()
    """Memories visible in it, best first."""
    scores: tuple[float, ...] = ()
    """One for each id, or none; where no id is visible, those of the lines that have one."""


@dataclass(frozen=True)
class Injected:
    """A text without the memories that were put into it."""

    text: str
    """What remains, stripped; two blank lines where a block was taken out of the middle."""
    blocks: tuple[Block, ...]


def take_injected(text: str) -> Injected:
    """Take blocks of memories and system reminders out of a text.

    Taken are: a tag of the table with its end, wherever it stands; a tag at the start of a line
    that is never closed, to the next blank line after which the list does not go on; a header of
    the table with what follows, which is a list, or after a header in brackets else a paragraph;
    lines such as ``· MEMORY.md [e5f6g7h8] ×0.79 …``. Between a tag and its end there may be no
    other opening of it. Left are: what stands in a fenced block, a tag right behind a backtick, and
    ``<memory>`` inside a line, with attributes, or unclosed. All rules look at lines without their
    outer blanks; a line goes on after a block as a new line.

    Parameters
    ----------
    text
        What a turn says.

    Returns
    -------
    Injected
        The remains and the blocks hold every word of the text. Taking again takes nothing.

    Examples
    --------
    >>> found = take_injected("<relevant-memories>\n- [fact:global] tea (71%)\n"
    ...                       "</relevant-memories>\n\nAnd coffee?")
    >>> found.text, found.blocks[0].kind, found.blocks[0].scores
    ('And coffee?', 'memory tag', (0.71,))
    """
    spans = list(_spans(text))
    if not spans:
        return Injected(text.strip(), ())
    edges = [0, *(edge for _, *span in spans for edge in span), len(text)]
    pieces = [text[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True)]
    blocks: list[Block] = []
    for kind, start, end in spans:
        told = text[start:end].strip()
        shown = Shown() if kind == REMINDER else shown_in_lines(told)
        blocks.append(Block(kind, told, shown.ids, shown.scores))
    return Injected(_SEAM.join(filter(None, pieces)), tuple(blocks))


def search_results(tool_name: str, result_text: str) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Ids and scores that a search of the memory returned; None if that is not what it is.

    Parameters
    ----------
    tool_name
        As the transcript has it; what stands before the last ``__``, ``.``, ``:`` or ``/`` names
        the server.
    result_text
        What the tool returned: JSON, or lines.

    Returns
    -------
    tuple or None
        Ids best first, and a score for each or none. Both are empty where it says that nothing was
        found; None where the tool is no memory search, or no id is visible in what it returned.

    Examples
    --------
    >>> search_results("mcp__recallnest__search_memory", "1  a1b2c3d4 91%   cc   2026-03-16 vector")
    (('a1b2c3d4',), (0.91,))
    """
    name = re.split(r"__|[.:/]", tool_name[-200:])[-1].replace("-", "_").lower()
    if name not in _TOOLS:
        return None
    told = result_text.strip()
    if told.lower().startswith(_EMPTY):
        return (), ()
    shown: Shown | None = None
    if told.startswith(("{", "[")):
        try:
            shown = shown_in_records(decode_json(told, Counter()))
        except ValueError:
            pass  # A list of lines may begin with a bracket too.
        else:
            return None if shown is None else (shown.ids, shown.scores)
    shown = shown_in_lines(told)
    return (shown.ids, shown.scores) if shown.ids else None


@dataclass(frozen=True)
class _Tag:
    start: int
    after: int
    kind: str
    weak: bool
    end: int | None
    """Where the block ends that it opens; None if it is never closed."""


def _tags(text: str) -> list[_Tag]:
    """Opening tags in order, each with the end it has."""
    found: list[_Tag] = []
    ends: dict[str, int | None] = {}
    for tag in reversed(list(_TAG.finditer(text))):
        name = tag[2].lower()
        if tag[1]:
            ends[name] = tag.end()
        else:
            weak = name in _WEAK
            if not (weak and tag[3]):
                found.append(_Tag(tag.start(), tag.end(), _TAGS[name], weak, ends.get(name)))
            ends[name] = None
    return found[::-1]


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind and place of each block."""
    tags = _tags(text)
    starts = [tag.start for tag in tags]
    at, fence = 0, ""
    while at < len(text):
        end = _line_end(text, at)
        line = text[at:end].strip()
        if fence or line.startswith(_FENCES):
            fence = _fence_after(line, fence)
            at = end + 1
            continue
        block = _headed(text, at, line) or _listed(text, at, line)
        if block is None:
            within = tags[bisect_left(starts, at) : bisect_left(starts, end)]
            block = next(filter(None, (_tagged(text, at, end, tag) for tag in within)), None)
        if block is None:
            at = end + 1
        else:
            yield block
            at = block[2]


def _tagged(text: str, at: int, end: int, tag: _Tag) -> tuple[str, int, int] | None:
    """The block a tag opens on the line [at, end)."""
    if text[tag.start - 1 : tag.start] == "`":
        return None
    first = not text[at : tag.start].strip() if tag.weak or tag.end is None else True
    if tag.weak and (tag.end is None or text[tag.after : end].strip()):
        return None
    if not first:
        return None
    stop = tag.end if tag.end is not None else _paragraph_end(text, end)
    return tag.kind, tag.start, stop


def _headed(text: str, at: int, line: str) -> tuple[str, int, int] | None:
    """The block under a header: a list, or after one in brackets else a paragraph."""
    bracketed = line[:40].lower().startswith(_BRACKETS)
    if not bracketed and not _is_title(line):
        return None
    end = _line_end(text, at)
    following = end + 1
    if not text[following : _line_end(text, following)].strip():
        following = _line_end(text, following) + 1
    if is_list_line(text[following : _line_end(text, following)]):
        return HEADED, at, _list_end(text, following)
    return (HEADED, at, _paragraph_end(text, end)) if bracketed else None


def _is_title(line: str) -> bool:
    title = line[:80].lstrip("#")
    level = len(line[:80]) - len(title)
    if not 1 <= level <= 6 or not title.startswith(" "):
        return False
    title = title.strip().lower()
    rest = next((title.removeprefix(one) for one in _TITLES if title.startswith(one)), None)
    return rest is not None and (not rest or rest.startswith(_AFTER_TITLE[1:]))


def _listed(text: str, at: int, line: str) -> tuple[str, int, int] | None:
    return (LISTED, at, _list_end(text, at)) if is_recall_line(line) else None


def _list_end(text: str, at: int) -> int:
    """End of the list that begins at ``at``: its items, and lines set in or marked ``↳``."""
    stop = at
    while at < len(text):
        end = _line_end(text, at)
        line = text[at:end]
        if line.strip():
            if not (is_list_line(line) or line.startswith(("  ", "\t")) or line.startswith("↳")):
                return stop
            stop = end
        elif not is_list_line(text[end + 1 : _line_end(text, end + 1)]):
            return stop
        at = end + 1
    return stop


def _paragraph_end(text: str, at: int) -> int:
    """End of the paragraph, and of the list that goes on after its blank line."""
    stop = at
    at += 1
    while at < len(text):
        end = _line_end(text, at)
        if text[at:end].strip():
            stop = end
        elif not is_list_line(text[end + 1 : _line_end(text, end + 1)]):
            return stop
        at = end + 1
    return stop


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _fence_after(line: str, fence: str) -> str:
    """Mark of the fenced block that is open after this line."""
    if fence:
        closed = line.startswith(fence) and not line.strip(fence[0])
        return "" if closed else fence
    return line[: len(line) - len(line.lstrip(line[0]))]
