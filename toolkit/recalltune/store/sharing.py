"""The gate of an agent that lives on its own: what it told the user, and from when on.

In: turns, lived events and attempts to share them. Out: per message the instant from which it may
be shown, or the reason why it may not, as of any instant. A user's message may be shown once it is
said. The agent's own may speak of something it lived through and never told, so it waits for proof:
an attempt to share that was acknowledged and judged, every event in it told, and a message of the
user that it answers. What cannot be proved stays shut.
"""

from __future__ import annotations

import duckdb
import polars as pl

__all__ = ["GATED_SOURCES", "NO_ATTEMPT", "TOLD", "read_gate"]

TOLD = "told"
"""Reason of a message that may be shown."""

NO_ATTEMPT = "no attempt to share"
"""Reason of an agent's message that nothing says anything about."""

GATED_SOURCES = "select ref from job where kind = 'gate'"
"""The sources whose memories wait for their messages, as SQL; `store.settle_sharing` adds one."""

# An exchange is a message of the user and the replies up to the next one.
_GATE = f"""
with spoken as (
    select turn_id, session_id, seq, role, text_hash, epoch_us(said_at) as said_at,
           count(*) filter (role = 'user')
               over (partition by session_id order by seq, turn_id) as exchange
    from turn where not sidechain
), asked as (
    select session_id, exchange, max(said_at) as asked_at
    from spoken where role = 'user' group by all
), told as (
    select sharing_id, count(*) filter (told_at is null or epoch_us(told_at) >= $at) as untold,
           max(epoch_us(told_at)) as told_at
    from (select sharing_id, unnest(candidates) as event_id from sharing)
    left join event using (event_id) group by sharing_id
), shared as (
    select turn_id,
           bool_and(coalesce(epoch_us(acknowledged_at) < $at, false)) as acknowledged,
           bool_and(state = 'judged' and coalesce(epoch_us(judged_at) < $at, false)) as judged,
           coalesce(sum(untold), 0) = 0 as told,
           greatest(max(epoch_us(acknowledged_at)), max(epoch_us(judged_at)),
                    max(told.told_at)) as shared_at
    from sharing left join told using (sharing_id) group by turn_id
)
select turn_id, session_id, exchange, seq, role, text_hash, said_at,
    case when said_at is null then 'not sent'
         when role = 'user' then '{TOLD}'
         when shared.turn_id is null then '{NO_ATTEMPT}'
         when not acknowledged then 'not acknowledged'
         when not judged then 'not judged'
         when not told then 'an event is not told'
         when coalesce(asked_at >= $at, true) then 'no message of the user'
         else '{TOLD}' end as reason,
    case when reason <> '{TOLD}' then null
         when role = 'user' then said_at
         else greatest(said_at, shared_at, asked_at) end as opens_at
from spoken left join shared using (turn_id) left join asked using (session_id, exchange)
where coalesce(said_at < $at, true)
order by session_id, seq, turn_id
"""
_END_OF_TIME = 2**63 - 1


def read_gate(con: duckdb.DuckDBPyConnection, *, at: int | None = None) -> pl.DataFrame:
    """Every message with the instant from which it may be shown, and why not before or never.

    Parameters
    ----------
    con
        An open connection.
    at
        Microseconds since 1970 UTC: the gate as it stood then. What was said, acknowledged, judged
        or told at or after it has not happened. None: everything that ever happened.

    Returns
    -------
    pl.DataFrame
        turn_id, session_id, exchange (within the session, from 1; 0: before the user's first
        message), seq, role, text_hash, said_at, reason (`TOLD`, or what is missing), opens_at
        (microseconds since 1970 UTC; null: never). By session_id, seq, turn_id.

    Notes
    -----
    A message is sent when it has ``said_at``. Every role but ``user`` is the agent's. A gate never
    shuts again: the reason at an instant is `TOLD` exactly if ``opens_at`` lies before it.
    """
    instant = _END_OF_TIME if at is None else at
    frame: pl.DataFrame = con.sql(_GATE, params={"at": instant}).pl()
    return frame
