"""SpecStory's Markdown histories to turns: one record per header, ``_**User (time)**_``.

Thoughts and tool calls stand between tags of their own; they are left out and counted. A header
inside a fenced block or a tool's output is text somebody quoted. Only a header after a separator,
which SpecStory writes wherever the speaker changes, ends a fence that was left open.

References
----------
SpecStory CLI, ``pkg/markdown/markdown.go``: Markdown v2.1.0. Older files lack times and tags.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.kinds import kind_of
from recalltune.ingest.markdown_shape import MARKDOWN_SUFFIXES, markdown_shape
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import read_document
from recalltune.ingest.text_parts import why_nothing

__all__ = ["FORMAT"]

NAME = "specstory"
_ROLES = {"User": "user", "Agent": "assistant", "Assistant": "assistant", "": ""}
_HEADER = re.compile(r"_\*\*(User|Agent|Assistant|)( - sidechain)?(?: \(([^()]{1,200})\))?\*\*_")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?$")
_SESSION = re.compile(r"<!-- [^<>]{1,80} Session ([^\s<>]{1,200}) \([^()<>]{0,60}\) -->")
_MESSAGE_ID = re.compile(r"<!-- message-id: (\S{1,200}) -->")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,200}|~{3,200})[ \t]*(\S?)")
_TOOL, _THOUGHT, _FENCED, _SPEECH = "tool_use", "thinking", "fenced", "speech"
# SpecStory's own tags, which no fence hides: how a block opens, how it closes, what it is.
_BLOCKS = (
    ("<tool-use data-tool-type=", "</tool-use>", _TOOL),
    ("<think><details>", "</details></think>", _THOUGHT),
)
# Older files fold both into this one.
_DETAILS = ("<details", "</details>")
_EARLY_TOOL = "Tool use: **"


@dataclass
class _Message:
    """One header and what stands between it and the next."""

    line: int
    role: str
    sidechain: bool
    time: str | None
    session: str | None
    own_id: str | None = None
    lines: list[str] = field(default_factory=list)
    """Its speech."""
    parts: Counter[str] = field(default_factory=Counter)
    """How many blocks of other kinds it has."""

    def take(self, line: str, kind: str, opens: bool) -> None:
        """Take up one more line of a kind, which may open a block."""
        if kind in (_TOOL, _THOUGHT):
            self.parts[kind] += opens
        elif kind == _SPEECH and not self.lines and (named := _MESSAGE_ID.fullmatch(line.strip())):
            self.own_id = named[1]
        elif kind == _SPEECH and self.role == "assistant" and line.startswith(_EARLY_TOOL):
            self.parts[_TOOL] += 1
        elif self.lines or line.strip():
            self.lines.append(line)

    def said(self) -> str:
        """Its speech without the separator and the blank lines before the next header."""
        while self.lines and self.lines[-1].strip() in ("", "---"):
            self.lines.pop()
        return "\n".join(self.lines)


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one history, of scope ``specstory:<first 8 of the session id>``.

    A file that names no session is one of its own, under its file's name.
    """
    text, repaired = read_document(source.path)
    if repaired:
        parsed.notes["bytes that are not UTF-8, replaced by U+FFFD"] += 1
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    kind = kind_of(source.inside).session_kind or "interactive"
    for place, message in enumerate(_messages(lines, parsed)):
        words, parts = message.said(), message.parts
        if not words:
            parsed.drop(why_nothing(parts), message.line)
            continue
        if not message.role:
            parsed.drop("header without a speaker", message.line)
            continue
        session = message.session or str(PurePosixPath(source.inside).with_suffix(""))
        scope = message.session[:8] if message.session else session
        where = f"{session}/{message.own_id}" if message.own_id else f"{source.file}#{message.line}"
        parsed.say(
            f"{NAME}:{where}",
            session=f"{session}/sidechain" if message.sidechain else session,
            session_kind="subagent" if message.sidechain else kind,
            seq=place,
            role=message.role,
            text=words,
            said_at=read_moment(message.time, parsed.notes, what="time of a header"),
            line=message.line,
            raw=f"{message.time}\n{words}",
            scope=f"{NAME}:{scope}",
            sidechain=message.sidechain,
            parts=parts + Counter(text=1),
        )


