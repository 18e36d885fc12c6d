"""What will hurt later, counted in the lab: for `recalltune doctor`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import duckdb
import polars as pl

__all__ = ["count_ailments", "count_vectors"]

_AILMENTS = """
with first_span as (select * from memory_span where version = 1)
select
    (select count(*) from memory) as memories,
    (select count(*) from turn) as turns,
    (select count(*) from first_span where event_at is null) as undated,
    (select count(*) from first_span where event_at > $now) as future,
    (select count(*) from turn where said_at is null) as undated_turns,
    (select count(*) from turn where said_at > $now) as future_turns,
    (select count(*) from memory_span where gated and told_at is null) as untold,
    (select count(*) from memory where duplicate_of is not null) as duplicates,
    (select count(*) from memory join text using (text_hash) where text.tokens > $long) as long,
    (select count(*) from memory join text using (text_hash) where text.tokens = 0) as wordless,
    (select count(*) from memory where status = 'superseded' and superseded_by is not null
        and superseded_by not in (select memory_id from memory)) as dangling,
    (select count(*) from memory m where status <> 'current' and not exists (
        from memory_span s where s.memory_id = m.memory_id
        and coalesce(s.superseded_at, s.retracted_at) is not null)) as undated_changes,
    (select count(*) from label where memory_id not in (select memory_id from memory)) as astray,
    (select count(*) from eval_case c where not exists (
        from label l where l.case_set = c.case_set and l.case_id = c.case_id)) as unlabelled,
    (select count(distinct query_id) from (select query_id, unnest(shown) as one from search_log)
        where one not in (select memory_id from memory)) as searches_astray
"""
# Of what was never told, no value is named.
_STRANGE = """
with told as (
    from memory semi join (
        select memory_id from memory_span where not (gated and told_at is null)
    ) span using (memory_id)
)
select what, value, count(*) as count from (
    select 'layer' as what, layer as value from told
    union all select 'category', category from told where category is not null
    union all select 'tier', tier from told where tier is not null
    union all select 'origin', origin from told where origin is not null
) where not list_contains($known, what || ':' || value) group by all order by all
"""
_VECTORS = """
select encoder_id, dim, count(*) as texts,
    count(*) filter (text_hash in (select text_hash from memory)) as memories
from vector group by all order by all
"""


def count_ailments(
    con: duckdb.DuckDBPyConnection, *, now: datetime, long_tokens: int, known: Collection[str]
) -> tuple[dict[str, int], pl.DataFrame]:
    """Counts by name, and the values that are none of ours: what, value, count.

    Parameters
    ----------
    con
        An open connection.
    now
        What lies after it is in the future.
    long_tokens
        Estimated tokens above which a text is long.
    known
        Values of layer, category, tier and origin that are ours, as ``layer:log``.
    """
    [counts] = con.sql(_AILMENTS, params={"now": now, "long": long_tokens}).pl().to_dicts()
    strange = con.sql(_STRANGE, params={"known": sorted(known)}).pl()
    return {name: int(count) for name, count in counts.items()}, strange


def count_vectors(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Return encoder_id, dim, texts, and memories whose latest text has a vector, by encoder."""
    frame: pl.DataFrame = con.sql(_VECTORS).pl()
    return frame
