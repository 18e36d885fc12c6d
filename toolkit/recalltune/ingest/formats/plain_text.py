"""A conversation in plain text: lines that open with ``User:`` or ``Assistant:`` begin a turn.

Speakers, in any case: ``User``, ``Human``, 用户 and 我 are the user, ``Assistant``, ``AI``, ``Bot``
and 助手 the assistant. What stands under ``System`` (系统) is left out by reason, and so are words
before the first speaker. The colon may be a full-width one. Such a line inside a fenced block is
text somebody quoted. There are no times.

A file is one if both sides speak in it and it does not merely hold some lines with a label: lines
that open with any other word and a colon (``Note:``), and lines before the first speaker, count
against it. Markdown files are never taken for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.markdown_shape import MARKDOWN_SUFFIXES
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import read_document

__all__ = ["FORMAT"]

NAME = "plain_text"
_ROLES = {
    **dict.fromkeys(("user", "human", "用户", "用戶", "我"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "助手"), "assistant"),
    **dict.fromkeys(("system", "系统", "系統"), "system"),
}
_LABEL = re.compile(r"(\w{1,20})[:：](?!//)")
_FENCES = ("```", "~~~")
_ENOUGH = 0.5


@dataclass
class _Turn:
    """Lines of one speaker."""

    line: int
    role: str
    lines: list[str] = field(default_factory=list)


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one file, of scope ``plain_text:<the file's name without its ending>``."""
    text, repaired = read_document(source.path)
    if repaired:
        parsed.notes["bytes that are not UTF-8, replaced by U+FFFD"] += 1
    session = str(PurePosixPath(source.inside.removesuffix(".gz")).with_suffix(""))
    for place, turn in enumerate(_turns(_lines(text))):
        said = "\n".join(turn.lines).strip()
        if turn.role == "":
            if said:
                parsed.drop("words before the first speaker", turn.line)
        elif turn.role == "system":
            parsed.drop("not a message: system", turn.line)
        elif not said:
            parsed.drop("empty text", turn.line)
        else:
            parsed.say(
                f"{NAME}:{source.file}#{turn.line}",
                session=session,
                seq=place,
                role=turn.role,
                text=said,
                said_at=None,
                line=turn.line,
                raw=said,
                scope=f"{NAME}:{session}",
            )


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n")]


def _turns(lines: Sequence[str]) -> Iterator[_Turn]:
    """What each speaker says, in order; before the first one, nobody does."""
    turn = _Turn(1, "")
    for number, (line, fenced) in enumerate(zip(lines, _fenced(lines), strict=True), start=1):
        label = None if fenced else _LABEL.match(line)
        role = _ROLES.get(label[1].casefold()) if label else None
        if label is None or role is None:
            turn.lines.append(line)
            continue
        yield turn
        turn = _Turn(number, role, [line[label.end() :]])
    yield turn


def _fenced(lines: Sequence[str]) -> Iterator[bool]:
    """Whether each line stands in a fenced block; a fence that nothing closes opens none."""
    last = {
        mark: max((n for n, line in enumerate(lines) if line.strip() == mark), default=-1)
        for mark in _FENCES
    }
    open_mark: str | None = None
    for number, line in enumerate(lines):
        mark = line.strip()[:3]
        if open_mark is None:
            if mark in _FENCES and last[mark] > number:
                open_mark = mark
            yield open_mark is not None
        else:
            yield True
            if line.strip() == open_mark:
                open_mark = None


def _fits(sample: Sample) -> float:
    if sample.source.suffix in MARKDOWN_SUFFIXES or b"\0" in sample.head:
        return 0.0
    counts = Counter[str]()
    lines = _lines(sample.text)
    for line, fenced in zip(lines, _fenced(lines), strict=True):
        label = None if fenced else _LABEL.match(line)
        role = _ROLES.get(label[1].casefold()) if label else None
        before = line.strip() and not (counts["user"] or counts["assistant"] or counts["system"])
        counts[role or ("against" if label or before else "")] += 1
    if not counts["user"] or not counts["assistant"]:
        return 0.0
    spoken = counts["user"] + counts["assistant"] + counts["system"]
    return spoken / (spoken + counts["against"])


FORMAT = Format(
    name=NAME,
    title="conversation in plain text (User: … Assistant: …)",
    suffixes=frozenset({".txt"}),
    fits=_fits,
    read=_read,
    # A folder holds other texts as well.
    wanted=lambda source: _fits(Sample(source)) >= _ENOUGH,
)