def _messages(lines: Sequence[str], parsed: Parsed) -> Iterator[_Message]:
    """Messages of a file in order; words before the first header are a record nobody said."""
    session: str | None = None
    message: _Message | None = None
    stray: int | None = None
    for number, (line, (kind, opens)) in enumerate(zip(lines, _kinds(lines), strict=True), start=1):
        header = _HEADER.fullmatch(line.strip()) if kind == _SPEECH else None
        if header:
            if message is not None:
                yield message
            role, sidechain, inside = header.groups()
            time = _TIME.search(inside or "")
            message = _Message(
                number, _ROLES[role], sidechain is not None, time[0] if time else None, session
            )
        elif kind == _SPEECH and (named := _SESSION.fullmatch(line.strip())):
            session = named[1]
        elif message is not None:
            message.take(line, kind, opens)
        elif stray is None and line.strip() and not line.startswith(("<!--", "#", "---")):
            stray = number
    if stray is not None:
        parsed.drop("words before the first header", stray)
    if message is not None:
        yield message


def _kinds(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Of each line, what it is a part of, and whether it opens that.

    A fence or block that nothing closes is none.
    """
    longest = _longest_closing_fences(lines)
    ends = [end for _, end, _ in _BLOCKS] + [_DETAILS[1]]
    last = {
        end: max((n for n, line in enumerate(lines) if end in line), default=-1) for end in ends
    }
    kind, until = _SPEECH, ""
    for number, line in enumerate(lines):
        if kind == _FENCED and _after_separator(lines, number) and _HEADER.fullmatch(line.strip()):
            kind = _SPEECH
        opened = None
        if kind in (_SPEECH, _FENCED):
            opened = _opened(line, number, lines, last, fenced=kind == _FENCED)
        if opened is not None:
            kind, until = opened
        elif kind == _SPEECH and (fence := _FENCE.match(line)):
            mark = fence[1]
            if longest[mark[0]][number + 1] >= len(mark):
                kind, until = _FENCED, mark
                yield kind, True
                continue
        yield kind, opened is not None
        if kind != _SPEECH and _closes(line, kind, until):
            kind = _SPEECH


def _opened(
    line: str, number: int, lines: Sequence[str], last: dict[str, int], *, fenced: bool
) -> tuple[str, str] | None:
    """Kind and end of a block that a line opens and some line closes."""
    for start, end, kind in _BLOCKS:
        if line.startswith(start) and last[end] >= number:
            return kind, end
    start, end = _DETAILS
    if fenced or not line.startswith(start) or last[end] < number:
        return None
    summary = " ".join(lines[number : number + 3])
    if "<summary>" not in summary:
        return None
    return (_THOUGHT if "Thought Process" in summary else _TOOL), end


def _longest_closing_fences(lines: Sequence[str]) -> dict[str, list[int]]:
    """Length of the longest fence without a word after it, from each line on."""
    longest = {mark: [0] * (len(lines) + 1) for mark in "`~"}
    for number in range(len(lines) - 1, -1, -1):
        fence = _FENCE.match(lines[number])
        for mark, lengths in longest.items():
            closing = fence is not None and not fence[2] and fence[1][0] == mark
            here = len(fence[1]) if fence is not None and closing else 0
            lengths[number] = max(lengths[number + 1], here)
    return longest


def _closes(line: str, kind: str, until: str) -> bool:
    if kind != _FENCED:
        return until in line
    fence = _FENCE.match(line)
    return fence is not None and not fence[2] and fence[1].startswith(until)


def _after_separator(lines: Sequence[str], number: int) -> bool:
    above = [line for line in lines[max(0, number - 3) : number] if line.strip()]
    return bool(above) and above[-1].strip() == "---"


def _fits(sample: Sample) -> float:
    return float(markdown_shape(sample) == NAME)


FORMAT = Format(
    name=NAME,
    title="SpecStory history (Markdown)",
    suffixes=MARKDOWN_SUFFIXES,
    fits=_fits,
    read=_read,
    wanted=lambda source: markdown_shape(Sample(source)) == NAME,
)
