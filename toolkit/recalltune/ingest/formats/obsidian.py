"""An Obsidian vault: one note, one memory, under ``obsidian:<path inside the vault>``.

Title: that of the front matter, else the first heading of level one, else the file's name; the
text starts with it in brackets, as a connector's does. Tags, in this order and without regard to
case once each: the front matter's, inline ones, the folders of the path, and ``link:Name`` for
each wikilink or embed of a note (its file name alone, each run of blanks a hyphen).

Time: the first of ``at``, ``date``, the day the note is named after, ``created`` that can be read
is the event; a note is known from the later of that and its last change (``updated``,
``modified``), since nobody can tell what it said before. A note without any is undated: the
file's own times are never used.

References
----------
Obsidian Help, "Properties", "Tags", "Internal links"; RecallNest, ``docs/connector-spec.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.attributes import Attributes
from recalltune.ingest.claim import Claim, claim_of
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.front_matter import split_front_matter
from recalltune.ingest.gate import may_hold_rule, refuse_unread_rule
from recalltune.ingest.kinds import NOT_MEMORIES, kind_of, path_parts
from recalltune.ingest.markdown_shape import MARKDOWN_SUFFIXES, markdown_shape, vault_of
from recalltune.ingest.note_fields import (
    first_of,
    note_aliases,
    note_attributes,
    note_moments,
    note_tags,
)
from recalltune.ingest.note_marks import heading_of, read_marks
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import read_document

__all__ = ["FORMAT"]

NAME = "obsidian"
_TEMPLATES = ("template", "templates")


@dataclass(frozen=True)
class _Place:
    """Where a note stands."""

    vault: str
    """Name of the vault's folder."""
    path: str
    """Path inside the vault, with forward slashes."""

    @property
    def memory_id(self) -> str:
        return f"{NAME}:{self.path}"

    @property
    def scope(self) -> str:
        return f"vault:{self.vault}"


def _read(source: Source, parsed: Parsed) -> None:
    """Memory of one note, of scope ``vault:<name of the vault>`` unless it names its own.

    Raises
    ------
    SourceError
        If the user named the file and its front matter cannot be read, or a telling rule stands
        where it is not read. In a walked folder such a note is dropped and the vault goes on; if
        it may have said that it was not told, then that is heard.
    """
    place = _place_of(source)
    if reason := _no_note(place):
        parsed.drop(reason, 1)
        return
    text, repaired = read_document(source.path)
    if repaired:
        parsed.notes["bytes that are not UTF-8, replaced by U+FFFD"] += 1
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    try:
        values, first = split_front_matter(lines, source.file)
        refuse_unread_rule("\n".join(lines[first:]), f"{source.file}:{first + 1}")
    except SourceError as error:
        if source.named:
            raise
        parsed.drop("note whose front matter cannot be read", _line_of(error, source.file))
        if may_hold_rule(text):
            parsed.claims.append(_claim("", Attributes(gated=True), place, source, parsed, 1))
        return
    claim = _remembered(lines, first, values, place, source, parsed)
    parsed.claims += [claim] if claim is not None else []
    parsed.full()


def _remembered(
    lines: list[str],
    first: int,
    values: Mapping[str, Any],
    place: _Place,
    source: Source,
    parsed: Parsed,
) -> Claim | None:
    """Memory of a note whose text starts at a line, counted from 0."""
    marks = read_marks(lines[first:])
    found = note_attributes(values, parsed.notes)
    at, known_at = note_moments(values, found, place.path, parsed.notes)
    while first < len(lines) and not lines[first].strip():
        first += 1
    body = "\n".join(lines[first:]).strip()
    if not body:
        parsed.drop("note without a text", 1)
        found = replace(found.telling(), at=at, known_at=known_at)
        return _claim("", found, place, source, parsed, 1) if found.gated else None
    title = found.fields.get("title") or marks.title or _stem(place.path)
    if heading_of(lines[first]) == (1, title):
        # The heading goes into the brackets, unless there is nothing else.
        body = "\n".join(lines[first + 1 :]).strip() or body
    kind = kind_of(place.path)
    fields = found.fields
    fields["title"] = title
    fields["layer"] = fields.get("layer") or parsed.settings.layer or kind.layer or "log"
    fields["origin"] = fields.get("origin") or kind.origin
    fields["tags"] = note_tags(values, marks, place.path, parsed.notes)
    meta = {
        "filePath": place.path,
        "frontmatter": dict(values),
        "aliases": note_aliases(values, parsed.notes),
        "headings": first_of(marks.headings, "heading", parsed.notes),
        "session_kind": kind.session_kind,
    }
    found.meta = {key: value for key, value in meta.items() if value}
    if marks.files:
        parsed.notes["picture or other file in a note, not read"] += len(marks.files)
    parsed.keep()
    if known_at != at:
        parsed.notes["note changed after its event: known from the change on"] += 1
    found = replace(found, at=at, known_at=known_at)
    return _claim(f"[{title}] {body}", found, place, source, parsed, first + 1)


def _claim(
    text: str, found: Attributes, place: _Place, source: Source, parsed: Parsed, line: int
) -> Claim:
    """Claim of a note; one without a text says no more than what it says of telling."""
    return claim_of(
        place.memory_id,
        parsed.text(text) if text else parsed.hash_of(text),
        found,
        scope=found.scope or parsed.settings.scope or place.scope,
        at=found.at,
        source=NAME,
        file=source.file,
        line=line,
        withheld=not text,
    )


def _no_note(place: _Place) -> str | None:
    """Why a Markdown file of a vault is no note, by its path."""
    *folders, name = path_parts(place.path)
    if any(folder.startswith(".") for folder in folders):
        return "in a hidden folder of the vault"
    if any(folder.casefold().strip("_0123456789. -") in _TEMPLATES for folder in folders):
        return "template, not a note"
    return "drawing, not a note" if name.casefold().endswith(".excalidraw.md") else None


def _place_of(source: Source) -> _Place:
    vault = vault_of(source)
    if vault is None:
        return _Place(source.file.split("/")[0], source.inside)
    path = source.path.relative_to(vault).as_posix()
    name, inside = (text.encode("utf-8", "replace").decode() for text in (vault.name, path))
    return _Place(name, inside)


def _stem(path: str) -> str:
    name = path_parts(path)[-1]
    return name.rsplit(".", 1)[0] or name


def _line_of(error: SourceError, file: str) -> int:
    number = str(error).removeprefix(f"{file}:").split(":", 1)[0]
    return int(number) if number.isdigit() else 1


def _fits(sample: Sample) -> float:
    return float(markdown_shape(sample) == NAME)


def _wanted(source: Source) -> bool:
    return markdown_shape(Sample(source)) == NAME and source.path.name not in NOT_MEMORIES


FORMAT = Format(
    name=NAME,
    title="Obsidian vault (Markdown notes)",
    suffixes=MARKDOWN_SUFFIXES,
    fits=_fits,
    read=_read,
    wanted=_wanted,
)
