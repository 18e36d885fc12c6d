"""What the prompt holds already: rows that it would be idle to recall.

In: spans, queries with their sessions, the turns of these sessions. Out: per query the rows that
were taken from what still stands in the prompt when it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.settings import Admit
from recalltune.candidates.world import Worlds

__all__ = ["held_back", "rows_in_prompt"]


def rows_in_prompt(
    admit: Admit, spans: pl.DataFrame, queries: pl.DataFrame, turns: pl.DataFrame
) -> list[NDArray[np.intp]]:
    """Rows of ``spans`` that each query's prompt holds, by ``admit.in_prompt``.

    Parameters
    ----------
    admit
        Its rule; ``show`` gives no row for any query.
    spans
        S rows with ``turn_id`` and ``session``.
    queries
        Q rows with ``session`` and ``asked_at``. One without a session has an empty prompt.
    turns
        From `store.read_turns`, in order of speaking; those said before a query are in its prompt.
    """
    nothing = np.array([], dtype=np.intp)
    if admit.in_prompt == "show":
        return [nothing] * queries.height
    column = "session" if admit.in_prompt == "hide_session" else "turn_id"
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(spans[column].to_list()):
        if name is not None:
            rows_of.setdefault(name, []).append(row)
    if admit.in_prompt == "hide_session":
        return [
            np.array(rows_of.get(session, []), dtype=np.intp) if session is not None else nothing
            for session in queries["session"].to_list()
        ]
    said: dict[str, list[tuple[int, str]]] = {}
    dated = turns.filter(pl.col("said_at").is_not_null())
    for session, at, turn_id in dated.select("session_id", "said_at", "turn_id").iter_rows():
        said.setdefault(session, []).append((at, turn_id))
    found = []
    for session, asked_at in queries.select("session", "asked_at").iter_rows():
        before = [turn_id for at, turn_id in said.get(session, []) if at < asked_at]
        rows = [row for one in before[-admit.prompt_turns :] for row in rows_of.get(one, [])]
        found.append(np.array(sorted(rows), dtype=np.intp))
    return found


def held_back(
    in_prompt: Sequence[NDArray[np.intp]],
    worlds: Worlds,
    at: NDArray[np.int64],
    scopes: Sequence[NDArray[np.int64] | None],
) -> NDArray[np.int64]:
    """Shape (Q,), how many memories each query is not proposed since its prompt holds them.

    What enters later, has ended or is in another scope is not held back: it is not there.

    Parameters
    ----------
    in_prompt
        From `rows_in_prompt`.
    worlds, at, scopes
        What each of Q queries may see, when it is asked, and the numbers of its scopes.
    """
    counts = np.zeros(at.size, dtype=np.int64)
    for query, rows in enumerate(in_prompt):
        seen = (worlds.spans.enters[rows] < at[query]) & (at[query] <= worlds.until[rows])
        searched = scopes[query]
        if searched is not None:
            seen &= np.isin(worlds.scopes[1][rows], searched)
        counts[query] = seen.sum()
    return counts
