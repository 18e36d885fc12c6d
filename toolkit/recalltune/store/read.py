"""Reading: an open connection in, tidy polars frames out, always in a stated order.

Instants come as Int64 microseconds since 1970 UTC, null where there is none, in every frame but
`read_memories` and `read_table`, which keep datetimes for people to read.
"""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl

from recalltune.errors import ContractError, nearest
from recalltune.store.attributes import SAID
from recalltune.store.schema import BEGINNING_US, ORDER_KEYS
from recalltune.store.sharing import GATED_SOURCES

__all__ = [
    "latest_event_at",
    "read_accesses",
    "read_cases",
    "read_labels",
    "read_memories",
    "read_search_log",
    "read_spans",
    "read_sweep",
    "read_table",
    "read_turns",
]

_MEMORIES = """
select memory.*, text.text, text.chars, text.tokens
from memory join text using (text_hash)
order by memory_id
"""

_SPANS = f"""
select
    s.memory_id, s.version, t.text, s.text_hash, t.chars, t.tokens, s.scope, s.audience,
    epoch_us(s.event_at) as event_at, epoch_us(s.known_at) as known_at,
    epoch_us(s.told_at) as told_at,
    case when s.gated and s.told_at is null then null
         else coalesce(epoch_us(s.enters_at), $beginning) end as enters_at,
    epoch_us(s.leaves_at) as leaves_at, epoch_us(s.superseded_at) as superseded_at,
    epoch_us(s.retracted_at) as retracted_at, s.gated, said.gist, said.title, said.layer,
    said.category, said.tier, said.project, said.subject, said.origin, said.salience,
    said.confidence, said.pinned, m.status, m.superseded_by, m.duplicate_of, said.source,
    coalesce(said.session, turn.session_id) as session, said.tags, said.turn_id, turn.role,
    epoch_us(said.valid_from) as valid_from, epoch_us(said.valid_until) as valid_until, s.file
from memory_span s
join memory m using (memory_id)
join ({SAID}) said using (memory_id, version)
join text t on t.text_hash = s.text_hash
left join turn on turn.turn_id = said.turn_id
order by enters_at nulls last, s.memory_id, s.version
"""

_TURNS = """
select
    turn.turn_id, session_id, session_kind, seq, role, text.text, turn.text_hash, text.chars,
    text.tokens, epoch_us(said_at) as said_at, epoch_us(told_at) as told_at, scope, source, file,
    line, sidechain, meta
from turn join text using (text_hash)
where ($session is null or session_id = $session) and ($sidechains or not sidechain)
order by session_id, seq, turn_id
"""

_CASES = """
select case_set, case_id, query, epoch_us(asked_at) as asked_at, scope, profile, top_k, session,
       kind, lang, split, expectations
from eval_case
where case_set = $case_set
order by case_id
"""

_LABELS = """
select case_id, memory_id, role, grade, place, judgement
from label
where case_set = $case_set
order by case_id, role, place, memory_id
"""

_CASE_SETS = "select distinct case_set from eval_case order by case_set"

_ACCESSES = """
select distinct memory_id, epoch_us(used_at) as used_at, kind, audience
from access
order by memory_id, used_at, kind, audience
"""

_SEARCH_LOG = """
select query_id, query, epoch_us(asked_at) as asked_at, scope, shown, scores
from (select distinct on (query_id) * from search_log order by query_id, file)
order by asked_at nulls first, query_id
"""

# What nobody was told must not be seen by the clock either: not its turn, not its uses.
_LATEST = f"""
with told as (
    select memory_id, scope, known_at, told_at, leaves_at, superseded_at, retracted_at
    from memory_span where not (gated and told_at is null)
), untold as (
    select said.turn_id
    from memory_span join ({SAID}) said using (memory_id, version)
    where said.turn_id is not null
    group by said.turn_id, memory_id having bool_and(gated and told_at is null)
)
select max(epoch_us(happened)) from (
    select unnest([known_at, told_at, leaves_at, superseded_at, retracted_at]) as happened
    from told where $scope is null or scope = $scope
    union all
    select unnest([said_at, told_at]) from turn
    where ($scope is null or scope = $scope)
      and turn_id not in (select turn_id from untold) and source not in ({GATED_SOURCES})
    union all
    select used_at from access semi join told using (memory_id) where $scope is null
)
"""

_POINTS = """
select point_id, metric, setting, value, case_values
from sweep_point where sweep_id = $sweep_id
order by point_id, metric
"""


