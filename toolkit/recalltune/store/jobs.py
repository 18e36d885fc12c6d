"""Pending work and its leases: who may do a piece of work, until when, and how often it is tried.

In: an open connection and ``now``. Out: one job at a time. A worker that dies keeps its job only
until the lease ends; what it had not finished stays undone, and another worker may try.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl

from recalltune.errors import ContractError, ParameterError
from recalltune.store.frames import run
from recalltune.store.rows import Job

__all__ = [
    "LEASE_EXPIRED",
    "MOST_ATTEMPTS",
    "claim_job",
    "expire_leases",
    "finish_job",
    "queue_jobs",
]

MOST_ATTEMPTS = 3
"""Tries of one job before it is left alone."""
LEASE_EXPIRED = "lease_expired"
"""Reason of a job whose worker did not come back in time."""

_QUEUE = """
insert into job by name
select $kind as kind, wanted.ref, 'queued' as state, 0 as attempts
from wanted anti join (from job where kind = $kind) known using (ref)
order by ref
"""
_COUNT = "select count(*) from job where kind = $kind"
_CLAIM = """
update job set state = 'pending', attempts = attempts + 1, owner = $owner, lease_until = $until,
               reason = null
where kind = $kind and ref = (
    select min(ref) from job
    where kind = $kind and state in ('queued', 'failed') and attempts < $most)
returning *
"""
_EXPIRE = """
update job set state = 'failed', owner = null, lease_until = null, reason = $reason
where state = 'pending' and lease_until <= $now
returning ref
"""
# The number of the attempt tells a claim from a later one of the same owner.
_FINISH = """
update job set state = 'done', owner = null, lease_until = null
where kind = $kind and ref = $ref and state = 'pending' and owner = $owner
  and attempts = $attempts and lease_until > $now
returning ref
"""


def queue_jobs(con: duckdb.DuckDBPyConnection, kind: str, refs: Sequence[str]) -> int:
    """Queue one job a reference; one that exists already, in any state, stays as it is.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`.
    kind
        What is to be done, such as ``gist`` or ``embed``.
    refs
        What it is to be done to: ids, in text.

    Returns
    -------
    int
        Number of jobs added.
    """
    before = con.sql(_COUNT, params={"kind": kind}).fetchall()[0][0]
    frame = pl.DataFrame({"ref": list(dict.fromkeys(refs))}, schema={"ref": pl.String})
    run(con, _QUEUE, {"kind": kind}, wanted=frame)
    return int(con.sql(_COUNT, params={"kind": kind}).fetchall()[0][0]) - int(before)


def claim_job(
    con: duckdb.DuckDBPyConnection,
    kind: str,
    *,
    owner: str,
    now: datetime,
    lease: timedelta,
    most_attempts: int = MOST_ATTEMPTS,
) -> Job | None:
    """Take the first job, by reference, that is queued or failed and not tried too often.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`.
    kind
        What is to be done.
    owner
        Who takes it.
    now
        Instant with a zone.
    lease
        Longer than 0. After ``now + lease`` the job may be taken away, see `expire_leases`.
    most_attempts
        >= 1. A job tried this often is left alone.

    Returns
    -------
    Job or None
        The job as it now stands: ``pending``, attempts counted up. None where there is none.

    Raises
    ------
    ParameterError
        If ``now`` has no zone, ``lease`` is not positive or ``most_attempts`` is below 1.
    """
    if lease <= timedelta(0):
        msg = f"lease must be longer than 0, got {lease}"
        raise ParameterError(msg)
    if most_attempts < 1:
        msg = f"most_attempts must be >= 1, got {most_attempts}"
        raise ParameterError(msg)
    until = _instant(now) + lease
    values = {"kind": kind, "owner": owner, "until": until, "most": most_attempts}
    rows = con.sql(_CLAIM, params=values).pl().to_dicts()
    return Job(**rows[0]) if rows else None


def expire_leases(con: duckdb.DuckDBPyConnection, *, now: datetime) -> int:
    """Number of jobs taken from workers whose lease ended at or before ``now``.

    Such a job is ``failed`` with the reason `LEASE_EXPIRED`, and may be claimed again.

    Raises
    ------
    ParameterError
        If ``now`` has no zone.
    """
    values = {"now": _instant(now), "reason": LEASE_EXPIRED}
    return len(con.execute(_EXPIRE, values).fetchall())


def finish_job(con: duckdb.DuckDBPyConnection, job: Job, *, now: datetime) -> None:
    """Mark a claimed job as done, in the transaction that writes its result.

    Parameters
    ----------
    con
        An open connection inside `Lab.writing`; where this raises, nothing of the block is kept.
    job
        As `claim_job` gave it.
    now
        Instant with a zone.

    Raises
    ------
    ContractError
        If the lease has ended or somebody else holds the job: the result must not be written.
    ParameterError
        If ``now`` has no zone.
    """
    values = {"kind": job.kind, "ref": job.ref, "owner": job.owner, "attempts": job.attempts}
    if not con.execute(_FINISH, values | {"now": _instant(now)}).fetchall():
        msg = (
            f"job {job.kind}/{job.ref}: the lease of {job.owner!r} (attempt {job.attempts}) ended "
            f"at {job.lease_until} or another worker holds it; claim it again"
        )
        raise ContractError(msg)


def _instant(now: datetime) -> datetime:
    if now.tzinfo is None:
        msg = f"now must carry a time zone, got {now.isoformat()}"
        raise ParameterError(msg)
    return now.astimezone(UTC)
