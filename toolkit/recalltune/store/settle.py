"""The last step of every write: what may be shown, and what replaced what.

In: memories and spans as they were derived from their sources. Out: the same, with the gates that
were ever settled shut again wherever nothing proves that they may open, and with the instants at
which memories were superseded or retracted. Gates come first: what was never told replaces nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from recalltune.store.attributes import SAID, SPAN_ATTRIBUTES
from recalltune.store.frames import run
from recalltune.store.sharing import GATED_SOURCES, read_gate

__all__ = ["settle_sharing", "settle_spans"]

_REMEMBER = """
insert or ignore into job (kind, ref, state, attempts) values ('gate', $source, 'done', 0)
"""
_SOURCES = f"{GATED_SOURCES} order by ref"
# A memory is gated by what any record of it names as its source, whichever record speaks for it.
_GATED = """
select memory_id from memory where list_contains($sources, source)
union
select ref from claim
where kind = 'memory' and list_contains($sources, json_extract_string(said, '$.source'))
"""
_CLOSE = f"""
update memory_span set gated = true, told_at = make_timestamptz(opened.opens_at)
from (
    select s.memory_id, s.version, gate.opens_at
    from memory_span s join ({SAID}) said using (memory_id, version)
    semi join gated using (memory_id)
    left join gate on gate.turn_id = said.turn_id and gate.text_hash = s.text_hash
) opened
where opened.memory_id = memory_span.memory_id and opened.version = memory_span.version
"""
# A version leaves when a later one enters, and a shut one enters nowhere.
_LEAVE = """
update memory_span set leaves_at = later.enters_at
from (
    select memory_id, version, max(version) over (partition by memory_id) as newest,
           min(enters_at) over (partition by memory_id order by version
                                rows between 1 following and unbounded following) as enters_at
    from memory_span semi join gated using (memory_id)
) later
where later.memory_id = memory_span.memory_id and later.version = memory_span.version
  and later.version < later.newest
"""
# What an untold version says must not show in the memory's latest state either. Its message and its
# source stay: they tell whose gate it is.
_OF_THE_GATE = ("turn_id", "source")
_SPOKEN = ("text_hash", "scope", *(name for name in SPAN_ATTRIBUTES if name not in _OF_THE_GATE))
_SPEAK = f"""
update memory set {", ".join(f"{name} = speaking.{name}" for name in _SPOKEN)}
from (
    select distinct on (memory_id) * from memory_span semi join gated using (memory_id)
    where layer is not null
    order by memory_id, gated and told_at is null, version desc
) speaking where speaking.memory_id = memory.memory_id
"""
_REASONS = f"""
select case when said.turn_id is null then 'no message'
            when gate.turn_id is null then 'no such message'
            when gate.text_hash <> s.text_hash then 'another text than the message'
            else gate.reason end as why,
       count(*) as n
from memory_span s join ({SAID}) said using (memory_id, version)
semi join gated using (memory_id)
left join gate on gate.turn_id = said.turn_id
group by why order by why
"""

_SETTLE = """
update memory_span set
    superseded_at = case when m.status = 'superseded'
                         then coalesce(m.superseded_at, successor.enters_at) end,
    retracted_at = case when m.status = 'retracted' then m.retracted_at end
from memory m left join (
    select memory_id, min(enters_at) as enters_at from memory_span group by memory_id
) successor on successor.memory_id = m.superseded_by
where m.memory_id = memory_span.memory_id and lifted is null
"""
_SETTLE_LIFTED = """
update memory_span set superseded_at = successor.enters_at
from (select memory_id, min(enters_at) as enters_at from memory_span group by memory_id) successor
where successor.memory_id = memory_span.lifted
"""
_LOOSE_ENDS = """
select
    count(*) filter (status = 'superseded' and superseded_by is not null and not exists (
        from memory s where s.memory_id = m.superseded_by)) as dangling,
    count(*) filter (status <> 'current' and not exists (
        from memory_span s where s.memory_id = m.memory_id
        and coalesce(s.superseded_at, s.retracted_at) is not null)) as undated
from memory m
"""
_SUCCESSORS = """
select memory_id, superseded_by from memory
where status = 'superseded' and superseded_by is not null
order by memory_id
"""


def settle_sharing(con: duckdb.DuckDBPyConnection, source: str) -> dict[str, int]:
    """Gate every span of a source by its message: told when the message may be shown, else never.

    The span's text must be that of the message, letter by letter. What a memory's own record says
    about telling is replaced; a memory without a message is never told. The lab remembers that
    the source is gated (a ``job`` of kind ``gate``): `settle_spans`, which ends this and every
    import, gates it again.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`.
    source
        The source whose memories were taken from an agent's messages: ``memory.source``, or what
        any record of the memory named as its source.

    Returns
    -------
    dict[str, int]
        Reason -> spans of this source; `TOLD` counts those that may be shown.
    """
    con.execute(_REMEMBER, {"source": source})
    settle_spans(con)
    gated = con.sql(_GATED, params={"sources": [source]}).pl()
    counted = run(con, _REASONS, gate=read_gate(con), gated=gated)
    return {str(reason): int(n) for reason, n in counted.iter_rows()}


def settle_spans(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Gate the sources that are gated, then derive when spans were superseded or retracted.

    A supersession without a time takes effect when its successor may be seen: one that was never
    told replaces nothing. One whose time nobody knows is never applied backwards: the memory stays
    current in a replay, and is counted.

    Returns
    -------
    dict[str, int]
        Loose ends -> memories.
    """
    _close_gates(con)
    con.execute(_SETTLE)
    con.execute(_SETTLE_LIFTED)
    dangling, undated = con.sql(_LOOSE_ENDS).fetchall()[0]
    return {
        "superseded by a memory that is not there": int(dangling),
        "superseded or retracted at an unknown time (stays current in a replay)": int(undated),
        "superseded in a circle (none of them is current)": _in_circles(
            dict(con.sql(_SUCCESSORS).fetchall())
        ),
    }


def _close_gates(con: duckdb.DuckDBPyConnection) -> None:
    sources = [source for (source,) in con.sql(_SOURCES).fetchall()]
    if not sources:
        return
    gated = con.sql(_GATED, params={"sources": sources}).pl()
    run(con, _CLOSE, gate=read_gate(con), gated=gated)
    run(con, _LEAVE, gated=gated)
    run(con, _SPEAK, gated=gated)


def _in_circles(successors: Mapping[str, str]) -> int:
    """Memories whose successors lead back to them."""
    found, seen = 0, set[str]()
    for start in successors:
        here, path = start, dict[str, int]()
        while here in successors and here not in seen:
            seen.add(here)
            path[here] = len(path)
            here = successors[here]
        found += len(path) - path.get(here, len(path))
    return found
