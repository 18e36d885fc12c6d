"""Query expansion: terms that a query's own words call for, before any arm sees it.

In: a query and a config's expansions. Out: the text that one arm searches with. What is shown,
explained and counted stays the query as it was asked.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from recalltune.candidates.settings import Expansion

__all__ = ["expanded"]


def expanded(text: str, expansions: Sequence[Expansion], *, arm: str) -> str:
    """Return the query with the terms of every expansion whose trigger it holds, once each.

    Parameters
    ----------
    text
        The query.
    expansions
        In the order their terms are appended; case and composition of the trigger do not matter.
    arm
        "dense", "lexical" or "substring".

    Returns
    -------
    str
        ``text`` itself where nothing is added.

    Examples
    --------
    >>> db = Expansion(trigger="db", terms=("database", "DuckDB"))
    >>> expanded("which DB?", (db,), arm="lexical"), expanded("which DB?", (db,), arm="dense")
    ('which DB? database DuckDB', 'which DB?')
    """
    asked, added = _folded(text), []
    for one in expansions:
        heard = arm in one.arms and len(text) <= one.longest_query_chars
        if heard and _folded(one.trigger) in asked:
            added += [term for term in one.terms if term not in added]
    return " ".join([text, *added])


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
