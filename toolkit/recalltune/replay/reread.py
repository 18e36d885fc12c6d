"""Rereading as of a query: the gated messages behind a packed list, within its characters.

In: a lab, a candidate table, a list packed into a block. Out: the block with originals where gists
stood, and an account by reason. Each message passes the gate by itself, at the query's time; of
one that does not, nothing but the reason leaves the store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.pipeline.stages.hel847 import Block, entry_line, status_of
from recalltune.rank.reread import OUTCOMES
from recalltune.rank.reread import Reread as Plan
from recalltune.rank.reread import reread as plan
from recalltune.store import TOLD, Lab, read_exchanges

__all__ = ["Rereading", "reread"]

_OTHER_SCOPE = "in another scope"
_ENTRIES = {
    "rank": pl.Int64,
    "memory_id": pl.String,
    "replaced": pl.Boolean,
    "chars_before": pl.Int64,
    "chars": pl.Int64,
}
_ACCOUNT = {"outcome": pl.String, "reason": pl.String, "n": pl.Int64}


@dataclass(frozen=True, eq=False)
class Rereading:
    """One block before and after it was read again."""

    before: str = field(repr=False)
    """The block as it was packed."""
    text: str = field(repr=False)
    """The block with originals; never longer than its budget."""
    entries: pl.DataFrame
    """rank, memory_id, replaced, chars_before, chars: an entry of the list a row."""
    account: pl.DataFrame
    """outcome (read, read above, withheld, too long), reason where withheld, n messages."""

    @property
    def chars_spent(self) -> int:
        """Characters that the originals take beyond the gists; below 0 where they are shorter."""
        return len(self.text) - len(self.before)


@dataclass(frozen=True)
class _Message:
    """One message of an entry's exchange."""

    reason: str
    turn_id: str | None
    """None unless it may be shown."""
    line: str
    """Written only if it may be shown."""


def reread(
    lab: Lab,
    candidates: Candidates,
    order: NDArray[np.intp],
    query: int,
    block: Block,
    *,
    budget_chars: int | None = None,
) -> Rereading:
    """Put the messages behind a packed list where its gists stand.

    Parameters
    ----------
    lab
        The lab that the candidates come from.
    candidates
        The table the list was ranked from.
    order
        shape (Q, K), columns best first, -1 after the last: packed by ``block``.
    query
        Row of the query.
    block
        How lines are written and under what header.
    budget_chars
        Characters for header and lines together; by default the block's own.

    Returns
    -------
    Rereading
        Both blocks and the accounts.

    Raises
    ------
    ParameterError
        If the budget does not hold the block as it was packed.

    Notes
    -----
    An entry is replaced only by a message with its own text, letter by letter: an edited memory
    does not get back what it was edited from. Messages are read whole or not at all.
    """
    lines = block.lines(candidates, order, query)
    columns = order[query][order[query] >= 0].tolist()
    spans = [
        candidates.spans.row(int(candidates.span[query, column]), named=True) for column in columns
    ]
    behind = _messages(lab, candidates, query, columns, spans)
    budget = block.budget_chars if budget_chars is None else budget_chars
    if lines and budget < (least := len(block.framed(lines))):
        message = f"budget_chars must hold the block as it stands, {least} characters, got {budget}"
        raise ParameterError(message)
    found = _plan(lines, behind, max(budget - len(block.header), 0))
    written = [_written(line, behind[k], found, k) for k, line in enumerate(lines)]
    entries = [
        (k + 1, span["memory_id"], bool(found.replaced[k]), len(lines[k]), len(written[k]))
        for k, span in enumerate(spans)
    ]
    return Rereading(
        before=block.framed(lines),
        text=block.framed(written),
        entries=pl.DataFrame(entries, schema=_ENTRIES, orient="row"),
        account=_account(behind, found),
    )


def _messages(
    lab: Lab,
    candidates: Candidates,
    query: int,
    columns: list[int],
    spans: list[dict[str, Any]],
) -> list[list[_Message | None]]:
    """For each entry its own message first, None where it has none, then those around it."""
    asked_at, scope = candidates.queries.select("asked_at", "scope").row(query)
    corpus = candidates.corpus
    audience = "everyone" if corpus is None else corpus.worlds.admit.audience
    turns = [span["turn_id"] for span in spans if span["turn_id"] is not None]
    by_turn: dict[Any, list[dict[str, Any]]] = {}
    if turns:
        with lab.reading() as con:
            judged = read_exchanges(con, turns, at=int(asked_at), audience=audience)
        for row in judged.iter_rows(named=True):
            by_turn.setdefault(row["wanted"], []).append(row)
    found = []
    for column, span in zip(columns, spans, strict=True):
        own: _Message | None = None
        around: list[_Message | None] = []
        for row in by_turn.get(span["turn_id"], []):
            if row["reason"] == TOLD and scope is not None and row["scope"] != span["scope"]:
                row |= {"reason": _OTHER_SCOPE, "turn_id": None}
            if not row["own"]:
                line = entry_line(row["text"] or "", "", {"role": row["role"]})
                around.append(_Message(row["reason"], row["turn_id"], line))
            elif row["turn_id"] is None or row["text_hash"] == span["text_hash"]:
                line = entry_line(row["text"] or "", status_of(candidates, query, column), span)
                own = _Message(row["reason"], row["turn_id"], line)
        found.append([own, *around])
    return found


def _plan(lines: list[str], behind: list[list[_Message | None]], budget: int) -> Plan:
    width = max((len(mine) for mine in behind), default=0)
    codes: dict[str | int, int] = {}
    message = np.full((len(lines), width), -1, dtype=np.int64)
    chars, may_show = np.zeros_like(message), np.zeros(message.shape, dtype=np.bool_)
    for k, mine in enumerate(behind):
        for p, one in enumerate(mine):
            if one is None:
                continue
            # A message that is withheld has no id here, and is nobody else's.
            key = k * width + p if one.turn_id is None else one.turn_id
            message[k, p] = codes.setdefault(key, len(codes))
            chars[k, p], may_show[k, p] = len(one.line), one.turn_id is not None
    sizes = np.array([len(line) for line in lines], dtype=np.int64)
    return plan(sizes, message, chars, may_show, budget_chars=budget)


def _written(line: str, mine: list[_Message | None], found: Plan, k: int) -> str:
    read = [
        one.line
        for p, one in enumerate(mine)
        if one is not None and found.outcome[k, p] == OUTCOMES.index("read")
    ]
    return "".join([] if found.replaced[k] else [line]) + "".join(read)


def _account(behind: list[list[_Message | None]], found: Plan) -> pl.DataFrame:
    rows = [
        (outcome, one.reason if outcome == "withheld" else "", 1)
        for k, mine in enumerate(behind)
        for p, one in enumerate(mine)
        if one is not None and (outcome := OUTCOMES[found.outcome[k, p]])
    ]
    counted = pl.DataFrame(rows, schema=_ACCOUNT, orient="row")
    return counted.group_by("outcome", "reason").agg(pl.col("n").sum()).sort("outcome", "reason")
