"""The keys by which a source says more about a memory than its text, the same in every format.

`sourceMetadata` of connector records, front matter and braces of Markdown files all come through
here. A key nobody knows stays in ``meta``; a value that cannot be used is counted and left out,
and never costs the memory. Whether something was told errs towards silence: a ``toldAt`` that
cannot be read means not told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recalltune.ingest.moments import read_moment

__all__ = [
    "ATTRIBUTE_NAMES",
    "CATEGORY_HINTS",
    "KNOWN_VALUES",
    "Attributes",
    "attribute_name",
    "category_of",
    "read_attributes",
    "share_of",
    "tags_of",
]

CATEGORY_HINTS: dict[str, str] = {
    "profile": "profile",
    "preferences": "preferences",
    "entities": "entities",
    "events": "events",
    "cases": "cases",
    "patterns": "patterns",
    "facts": "entities",
    "decisions": "cases",
    "knowledge": "patterns",
}
"""Category each connector hint stands for; another hint is kept as it is, and counted."""

_TEXTS = ("layer", "tier", "origin", "session", "project", "subject", "gist", "title", "reason")
_IDS = ("superseded_by", "duplicate_of")
_MOMENTS = ("superseded_at", "retracted_at", "valid_from", "valid_until")
_SHARES = ("confidence", "salience")
ATTRIBUTE_NAMES = (*_TEXTS, *_IDS, *_MOMENTS, *_SHARES, "category", "pinned", "tags")
"""Columns of ``memory`` that a source may name."""

KNOWN_VALUES: dict[str, tuple[str, ...]] = {
    "category": ("profile", "preferences", "entities", "events", "cases", "patterns"),
    "tier": ("core", "working", "peripheral"),
    "origin": ("owner", "agent", "self_life", "system", "untrusted"),
}
"""Values that are ours; others are kept as text, and counted."""
_STATUSES = {"current", "superseded", "retracted"}
_NOTHING = {"", "none", "null", "never"}
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SPELLINGS = {"by": "superseded_by", "importance": "salience", "timestamp": "at", "event_at": "at"}
# The counters a store keeps by itself are its own later history; a replay derives them as of t.
_DERIVED = ("access_count", "last_accessed_at", "recall_count", "hotness")


@dataclass
class Attributes:
    """What was said about one memory beyond its text."""

    fields: dict[str, Any] = field(default_factory=dict)
    """Values for `store.Memory`, under its names."""
    scope: str | None = None
    at: datetime | None = None
    """Event time the item itself names."""
    known_at: datetime | None = None
    """When it was known, if that is not when it happened."""
    gated: bool = False
    told_at: datetime | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    """Why the record cannot be used at all."""

    def telling(self) -> Attributes:
        """What a record that is left out says all the same: whether and when it was told."""
        return Attributes(
            scope=self.scope,
            at=self.at,
            known_at=self.known_at,
            gated=self.gated,
            told_at=self.told_at,
        )


def read_attributes(raw: Mapping[str, Any], notes: Counter[str]) -> Attributes:
    """Attributes from a mapping with camelCase or snake_case keys.

    Parameters
    ----------
    raw
        As the source has them.
    notes
        Counter that receives one count per value that was left out or not known.
    """
    found = Attributes()
    named: dict[str, tuple[str, Any]] = {}
    for key, value in raw.items():
        name = attribute_name(key)
        if name in named:
            notes[f"{name} given in two spellings, the last one used"] += 1
            if name == "told_at" and _not_told(named[name][1]):
                continue  # told or not told: silence is the safe reading
        named[name] = (key, value)
    for name, (key, value) in named.items():
        _take(found, name, key, value, notes)
    _status(found, named, notes)
    if "at" in named:
        _place_at(found, read_moment(named["at"][1], notes, what="at"))
    return found


def attribute_name(key: str) -> str:
    """Name of the attribute a key means, in camelCase, snake_case or with hyphens.

    Examples
    --------
    >>> attribute_name("toldAt"), attribute_name("valid-from"), attribute_name("importance")
    ('told_at', 'valid_from', 'salience')
    """
    name = _CAMEL.sub("_", key).lower().replace("-", "_")
    return _SPELLINGS.get(name, name)


def _not_told(value: Any) -> bool:
    return value is None or str(value).strip().lower() in _NOTHING


def _take(found: Attributes, name: str, key: str, value: Any, notes: Counter[str]) -> None:
    if name in _DERIVED:
        notes[f"{key} not read: it is derived from accesses as of each query"] += 1
    elif name == "scope":
        found.scope = _text(value, key, notes)
    elif name == "told_at":
        found.gated = True
        if not _not_told(value):
            found.told_at = read_moment(value, notes, what=key)
    elif name == "known_at":
        found.known_at = read_moment(value, notes, what=key)
    elif name == "category":
        found.fields[name] = category_of(value, notes)
    elif name == "tags":
        found.fields[name] = tags_of(value, notes)
    elif name == "pinned":
        found.fields[name] = _truth(value, key, notes)
    elif name in _TEXTS or name in _IDS:
        text = _text(value, key, notes)
        if text is not None:
            if text not in KNOWN_VALUES.get(name, (text,)):
                notes[f"{name} that is not one of ours, kept as text"] += 1
            found.fields[name] = text
    elif name in _MOMENTS:
        found.fields[name] = read_moment(value, notes, what=key)
    elif name in _SHARES:
        found.fields[name] = share_of(value, key, notes)
    elif name not in ("status", "at"):
        found.meta[key] = value


def _status(found: Attributes, named: Mapping[str, tuple[str, Any]], notes: Counter[str]) -> None:
    """Status as said, or as what else was said implies."""
    said = named.get("status", ("status", None))[1]
    if said is None or said == "":
        if found.fields.get("superseded_by") or found.fields.get("superseded_at"):
            found.fields["status"] = "superseded"
        elif found.fields.get("retracted_at"):
            found.fields["status"] = "retracted"
    elif str(said).lower() in _STATUSES:
        found.fields["status"] = str(said).lower()
    else:
        found.problem = "status is not current, superseded or retracted"
    if found.fields.get("status") == "current" and found.fields.pop("superseded_by", None):
        notes["superseded_by on a current memory, not used"] += 1


def _place_at(found: Attributes, at: datetime | None) -> None:
    """``at`` beside a change of status is the time of the change, else of the event."""
    status = found.fields.get("status")
    if status in ("superseded", "retracted"):
        found.fields.setdefault(f"{status}_at", at)
    else:
        found.at = at


def category_of(value: Any, notes: Counter[str]) -> str | None:
    """Category a hint stands for."""
    hint = _text(value, "category", notes)
    if hint is None:
        return None
    if hint not in CATEGORY_HINTS:
        notes["category that is not one of ours, kept as text"] += 1
    return CATEGORY_HINTS.get(hint, hint)


def tags_of(value: Any, notes: Counter[str]) -> tuple[str, ...]:
    """Tags as text, in their order."""
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return tuple(value)
    if isinstance(value, str):
        return tuple(tag for tag in re.split(r"[,\s]+", value) if tag)
    notes["tags that are not a list of texts, not used"] += 1
    return ()


def share_of(value: Any, key: str, notes: Counter[str]) -> float | None:
    """Number in [0, 1], or none."""
    if value is None:
        return None
    try:
        share = float(value) if not isinstance(value, bool) else -1.0
    except (TypeError, ValueError, OverflowError):
        share = -1.0
    if 0.0 <= share <= 1.0:
        return share
    notes[f"{key} outside [0, 1], not used"] += 1
    return None


def _truth(value: Any, key: str, notes: Counter[str]) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "yes", "false", "no"):
        return str(value).lower() in ("true", "yes")
    notes[f"{key} neither true nor false, taken as false"] += 1
    return False


def _text(value: Any, key: str, notes: Counter[str]) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    notes[f"{key} is not text, not used"] += 1
    return None
