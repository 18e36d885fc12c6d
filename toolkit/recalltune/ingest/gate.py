"""Failing closed: a telling rule that stands where it is not read must not be lost.

Whether a memory was told is the one attribute that may never be overlooked: text with a rule in
the wrong place would otherwise be imported as told to everyone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from recalltune.errors import SourceError

__all__ = ["misplaced_rule", "refuse_unread_rule"]

_RULE = re.compile(r"told[_-]?at[\"']?[ \t]{0,8}[:=]", re.IGNORECASE)
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
    text = text.replace("\r", "\n")
    for found in _RULE.finditer(text):
        before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if "{" in before or not before.strip(" \t\"'-*>#"):
            message = (
                f"{where}: a telling rule stands where it is not read, got {found[0]!r}; it "
                "belongs into front matter (--- on the first line) or into {#id told_at=...} at "
                "the very end of an item"
            )
            raise SourceError(message)


def misplaced_rule(record: Mapping[str, Any], metadata: Any) -> str | None:
    """Return why a connector record's telling rule cannot be read; None where all is well."""
    if metadata is not None and not isinstance(metadata, Mapping):
        return "sourceMetadata is no object: whether it was told cannot be read"
    if any(_is_rule(key) for key in record):
        return "toldAt stands outside sourceMetadata"
    if any(_is_rule(key) and key not in _READ for key in metadata or ()):
        return "toldAt is spelt in another way"
    return None


def _is_rule(key: str) -> bool:
    return _letters(key) == "toldat"


def _letters(key: Iterable[str]) -> str:
    return "".join(one for one in key if one.isalnum()).casefold()
