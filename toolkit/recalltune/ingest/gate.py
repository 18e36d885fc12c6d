"""Failing closed: no telling rule is overlooked, and of two the stricter one holds.

Whether a memory was told is the one attribute that may never be lost: text with a rule in the
wrong place, or with a rule that only another file knows, would otherwise be shown to everyone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.claim import Claim

__all__ = [
    "Telling",
    "holds_rule",
    "is_telling_rule",
    "may_hold_rule",
    "misplaced_rule",
    "refuse_unread_rule",
    "strictest",
]

_EVERYONE = "everyone"

_RULE = re.compile(r"told[ _-]?at[\"'*_`]{0,3}\s{0,64}[:=：＝]", re.IGNORECASE)
# What Markdown puts before the words of a line: marks of lists, quotes, tables, boxes, emphasis.
_MARKS = " \t\u00a0\u3000\"'`*_-+>#|<!([{｛0123456789.)]xX"
_LINE_ENDS = re.compile("[\r\n\v\f\u0085\u2028\u2029]")
_READ = ("toldAt", "told_at")


def refuse_unread_rule(text: str, where: str) -> None:
    """Refuse a text that holds a telling rule at the start of a line or inside braces.

    Parameters
    ----------
    text
        What is left of an item once its front matter and braces have been read.
    where
        ``file:line`` of its first line.

    Raises
    ------
    SourceError
        If there is such a rule.
    """
    for line in _LINE_ENDS.split(text):
        brace = line.replace("｛", "{").find("{")
        for place, found in enumerate(_RULE.finditer(line)):
            opens = place == 0 and not line[: found.start()].strip(_MARKS)
            if opens or 0 <= brace < found.start():
                message = (
                    f"{where}: a telling rule stands where it is not read, got {found[0]!r}; it "
                    "belongs into front matter (--- on the first line) or into {#id told_at=...} "
                    "at the very end of an item"
                )
                raise SourceError(message)


def misplaced_rule(record: Mapping[str, Any], metadata: Any) -> str | None:
    """Return why a connector record's telling rule cannot be read; None where all is well."""
    if metadata is not None and not isinstance(metadata, Mapping):
        return "sourceMetadata is no object: whether it was told cannot be read"
    if any(is_telling_rule(key) for key in record):
        return "toldAt stands outside sourceMetadata"
    if any(is_telling_rule(key) and key not in _READ for key in metadata or ()):
        return "toldAt is spelt in another way"
    if any(key in _READ for key in metadata or ()):
        return None  # What is said of it where it is read, holds.
    beside = [value for key, value in record.items() if key != "sourceMetadata"]
    if holds_rule([*beside, *(metadata or {}).values()]):
        return "toldAt stands deeper than it is read"
    return None


def holds_rule(values: Iterable[Any]) -> bool:
    """Whether an object somewhere inside of JSON-like values has a key that means ``told_at``."""
    below = list(values)
    while below:
        value = below.pop()
        if isinstance(value, Mapping):
            if any(map(is_telling_rule, value)):
                return True
            below += value.values()
        elif isinstance(value, list):
            below += value
    return False


def is_telling_rule(key: str) -> bool:
    """Whether a key means ``told_at``, in whatever spelling."""
    return "".join(one for one in key if one.isalnum()).casefold() == "toldat"


def may_hold_rule(text: str) -> bool:
    """Whether a text that cannot be read could have said whether it was told."""
    return "toldat" in "".join(one for one in text if one.isalnum()).casefold()


@dataclass(frozen=True)
class Telling:
    """Who may see a text, and from when: the gate's part of a span."""

    audience: str
    gated: bool
    told_at: datetime | None


def strictest(claims: Sequence[Claim]) -> Telling:
    """Return what holds where records disagree about telling one text; their order is no matter.

    - "Not told" wins, unless a record that was stated later says when it was told: then it is told
      from that instant on, and not before "not told" was stated. A record without a rule lifts
      nothing, nor does one that was left out, and a record without a stated time is never later.
    - Of two instants the later one, and of two audiences the one that is not everyone; under two
      such audiences the text is not told to anyone.

    Parameters
    ----------
    claims
        At least one; all that is said about the telling of one text.
    """
    audience, *others = sorted({claim.span.audience for claim in claims} - {_EVERYONE}) or [
        _EVERYONE
    ]
    if others or _never_told(claims):
        return Telling(audience, gated=True, told_at=None)
    # The silence that was lifted held until it was stated.
    bounds = [claim.stated_at if claim.silent else claim.span.told_at for claim in claims]
    told_at = max((bound for bound in bounds if bound is not None), default=None)
    return Telling(audience, any(claim.span.gated for claim in claims), told_at)


def _never_told(claims: Sequence[Claim]) -> bool:
    silent = [claim.stated_at for claim in claims if claim.silent]
    if not silent or None in silent:
        return bool(silent)
    told = [
        claim.stated_at
        for claim in claims
        if claim.span.told_at is not None and claim.stated_at is not None and not claim.withheld
    ]
    return not told or max(told) <= max(at for at in silent if at is not None)
