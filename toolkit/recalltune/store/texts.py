"""Texts, each stored once under the hash of its bytes.

In: strings. Out: their hashes, which turns, memories and spans point to.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import duckdb
import polars as pl

from recalltune.errors import ContractError
from recalltune.store.frames import run

__all__ = ["estimate_tokens", "put_hashed_texts", "put_texts", "text_hash"]

_WIDE = re.compile(r"[\u2e80-\U0010ffff]+")

_INSERT = """
insert into text by name
select incoming.* from incoming anti join text using (text_hash) order by text_hash
"""


def text_hash(text: str) -> str:
    """SHA-256 of the text's UTF-8 bytes, 64 hex digits.

    Raises
    ------
    ContractError
        If the text holds half of a surrogate pair and so has no UTF-8 form.

    Examples
    --------
    >>> text_hash("abc")[:8]
    'ba7816bf'
    """
    try:
        return hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError:
        msg = f"text must be valid Unicode, got a lone surrogate in {text[:40]!r}"
        raise ContractError(msg) from None


def estimate_tokens(text: str) -> int:
    """Token count of a text as a model would bill it, estimated without a model.

    One token per CJK or other wide character, one per four of the rest, rounded up.

    Examples
    --------
    >>> estimate_tokens("hello world"), estimate_tokens("记忆"), estimate_tokens("")
    (3, 2, 0)
    """
    wide = 0 if text.isascii() else len(text) - len(_WIDE.sub("", text))
    return wide + -(-(len(text) - wide) // 4)


def put_texts(con: duckdb.DuckDBPyConnection, texts: Sequence[str]) -> list[str]:
    """Hashes of the texts in their order, after storing those not stored yet."""
    hashes = [text_hash(text) for text in texts]
    put_hashed_texts(con, dict(zip(hashes, texts, strict=True)))
    return hashes


def put_hashed_texts(con: duckdb.DuckDBPyConnection, texts: Mapping[str, str]) -> None:
    """Store the texts not stored yet; each stands under its `text_hash`."""
    if not texts:
        return
    frame = pl.DataFrame(
        {
            "text_hash": list(texts),
            "text": list(texts.values()),
            "chars": list(map(len, texts.values())),
            "tokens": list(map(estimate_tokens, texts.values())),
        },
        schema={"text_hash": pl.String, "text": pl.String, "chars": pl.Int64, "tokens": pl.Int64},
    )
    run(con, _INSERT, incoming=frame)
