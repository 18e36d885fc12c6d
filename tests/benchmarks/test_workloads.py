"""The benchmarks' own ground: generators give what they say, and gates refuse what is wrong."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from benchmarks import (
    diversity,
    fusing,
    grid_places,
    grid_sweep,
    lexical,
    measuring,
    reinforcing,
    text_data,
)
from benchmarks.grid_data import as_config, candidate_table, settings
from recalltune.candidates.table import Candidates
from recalltune.rank.bm25 import PostingIndex


def digest(table: Candidates) -> str:
    told = hashlib.sha256(table.labels.write_csv().encode())
    for name in sorted(table.features):
        told.update(np.ascontiguousarray(table.features[name]).tobytes())
    return told.hexdigest()


def test_w6_is_the_same_table_every_time_and_another_one_for_another_seed():
    assert digest(candidate_table(20, 30)) == digest(candidate_table(20, 30))
    assert digest(candidate_table(20, 30)) != digest(candidate_table(20, 30, seed=1))


def test_w6_has_the_labels_it_promises():
    counts = candidate_table().labels.group_by("query_id", "role").len()
    targets = counts.filter(role="target")["len"]
    negatives = counts.filter(role="hard_negative")["len"]
    assert (targets.min(), targets.max(), negatives.min(), negatives.max()) == (1, 4, 1, 3)
    # Uniform on 1..4 and 1..3: means 2.5 and 2, standard errors 1.12 / sqrt(500), 0.82 / sqrt(500).
    assert targets.mean() == pytest.approx(2.5, abs=4 * 1.12 / 500**0.5)
    assert negatives.mean() == pytest.approx(2.0, abs=4 * 0.82 / 500**0.5)


def test_w6_ranks_are_permutations_and_every_candidate_is_in_a_list():
    table = candidate_table(10, 40)
    ranks = [table.feature("lexical_rank"), table.feature("dense_rank")]
    for arm in ranks:
        for row in arm:
            listed = np.sort(row[~np.isnan(row)])
            np.testing.assert_array_equal(listed, np.arange(1.0, listed.size + 1.0))
    assert not (np.isnan(ranks[0]) & np.isnan(ranks[1])).any()


def test_the_grid_has_2500_settings_that_are_2500_configs():
    prints = {as_config(setting).fingerprint for setting in settings()}
    assert len(prints) == 5 * 4 * (5 + 4 * 5) * 5 == 2_500


def test_a_weibull_scale_is_the_age_at_which_one_over_e_is_left():
    weibull = next(s for s in settings() if s.shape == 2.0 and s.half_life_days < 15)
    left = 2.0 ** -((15.0 / weibull.half_life_days) ** 2.0)
    assert left == pytest.approx(np.exp(-1.0), rel=1e-12)


def test_w1_is_the_same_collection_every_time_with_lengths_in_range():
    docs = text_data.documents(1_000)
    assert docs == text_data.documents(1_000)
    assert {len(doc) >= 5 and len(doc) <= 400 for doc in docs} == {True}
    # Mean of the log-normal: 40 * exp(0.6^2 / 2) = 47.9.
    assert np.mean([len(doc) for doc in docs]) == pytest.approx(47.9, abs=4.0)
    asked = text_data.queries(docs, 50)
    assert asked == text_data.queries(docs, 50)
    assert all(3 <= len(set(query)) == len(query) <= 8 for query in asked)
    assert min(int(word[1:]) for query in asked for word in query) >= text_data.RAREST_COMMON


def test_our_sweep_equals_the_plain_loop_on_a_small_w6():
    grid = list(settings())
    grid_sweep.gate(candidate_table(15, 40), grid, grid_sweep.evenly(grid, 6))


def test_the_gate_of_the_sweep_refuses_a_metric_that_is_off_in_one_query(monkeypatch):
    honest = grid_sweep.plain_sweep

    def wrong(cases, grid):
        found = honest(cases, grid)
        found[0]["mrr"][3] += 1e-9
        return found

    monkeypatch.setattr(grid_sweep, "plain_sweep", wrong)
    with pytest.raises(AssertionError, match="mrr"):
        grid_sweep.gate(candidate_table(6, 20), list(settings()), [0])


def test_places_and_budget_equal_the_plain_packing_on_a_small_w6():
    grid = list(settings())
    grid_places.gate(candidate_table(12, 60), [grid[0], grid[1_700]])


def test_mmr_equals_the_plain_loop():
    diversity.gate(size=30, picks=8, dim=16)


def test_rrf_equals_the_plain_loop():
    fusing.gate(fusing.lists(5))


def test_metrics_equal_ir_measures():
    measuring.gate(measuring.judged(40))


def test_bm25_top_ten_equals_bm25s():
    docs = text_data.documents(1_000)
    search = lexical.bm25s_search(docs, "numpy")
    lexical.gate(PostingIndex.build(docs), search, text_data.queries(docs, 40))


def test_the_gate_of_bm25_refuses_other_scores():
    docs = text_data.documents(1_000)
    honest = lexical.bm25s_search(docs, "numpy")

    def wrong(asked):
        return [[(row, score * 1.001) for row, score in found] for found in honest(asked)]

    with pytest.raises(AssertionError):
        lexical.gate(PostingIndex.build(docs), wrong, text_data.queries(docs, 5))


@pytest.mark.slow
def test_reinforced_walks_show_the_same_lists_on_every_path():
    pytest.importorskip("numba")
    table = reinforcing.table(200, queries=40, width=30, skew=1.0)
    reinforcing.gate(table, reinforcing.configs((0.5, 4.0), top_k=4))
