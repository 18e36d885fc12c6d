"""Leases: one worker at a time, three tries, nothing pretended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recalltune import store
from recalltune.errors import ContractError, ParameterError
from recalltune.store import claim_job, expire_leases, finish_job, queue_jobs

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LEASE = timedelta(seconds=40)


def claim(con, at=NOW, owner="w", **options):
    return claim_job(con, "gist", owner=owner, now=at, lease=LEASE, **options)


def row(con, ref):
    return store.read_table(con, "job", ref=ref).row(0, named=True)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def test_jobs_are_claimed_in_order_of_their_reference(con):
    assert queue_jobs(con, "gist", ["m02", "m01", "m02"]) == 2
    assert queue_jobs(con, "embed", ["m00"]) == 1
    assert [claim(con).ref, claim(con).ref, claim(con)] == ["m01", "m02", None]


def test_a_claim_counts_the_try_and_names_the_owner(con):
    queue_jobs(con, "gist", ["m"])
    job = claim(con, owner="first")
    assert (job.state, job.attempts, job.owner, job.lease_until) == (
        "pending", 1, "first", later(40),
    )  # fmt: skip
    assert claim(con, owner="second") is None


def test_a_lease_ends_at_its_instant_and_not_before(con):
    queue_jobs(con, "gist", ["m"])
    claim(con)
    assert expire_leases(con, now=later(39.999)) == 0
    assert expire_leases(con, now=later(40)) == 1
    assert row(con, "m") | {"kind": "gist", "ref": "m"} == {
        "kind": "gist", "ref": "m", "state": "failed", "attempts": 1, "owner": None,
        "lease_until": None, "reason": "lease_expired",
    }  # fmt: skip


def test_a_job_is_tried_three_times(con):
    queue_jobs(con, "gist", ["m"])
    for attempt in (1, 2, 3):
        assert claim(con).attempts == attempt
        expire_leases(con, now=later(60))
    assert claim(con) is None
    assert claim(con, most_attempts=4).attempts == 4


def test_a_finished_job_is_done_and_queued_no_second_time(con):
    queue_jobs(con, "gist", ["m"])
    finish_job(con, claim(con), now=later(39))
    assert (row(con, "m")["state"], row(con, "m")["reason"]) == ("done", None)
    assert queue_jobs(con, "gist", ["m"]) == 0
    assert claim(con) is None


@pytest.mark.parametrize("owner", ["w", "other"])
def test_a_worker_that_comes_back_late_cannot_finish(con, owner):
    queue_jobs(con, "gist", ["m"])
    late = claim(con)
    with pytest.raises(ContractError, match=r"job gist/m: the lease of 'w' \(attempt 1\) ended"):
        finish_job(con, late, now=later(40))
    expire_leases(con, now=later(60))
    again = claim(con, later(60), owner=owner)
    with pytest.raises(ContractError, match="claim it again"):
        finish_job(con, late, now=later(61))
    finish_job(con, again, now=later(61))
    assert row(con, "m")["attempts"] == 2


def test_a_result_is_not_kept_where_the_lease_was_lost(tmp_path):
    lab = store.open(tmp_path / "l.duckdb")
    with lab.writing() as con:
        queue_jobs(con, "gist", ["m"])
        job = claim(con)

    def finish_late():
        with lab.writing() as con:
            store.put_texts(con, ["the result"])
            finish_job(con, job, now=later(60))

    with pytest.raises(ContractError):
        finish_late()
    with lab.reading() as con:
        assert store.read_table(con, "text").height == 0
        assert row(con, "m")["state"] == "pending"


def test_wrong_times_are_refused_by_name(con):
    queue_jobs(con, "gist", ["m"])
    with pytest.raises(ParameterError, match="now must carry a time zone, got 2026-03-01T00:00:00"):
        claim(con, datetime(2026, 3, 1))  # noqa: DTZ001
    with pytest.raises(ParameterError, match="lease must be longer than 0, got 0:00:00"):
        claim_job(con, "gist", owner="w", now=NOW, lease=timedelta(0))
    with pytest.raises(ParameterError, match="most_attempts must be >= 1, got 0"):
        claim(con, most_attempts=0)
