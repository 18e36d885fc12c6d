"""Which memories a block of text or a search result shows, and with what scores.

In: lines as memory plugins write them, or the JSON a search tool returns. Out: ids and scores in
the order shown, which is best first. Only what is visible is taken; production shows some ids cut
to eight characters, and they stay as they are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Shown", "is_list_line", "is_recall_line", "shown_in_lines", "shown_in_records"]

_ID = (
    r"(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{8,64}"
    r"|mem[_-][A-Za-z0-9_-]{1,64})"
)
_SCORE = r"[01](?:\.\d{1,17})?"
# dsh-auto-memory:  · MEMORY.md [e5f6g7h8] ×0.79 text
_TIMES = re.compile(
    rf"[·•✗]\s{{0,4}}[^\[\]\n]{{0,200}}\[([A-Za-z0-9_.:-]{{4,64}})\] {{0,2}}[×x]({_SCORE})(?![\d.])"
)
# RecallNest:  1  a1b2c3d4 91%   cc …   and   1. a1b2c3d4 | 91% | cc …
_ROW = re.compile(rf"#?\d{{1,4}}[.)]?\s{{1,4}}({_ID})\s{{1,4}}(?:\|\s?)?(\d{{1,3}})%")
# memory-lancedb-pro's tool:  1. [id] [category] text
_BRACKET = re.compile(rf"(?:\d{{1,4}}[.)]|[-*·•])\s{{1,4}}\[({_ID})\]")
# … and what it injects:  - [category:scope] text (69%, vector+BM25)
_PERCENT = re.compile(r"\((\d{1,3})%(?:, ?[A-Za-z0-9+ ]{1,60})?\)\s{0,4}\Z")
_ITEM = re.compile(r"(?:\d{1,4}[.)]|[-*•✗])\s|·")
_ELEMENT = re.compile(r"<(?:memory|item|fact)\s")
_NAMED = re.compile(r"""\b([A-Za-z_]{2,20})=["']([^"'\n]{1,200})["']""")
# OpenClaw:  Source: memory/2026-02-23.md#L5-L8
_LINES = re.compile(r"#L\d{1,7}(?:-L?\d{1,7})?")
_LABELLED = re.compile(rf"\bscore\W{{1,4}}({_SCORE})(?![\d.])", re.IGNORECASE)
_PATH_ENDS = " \t\"'`()[]<>|,;"
_LONGEST_PATH = 300
_LONGEST_LINE = 2_000

_LISTS = ("results", "memories", "hits", "items", "matches")
_IDS = ("memory_id", "memoryId", "id")
_SCORES = ("score", "similarity", "relevance", "confidence")


@dataclass(frozen=True)
class Shown:
    """Memories that were shown, best first."""

    ids: tuple[str, ...] = ()
    """Each once, where it stands first."""
    scores: tuple[float, ...] = ()
    """One for each id, or none; where no id is visible, those of the lines that have one."""


def shown_in_lines(text: str) -> Shown:
    """Ids and scores visible in the lines of a block, in any of the known forms."""
    return _shown(_row(line[:_LONGEST_LINE].strip()) for line in text.split("\n"))


def shown_in_records(document: Any) -> Shown | None:
    """Ids and scores of a JSON result; None if it is none that lists memories.

    A list, or an object with one under ``results``, ``memories``, ``hits``, ``items`` or
    ``matches``. A memory is an object with an id, or with ``path``, ``startLine`` and ``endLine``;
    either may stand one level down, under ``entry`` or ``memory``.
    """
    if isinstance(document, Mapping):
        document = next((document[k] for k in _LISTS if isinstance(document.get(k), list)), None)
    if not isinstance(document, list):
        return None
    shown = _shown(map(_of_record, document))
    return shown if shown.ids or not document else None


def is_list_line(line: str) -> bool:
    """Whether a line is an item of a list."""
    return _ITEM.match(line.lstrip()) is not None


def is_recall_line(line: str) -> bool:
    """Whether a line lists a memory as dsh-auto-memory does, which no one writes by hand."""
    return _TIMES.match(line.lstrip()) is not None


def _shown(rows: Iterator[tuple[str | None, float | None]]) -> Shown:
    scores: dict[str, float | None] = {}
    nameless: list[float] = []
    for memory_id, score in rows:
        if memory_id is not None:
            if scores.setdefault(memory_id, score) is None:
                scores[memory_id] = score
        elif score is not None:
            nameless.append(score)
    if not scores:
        return Shown((), tuple(nameless))
    told = [score for score in scores.values() if score is not None]
    return Shown(tuple(scores), tuple(told) if len(told) == len(scores) else ())


def _row(line: str) -> tuple[str | None, float | None]:
    """Id and score a line shows, None for what it does not."""
    if found := _TIMES.match(line):
        return found[1], float(found[2])
    if found := _ROW.match(line):
        return found[1], _share(found[2])
    percent = _PERCENT.search(line[-80:])
    score = _share(percent[1]) if percent else None
    if found := _BRACKET.match(line):
        return found[1], score
    if _ELEMENT.match(line):
        named = {name.lower(): value for name, value in _NAMED.findall(line)}
        told = next((named[key] for key in _SCORES if key in named), "")
        memory_id = named.get("id") or named.get("memory_id")
        return memory_id, float(told) if re.fullmatch(_SCORE, told) else None
    if (place := line.find("#L")) > 0 and (found := _LINES.match(line, place)):
        before = line[max(0, place - _LONGEST_PATH) : place]
        path = before[max(map(before.rfind, _PATH_ENDS)) + 1 :]
        labelled = _LABELLED.search(line)
        told_score = float(labelled[1]) if labelled else score
        return (path + found[0], told_score) if path else (None, None)
    return None, score if is_list_line(line) else None


def _share(percent: str) -> float | None:
    return int(percent) / 100 if int(percent) <= 100 else None


def _of_record(record: Any) -> tuple[str | None, float | None]:
    if not isinstance(record, Mapping):
        return None, None
    inner = (record[key] for key in ("entry", "memory") if isinstance(record.get(key), Mapping))
    both: dict[str, Any] = {**next(inner, {}), **record}
    memory_id = next((both[key] for key in _IDS if isinstance(both.get(key), str)), None)
    if memory_id is None and isinstance(both.get("path"), str):
        start, end = both.get("startLine"), both.get("endLine")
        if isinstance(start, int) and isinstance(end, int):
            memory_id = f"{both['path']}#L{start}-L{end}"
    score = next((both[key] for key in _SCORES if _is_number(both.get(key))), None)
    return memory_id or None, None if score is None else float(score)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
