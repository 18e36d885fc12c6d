"""What may be shown, and why not, as of an instant: memories by telling, messages by the gate.

In: an open connection and an instant. Out: the messages of an exchange as far as each may be shown
by itself, and counts of what is withheld, by reason only. What is not told leaves no text, no id
and no time here; what had not happened by then is in no count.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import polars as pl

from recalltune.store.attributes import SAID
from recalltune.store.frames import ids, run
from recalltune.store.schema import BEGINNING_US
from recalltune.store.sharing import GATED_SOURCES, NO_ATTEMPT, TOLD, read_gate

__all__ = ["count_visibility", "read_exchange", "read_exchanges"]

_ENTERS = f"""
case when gated and told_at is null then null
     else coalesce(epoch_us(enters_at), {BEGINNING_US}) end
"""
_MINE = "audience in ('everyone', $audience)"
# A memory that is withheld shuts the message it was made from: the same words, by another way. Of
# a memory with several texts each may be from a message of its own.
_MESSAGES = f"""
with withheld as (
    select turn_id, bool_or(untold) as untold from (
        select said.turn_id, memory_id, bool_or(gated and coalesce(epoch_us(told_at) >= $at, true)
                   or not {_MINE}) as untold
        from memory_span join ({SAID}) said using (memory_id, version)
        where said.turn_id is not null
        group by all
        having not bool_or(coalesce({_ENTERS} < $at, false)
                           and coalesce(epoch_us(leaves_at) >= $at, true) and {_MINE})
           and (untold or bool_or(coalesce(epoch_us(leaves_at) < $at, false)))
    ) group by turn_id
), gated_source as ({GATED_SOURCES}), message as (
    select gate.turn_id, gate.session_id, gate.exchange, gate.seq, gate.role, gate.text_hash,
        gate.said_at, turn.scope,
        case when gate.reason = '{NO_ATTEMPT}' and gated_source.ref is null
             then '{TOLD}' else gate.reason end as by_gate,
        case when by_gate <> '{TOLD}' then by_gate
             when epoch_us(turn.told_at) >= $at then 'not told'
             when withheld.untold then 'a memory of it is not told'
             when not withheld.untold then 'its memory has ended'
             else '{TOLD}' end as reason
    from gate join turn using (turn_id) left join withheld using (turn_id)
    left join gated_source on gated_source.ref = turn.source
)
"""
_EXCHANGES = f"""
{_MESSAGES}
select asked.turn_id as wanted, row_number() over (
        partition by asked.turn_id order by message.seq, message.turn_id) - 1 as place,
    message.turn_id = asked.turn_id as own, message.reason,
    case when message.reason = '{TOLD}' then message.turn_id end as turn_id,
    case when message.reason = '{TOLD}' then message.role end as role,
    case when message.reason = '{TOLD}' then text.text end as text,
    case when message.reason = '{TOLD}' then message.text_hash end as text_hash,
    case when message.reason = '{TOLD}' then message.said_at end as said_at,
    case when message.reason = '{TOLD}' then message.scope end as scope
from message
join message asked using (session_id, exchange, scope)
join wanted on wanted.id = asked.turn_id
join text on text.text_hash = message.text_hash
order by wanted, place
"""
# A source may state any origin: of what is not told, such a word is not for everyone.
_ORIGINS = ("owner", "agent", "self_life", "system", "untrusted", "not stated")
_COUNTS = f"""
{_MESSAGES}, span as (
    select coalesce(said.origin, case when turn.role = 'user' then 'owner'
                                      when turn.role is not null then 'agent' end,
                    'not stated') as origin,
        case when not {_MINE} then 'for another audience'
             when gated and coalesce(epoch_us(memory_span.told_at) >= $at, true) then 'not told'
             when epoch_us(leaves_at) < $at then 'ended'
             else '{TOLD}' end as reason
    from memory_span join ({SAID}) said using (memory_id, version)
    left join turn on turn.turn_id = said.turn_id
    where coalesce(epoch_us(known_at) < $at, true)
)
select what, case when origin in {_ORIGINS} then origin else 'another' end as origin,
    reason, reason = '{TOLD}' as shown, count(*)::bigint as n from (
    select 'memory' as what, origin, reason from span
    union all
    select 'message', case when role = 'user' then 'owner' else 'agent' end, reason from message
    union all
    select 'event', coalesce(origin, 'not stated'),
        case when coalesce(epoch_us(told_at) < $at, false) then '{TOLD}' else 'not told' end
    from event where coalesce(epoch_us(happened_at) < $at, true)
) group by all order by all
"""


def read_exchanges(
    con: duckdb.DuckDBPyConnection,
    turn_ids: Iterable[str],
    *,
    at: int,
    audience: str = "everyone",
) -> pl.DataFrame:
    """Every message of the exchanges that some messages belong to, judged one by one.

    Parameters
    ----------
    con
        An open connection.
    turn_ids
        Any messages; one that is not there, or was said at or after ``at``, has no rows.
    at
        Microseconds since 1970 UTC. What happened at or after it has not happened.
    audience
        Whose eyes it is for, beside what everyone may see.

    Returns
    -------
    pl.DataFrame
        wanted (one of ``turn_ids``), place (in the exchange, from 0), own (it is the wanted
        message), reason (`TOLD`, or why it is withheld), turn_id, role, text, text_hash, said_at:
        null unless it may be shown. By wanted, place.

    Notes
    -----
    A message may be shown if its own gate is open (see `read_gate`; a source without a gate tells
    a message by saying it), its ``told_at`` has come, and no memory that was made from it is
    withheld: not told, meant for another audience, or gone.
    """
    params = {"at": at, "audience": audience}
    wanted = ids(turn_ids)
    return run(con, _EXCHANGES, params, gate=read_gate(con, at=at), wanted=wanted)


def read_exchange(
    con: duckdb.DuckDBPyConnection, turn_id: str, *, at: int, audience: str = "everyone"
) -> pl.DataFrame:
    """Messages of the exchange a message belongs to, as far as they may be shown at an instant.

    Parameters
    ----------
    con, at, audience
        As in `read_exchanges`.
    turn_id
        Any message of the exchange.

    Returns
    -------
    pl.DataFrame
        turn_id, role, text, said_at, in the order said; each message passed the gate by itself.
    """
    judged = read_exchanges(con, [turn_id], at=at, audience=audience)
    return judged.filter(pl.col("reason") == TOLD).select("turn_id", "role", "text", "said_at")


def count_visibility(
    con: duckdb.DuckDBPyConnection, *, at: int, audience: str = "everyone"
) -> pl.DataFrame:
    """Count what may be shown at an instant and what is withheld, by reason and nothing else.

    Parameters
    ----------
    con, at, audience
        As in `read_exchanges`.

    Returns
    -------
    pl.DataFrame
        what (event, memory or message), origin (owner, agent, self_life, system, untrusted,
        another, not stated), reason (`TOLD`, or why not), shown, n. Versions of memories are
        counted that were known by then, messages that were said and events that happened by then
        or at no stated time. By all columns.

    Notes
    -----
    Told later and never told have one reason, *not told*: at that instant they were the same.
    """
    return run(con, _COUNTS, {"at": at, "audience": audience}, gate=read_gate(con, at=at))
