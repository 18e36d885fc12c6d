"""What a note's front matter, its text and its path say of it: attributes, times, tags, aliases.

In: values of the front matter. Out: what a memory has columns for; the rest is for ``meta``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from recalltune.ingest.attributes import Attributes, attribute_name, read_attributes, tags_of
from recalltune.ingest.kinds import path_parts
from recalltune.ingest.moments import dated_name, read_moment
from recalltune.ingest.note_marks import Marks, link_targets, tag_of_link, unique_tags

__all__ = ["MAX_LISTED", "first_of", "note_aliases", "note_attributes", "note_moments", "note_tags"]

MAX_LISTED = 1000
"""Tags, aliases and headings kept of one note."""

_STATUSES = frozenset({"current", "superseded", "retracted"})
_TAGS = frozenset({"tag", "tags"})
_ALIASES = frozenset({"alias", "aliases"})
_CREATED = ("created", "created_at", "date_created", "created_date", "creation_date", "ctime")
_CHANGED = (
    "updated",
    "updated_at",
    "date_updated",
    "modified",
    "modified_at",
    "date_modified",
    "last_modified",
    "lastmod",
    "mtime",
)


def note_attributes(values: Mapping[str, Any], notes: Counter[str]) -> Attributes:
    """Attributes the front matter names; what it means for its own ends is for ``meta``."""
    own: dict[str, Any] = {}
    for key, value in values.items():
        name = attribute_name(key)
        if name == "status" and value is not None and str(value).lower() not in _STATUSES:
            notes["status of the note's own, kept in meta"] += 1
        elif name not in _TAGS | _ALIASES:
            own[key] = value
    return read_attributes(own, notes)


def note_moments(
    values: Mapping[str, Any], found: Attributes, path: str, notes: Counter[str]
) -> tuple[datetime | None, datetime | None]:
    """When a note happened, and from when on it is known to have said what it says.

    Parameters
    ----------
    values
        Front matter.
    found
        Its attributes; the times they name go first.
    path
        Path inside the vault.
    notes
        Counter that receives one count per assumption.
    """
    named = {attribute_name(key).replace(" ", "_"): (key, value) for key, value in values.items()}

    def first(*names: str) -> datetime | None:
        given = [named[name] for name in names if name in named]
        read = (read_moment(_plain(value), notes, what=key) for key, value in given)
        return next(filter(None, read), None)

    day = dated_name(path_parts(path)[-1], notes)
    at = found.at or first("date") or day or first(*_CREATED)
    return at, found.known_at or max(filter(None, (at, first(*_CHANGED))), default=None)


def note_tags(
    values: Mapping[str, Any], marks: Marks, path: str, notes: Counter[str]
) -> tuple[str, ...]:
    """Tags of a note: its front matter's, inline ones, its folders, and its links."""
    given = [tag.removeprefix("#") for tag in _listed(values, _TAGS, notes)]
    folders = ["-".join(folder.split()) for folder in path_parts(path)[:-1]]
    links = [target for text in _texts(values) for target in link_targets(text)] + marks.links
    tags = unique_tags([*filter(None, given), *marks.tags, *folders, *map(tag_of_link, links)])
    return tuple(first_of(tags, "tag", notes))


def note_aliases(values: Mapping[str, Any], notes: Counter[str]) -> list[str]:
    """Other names of a note; one text names several, by commas."""
    texts = {
        key: [name.strip() for name in value.split(",")] if isinstance(value, str) else value
        for key, value in values.items()
    }
    return first_of(list(_listed(texts, _ALIASES, notes)), "alias", notes)


def first_of(items: list[str], what: str, notes: Counter[str]) -> list[str]:
    """Return the first of many items; the others are counted."""
    if len(items) > MAX_LISTED:
        notes[f"{what} beyond the first {MAX_LISTED:,} of a note, not kept"] += (
            len(items) - MAX_LISTED
        )
    return items[:MAX_LISTED]


def _plain(value: Any) -> Any:
    """Value of a date that is written as a link: [[2026-05-14]], which YAML takes for lists."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value.strip("[]") if isinstance(value, str) else value


def _listed(values: Mapping[str, Any], names: frozenset[str], notes: Counter[str]) -> Iterator[str]:
    """Texts under any of some keys, given as a list or as one text; an empty item is none."""
    for key, value in values.items():
        if key.casefold() in names:
            items = [item for item in value if item] if isinstance(value, list) else value
            yield from tags_of(items, notes)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value of the front matter, which is nested a few levels at most."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)
