"""Where in a text an agent's memories were put: tags, headers, lists.

In: the text of a turn. Out: kind and place of each block. Every pattern is bounded and every
character is looked at a few times, however many tags are opened and never closed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import re2

from recalltune.ingest.memory_lines import is_list_line, is_recall_line

__all__ = ["REMINDER", "find_blocks", "may_hold_blocks"]

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
_AFTER_TITLE = (":", "：", "(", "（", " (", " （", " -", " —", " ·")
_BRACKETS = (
    *(f"[{title}]" for title in _TITLES),
    *(f"【{title}】" for title in _TITLES),
    "【结论层】",
    "【结论层 ·",
    "【流水层】",
    "【流水层 ·",
)
_FENCES = ("```", "~~~")
_FENCE = re.compile(r"^[ \t]{0,40}(?:```|~~~)", re.MULTILINE)
# What a header, an item or a fence is told by stands in the first characters of its line.
_LOOK = 400

_NEAR = re2.compile(r"(?i)memor|system[-_]reminder|memos_context|记忆|结论层|流水层|\] {0,2}[×x]")

Place = tuple[str, int, int]


@dataclass(frozen=True)
class _Tag:
    start: int
    after: int
    kind: str
    weak: bool
    closed: int | None
    """Behind the first end of it that follows; None if there is none."""


def may_hold_blocks(text: str) -> bool:
    """Whether it is worth a look: quick, and never wrong about a no."""
    return _NEAR.search(text) is not None


def find_blocks(text: str) -> Iterator[Place]:
    """Kind and place [start, end) of each block, in order."""
    tags, fences = _tags(text), [found.start() for found in _FENCE.finditer(text)]
    starts = [tag.start for tag in tags]
    at, end, fence = 0, -1, ""
    while at < len(text):
        if at > end:
            end = _line_end(text, at)
        line = text[at : min(end, at + _LOOK)].strip()
        if fence or line.startswith(_FENCES):
            fence = _fence_after(line, fence)
            at = end + 1
            continue
        block = _headed(text, at, end, line) or _listed(text, at, end, line)
        place = bisect_left(starts, at)
        first = True
        while block is None and place < len(tags) and starts[place] < end:
            tag = tags[place]
            opens = first and not text[at : tag.start].strip()
            block = _tagged(text, end, tag, opens, fences)
            place, first = place + 1, False
        if block is None:
            at = end + 1
        else:
            yield block
            at = block[2]


def _tags(text: str) -> list[_Tag]:
    """Opening tags in order, each with the end it has."""
    found: list[_Tag] = []
    ends: dict[str, int] = {}
    for tag in reversed(list(_TAG.finditer(text))):
        name = tag[2].lower()
        if tag[1]:
            ends[name] = tag.end()
        elif not (name in _WEAK and tag[3]):
            kind, weak = _TAGS[name], name in _WEAK
            found.append(_Tag(tag.start(), tag.end(), kind, weak, ends.get(name)))
    return found[::-1]


def _tagged(text: str, end: int, tag: _Tag, opens: bool, fences: list[int]) -> Place | None:
    """The block a tag opens on a line that ends at ``end``; ``opens``: it stands first on it."""
    if text[tag.start - 1 : tag.start] == "`" and tag.start:
        return None
    if tag.weak:
        alone = text[tag.after : tag.after + _LOOK].lstrip(" \t\r")[:1] in ("", "\n")
        return (tag.kind, tag.start, tag.closed) if opens and alone and tag.closed else None
    if tag.closed is None:
        return (tag.kind, tag.start, _paragraph_end(text, end)) if opens else None
    if not opens and bisect_left(fences, tag.closed) > bisect_left(fences, tag.start):
        return None
    return tag.kind, tag.start, tag.closed


def _headed(text: str, at: int, end: int, line: str) -> Place | None:
    """The block under a header: a list, or after one in brackets else a paragraph."""
    bracketed = line[:40].lower().startswith(_BRACKETS)
    if not bracketed and not _is_title(line):
        return None
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
    known = (title.removeprefix(one) for one in _TITLES if title.startswith(one))
    return any(not rest or rest.startswith(_AFTER_TITLE) for rest in known)


def _listed(text: str, at: int, end: int, line: str) -> Place | None:
    return (LISTED, at, _list_end(text, end + 1, end)) if is_recall_line(line) else None


def _list_end(text: str, at: int, stop: int = 0) -> int:
    """End of a list that goes on at ``at``: its items, and lines set in or marked ``↳``.

    ``stop`` is where it ends if it does not.
    """
    while at < len(text):
        end = _line_end(text, at)
        line = text[at : min(end, at + _LOOK)]
        if line.strip():
            if not (is_list_line(line) or line.startswith(("  ", "\t", "↳"))):
                return stop
            stop = end
        elif not is_list_line(text[end + 1 : end + 1 + _LOOK].split("\n", 1)[0]):
            return stop
        at = end + 1
    return stop


def _paragraph_end(text: str, stop: int) -> int:
    """End of the paragraph of the line that ends at ``stop``, and of lists after a blank line."""
    at = stop + 1
    while at < len(text):
        end = _line_end(text, at)
        if text[at:end].strip():
            stop = end
        elif not is_list_line(text[end + 1 : end + 1 + _LOOK].split("\n", 1)[0]):
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
    rest = line.lstrip(line[0])
    return line[: len(line) - len(rest)] if line[0] not in rest else ""
