"""A query that names a file: how exactly, and what that is worth before it fades.

In: a query and paths; content scores of rows whose path was named. Out: a tier from 0 to 3; a
score in [0.5, 1].
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.rank._check import FloatArray, finite, word_list

__all__ = ["exact_tie", "path_exactness"]


def path_exactness(query: str, paths: Iterable[str]) -> NDArray[np.int64]:
    r"""How exactly a query names each path: 3 whole, 2 its last part, 1 that without extension.

    Both are compared as identifiers: spaces around them and a leading ``./`` dropped, ``\``
    read as ``/``, NFC, lower case. A query with a ``/`` can only name the whole path. Only the
    last extension is dropped, and a name that starts with its only dot has none.

    Parameters
    ----------
    query
        Any text.
    paths
        n paths; an empty one is named by nothing.

    Returns
    -------
    NDArray[np.int64]
        shape (n,), 0 to 3; 0 where the path is not named, and everywhere for an empty query and
        for ``.``.

    Raises
    ------
    ParameterError
        If ``paths`` is a bare text.

    References
    ----------
    OpenClaw ``manager-search.ts`` ``resolveExactPathSpecificity``.

    Examples
    --------
    >>> paths = ["retry.md", "memory/retry.md", "a/retry.md.bak", "x.md"]
    >>> path_exactness("Retry.md", paths).tolist()
    [3, 2, 1, 0]
    """
    asked = _identifier(query)
    tiers = [_tier(asked, _identifier(path)) for path in word_list("paths", paths)]
    return np.array(tiers, dtype=np.int64)


def exact_tie(content: ArrayLike) -> FloatArray:
    """Score of a row whose path was named, before it fades: ``(1 + clip(content, 0, 1)) / 2``.

    Half of it is for the name, so that a fresh file without a matching text beats a stale one
    with it.

    Parameters
    ----------
    content
        shape (…), finite. Score of the text alone; any sign, any size.

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0.5, 1], never falling with ``content``.

    Raises
    ------
    ParameterError
        If a content score is not finite.

    References
    ----------
    OpenClaw ``hybrid.ts`` ``scoreExactPathTieForTemporalDecay``.

    Examples
    --------
    >>> exact_tie([-1.0, 0.5, 2.0]).tolist()
    [0.5, 0.75, 1.0]
    """
    return (1.0 + np.clip(finite("content", content), 0.0, 1.0)) / 2.0


def _identifier(text: str) -> str:
    name = text.strip().replace("\\", "/").removeprefix("./")
    return unicodedata.normalize("NFC", name).lower()


def _tier(asked: str, path: str) -> int:
    if asked in ("", ".") or not path:
        return 0
    if asked == path:
        return 3
    if "/" in asked:
        return 0
    last = path.rpartition("/")[2]
    if asked == last:
        return 2
    stem = last.rpartition(".")[0] or last
    return int(asked == stem)
