"""How times are taken and told."""

from __future__ import annotations

import pytest

from benchmarks import timing
from benchmarks.rows import against
from benchmarks.timing import Timed, interleaved


def test_contestants_take_turns_and_slow_work_runs_once_a_turn(monkeypatch):
    monkeypatch.setattr(timing, "SHORTEST", 0.0)
    calls: list[str] = []
    work = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    times = interleaved(work, repeats=3)
    # Two calls each to warm up and to see how long one takes, then turns.
    assert "".join(calls) == "aabb" + "ab" * 3
    assert [len(timed.wall) for timed in times.values()] == [3, 3]


def test_a_ratio_compares_times_per_unit_of_work():
    times = {"ours": Timed((2.0,), (2.0,)), "peer": Timed((9.0,), (3.0,))}
    (row,) = against("w", times, per={"ours": 10, "peer": 3})
    # Ours 2 / 10 a unit, theirs 9 / 3: 3.0 / 0.2 = 15; in processor time 1.0 / 0.2 = 5.
    assert (row.ours_ms, row.peer_ms) == (pytest.approx(200.0), pytest.approx(3_000.0))
    assert (row.ratio, row.cpu_ratio) == (pytest.approx(15.0), pytest.approx(5.0))


def test_the_median_and_not_the_mean_of_the_repeats_counts():
    assert Timed((1.0, 1.0, 100.0), (1.0, 1.0, 1.0)).median == 1.0