def read_memories(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Latest state of every memory with its text, by memory_id."""
    return _frame(con.sql(_MEMORIES))


def read_spans(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Every span with its text and its attributes, by (enters_at, memory_id, version).

    ``enters_at`` is null for a span that was never told (``gated`` and no ``told_at``): such rows
    come last and the caller leaves them out of every world. An undated span that may be seen
    enters at `BEGINNING_US`; its ``event_at`` is null, so it has no age. Layer, salience and what
    else a source may restate are those of the span; ``status``, ``superseded_by`` and
    ``duplicate_of`` are the memory's, and the instants tell from when on a status holds.
    """
    return _frame(con.sql(_SPANS, params={"beginning": BEGINNING_US}))


def read_turns(
    con: duckdb.DuckDBPyConnection, session_id: str | None = None, *, sidechains: bool = False
) -> pl.DataFrame:
    """Turns of one session, or of all, by (session_id, seq, turn_id).

    Side conversations (of subagents) come only on request, marked in column ``sidechain``.
    """
    params = {"session": session_id, "sidechains": sidechains}
    return _frame(con.sql(_TURNS, params=params))


def read_cases(con: duckdb.DuckDBPyConnection, case_set: str) -> pl.DataFrame:
    """Cases of one set by case_id; ``expectations`` is JSON text.

    Raises
    ------
    ContractError
        If there is no such set.
    """
    _known_case_set(con, case_set)
    return _frame(con.sql(_CASES, params={"case_set": case_set}))


def read_labels(con: duckdb.DuckDBPyConnection, case_set: str) -> pl.DataFrame:
    """Labels of one set by case, role, place and memory.

    Raises
    ------
    ContractError
        If there is no such set.
    """
    _known_case_set(con, case_set)
    return _frame(con.sql(_LABELS, params={"case_set": case_set}))


def read_accesses(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Every recorded use of a memory, by memory and instant."""
    return _frame(con.sql(_ACCESSES))


def read_search_log(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The production system's own searches in the order they were asked."""
    return _frame(con.sql(_SEARCH_LOG))


def latest_event_at(con: duckdb.DuckDBPyConnection, scope: str | None = None) -> int | None:
    """Microseconds since 1970 UTC of the newest event in the data; none if nothing has a time.

    Births, tellings, ends, status changes, turns and accesses count; with a ``scope`` only that
    scope's spans and turns. A plan's ``event_at`` in the future does not, nor anything about a
    memory that was never told, its turn and its uses included: the default time of a question
    must not betray it. Of a source that `settle_sharing` gates, the told spans count and no turn.
    """
    value = con.sql(_LATEST, params={"scope": scope}).fetchall()[0][0]
    return None if value is None else int(value)


def read_sweep(
    con: duckdb.DuckDBPyConnection, sweep_id: str
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Head of one sweep as a mapping, and its finished points by (point_id, metric).

    Raises
    ------
    ContractError
        If there is no such sweep; the message lists those there are.
    """
    heads = read_table(con, "sweep")
    if sweep_id not in heads["sweep_id"].to_list():
        msg = f"sweep_id must exist, got {sweep_id!r}; {nearest(sweep_id, heads['sweep_id'])}"
        raise ContractError(msg)
    head = heads.row(by_predicate=pl.col("sweep_id") == sweep_id, named=True)
    return head, _frame(con.sql(_POINTS, params={"sweep_id": sweep_id}))


def read_table(con: duckdb.DuckDBPyConnection, table: str, **equals: str) -> pl.DataFrame:
    """Rows of any table in key order, optionally those whose columns equal the given texts.

    Raises
    ------
    ContractError
        If the table or a column does not exist.

    Examples
    --------
    ``read_table(con, "hit", run_id="r1", query_id="q7")``
    """
    if table not in ORDER_KEYS:
        msg = f"table must exist, got {table!r}; {nearest(table, ORDER_KEYS)}"
        raise ContractError(msg)
    rows = con.table(table)
    if unknown := sorted(set(equals) - set(rows.columns)):
        msg = f"{table} has no column {unknown[0]!r}; {nearest(unknown[0], rows.columns)}"
        raise ContractError(msg)
    for name, value in equals.items():
        rows = rows.filter(duckdb.ColumnExpression(name) == duckdb.ConstantExpression(value))
    return _frame(rows.order(", ".join(f"{key} nulls first" for key in ORDER_KEYS[table])))


def _frame(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    frame: pl.DataFrame = rows.pl()
    return frame


def _known_case_set(con: duckdb.DuckDBPyConnection, case_set: str) -> None:
    known = [name for (name,) in con.sql(_CASE_SETS).fetchall()]
    if case_set not in known:
        msg = f"case_set must exist, got {case_set!r}; {nearest(case_set, known)}"
        raise ContractError(msg)
