"""Wikilinks, inline tags and headings of a note, outside its code.

One pass, one line at a time, in time linear in the text. Code is what stands in a fenced block or
between equal runs of backticks on one line; an indented line is text, as lists indent theirs.

References
----------
Obsidian Help, "Internal links" and "Tags".
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

__all__ = ["Marks", "heading_of", "link_targets", "read_marks", "tag_of_link", "unique_tags"]

_MAX_LINK_CHARS = 500
"""What stands longer between two pairs of brackets is no link."""

_NOTES = (".md", ".markdown")
_PICTURES = (".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")
_SOUNDS = (".3gp", ".flac", ".m4a", ".mkv", ".mov", ".mp3", ".mp4", ".ogg", ".ogv", ".wav", ".webm")
_FILES = (*_PICTURES, *_SOUNDS, ".base", ".canvas", ".pdf")
"""Endings of what a vault holds beside notes."""


@dataclass
class Marks:
    """What one note points at and is filed under, each in the order of the text."""

    links: list[str] = field(default_factory=list)
    """Names of the notes it links to or embeds."""
    files: list[str] = field(default_factory=list)
    """Names of pictures, papers, canvases and the like it links to or embeds."""
    tags: list[str] = field(default_factory=list)
    """Inline tags, without ``#``."""
    headings: list[str] = field(default_factory=list)
    title: str | None = None
    """The first heading of level one."""


def read_marks(lines: Sequence[str]) -> Marks:
    """Marks of a note.

    Parameters
    ----------
    lines
        Lines of its body without their ends.

    Examples
    --------
    >>> found = read_marks(["# Pump", "See [[seals/Team Goals#Q2|goals]] `[[x]]` #q2 #7"])
    >>> found.links, found.tags, found.title
    (['Team Goals'], ['q2'], 'Pump')
    """
    found = Marks()
    for line in _outside_fences(lines):
        text, targets = _without_links(_without_code(line))
        for target in targets:
            _add_link(found, target)
        if "#" in text:
            found.tags += filter(None, map(_tag, text.split()))
        level, heading = heading_of(line)
        if heading:
            found.headings.append(heading)
        if level == 1 and heading and found.title is None:
            found.title = heading
    return found


def heading_of(line: str) -> tuple[int, str]:
    """Level of a heading, 1 to 6, and its text; 0 for a line that is none.

    Examples
    --------
    >>> heading_of("## C# ##"), heading_of("#tag")
    ((2, 'C#'), (0, ''))
    """
    level = len(line) - len(line.lstrip("#"))
    if not 1 <= level <= 6 or line[level : level + 1] not in (" ", "\t"):
        return 0, ""
    text = line[level:].strip()
    bare = text.rstrip("#")
    return level, bare.rstrip() if not bare or bare[-1] in " \t" else text


def link_targets(text: str) -> Iterator[str]:
    """Return the names of notes that wikilinks in one line of text lead to."""
    marks = Marks()
    for target in _without_links(text)[1]:
        _add_link(marks, target)
    yield from marks.links


def tag_of_link(target: str) -> str:
    """Tag that says that a note links to another: each run of blanks is one hyphen.

    Examples
    --------
    >>> tag_of_link("Team Goals")
    'link:Team-Goals'
    """
    return f"link:{'-'.join(target.split())}"


def unique_tags(tags: Iterable[str]) -> list[str]:
    """Tags without those that differ from an earlier one in case alone."""
    kept: dict[str, str] = {}
    for tag in tags:
        kept.setdefault(tag.casefold(), tag)
    return list(kept.values())


def _outside_fences(lines: Sequence[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        mark = line.lstrip()
        if not fence and mark.startswith(("```", "~~~")):
            fence = mark[: len(mark) - len(mark.lstrip(mark[0]))]
        elif fence:
            # Only marks of the same kind, and at least as many, end it.
            if mark.startswith(fence) and not mark.rstrip().strip(fence[0]):
                fence = ""
        else:
            yield line


def _without_code(line: str) -> str:
    """Line with a blank for each code span; a run of backticks that nothing closes is text."""
    if "`" not in line:
        return line
    runs: list[tuple[int, int]] = []
    by_length: dict[int, list[int]] = {}
    at = line.find("`")
    while at >= 0:
        end = at
        while line[end : end + 1] == "`":
            end += 1
        by_length.setdefault(end - at, []).append(len(runs))
        runs.append((at, end))
        at = line.find("`", end)
    kept, place, run = [], 0, 0
    while run < len(runs):
        start, end = runs[run]
        peers = by_length[end - start]
        later = bisect_right(peers, run)
        if later == len(peers):
            run += 1
            continue
        kept.append(line[place:start])
        run, place = peers[later] + 1, runs[peers[later]][1]
    return " ".join([*kept, line[place:]])


def _without_links(line: str) -> tuple[str, list[str]]:
    """Line with a blank for each wikilink, and what stood in them."""
    kept, targets, place = [], [], 0
    start = line.find("[[")
    while start >= 0 and (end := line.find("]]", start + 2)) >= 0:
        # The innermost pair of brackets is the link.
        start = line.rfind("[[", start, end)
        if end - start - 2 <= _MAX_LINK_CHARS:
            kept.append(line[place:start])
            targets.append(line[start + 2 : end])
            place = end + 2
        start = line.find("[[", end + 2)
    return " ".join([*kept, line[place:]]), targets


def _add_link(found: Marks, inner: str) -> None:
    path = inner.split("|", 1)[0].split("#", 1)[0].split("^", 1)[0].rstrip("\\")
    name = " ".join(path.replace("\\", "/").split("/")[-1].split())
    if name.casefold().endswith(_FILES):
        found.files.append(name)
        return
    for ending in _NOTES:
        name = name[: -len(ending)] if name.casefold().endswith(ending) else name
    # [[#Heading]] stays in the note, and a name without a letter leads nowhere.
    if any(letter.isalnum() for letter in name):
        found.links.append(name)


def _tag(word: str) -> str | None:
    """Tag a word is, up to the first character that none may hold; digits alone are no tag."""
    if not word.startswith("#"):
        return None
    tag = "".join(takewhile(_may_stand_in_tag, word[1:])).strip("/")
    return tag if any(letter not in "_-/" for letter in tag) and not tag.isdigit() else None


def _may_stand_in_tag(letter: str) -> bool:
    # Letters, digits and the signs that belong to them, and pictures.
    kind = unicodedata.category(letter)
    return letter in "_-/" or kind[0] in "LMN" or kind == "So"
