"""What the prompt holds already: rows that it would be idle to recall.

In: spans, queries with their sessions, the turns of these sessions. Out: per query the rows that
were taken from what still stands in the prompt when it is asked.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.settings import Admit

__all__ = ["rows_in_prompt"]


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
