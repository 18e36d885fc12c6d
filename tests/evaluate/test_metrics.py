"""Metrics from ranks: values by hand, against two other libraries, and as properties."""

from __future__ import annotations

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, Success, nDCG

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.catalogue import METRICS, average, measure, metric_label, parse_metric
from recalltune.evaluate.labels import CaseLabels, per_case_sum
from recalltune.evaluate.metrics import ndcg

NAN = np.nan


def one_case(ranks: list[float], **columns: list[float]) -> tuple[np.ndarray, CaseLabels]:
    labels = CaseLabels.build(np.zeros(len(ranks), dtype=int), n_cases=1, **columns)
    return np.array(ranks), labels


def value(name: str, ranks: list[float], **columns: list[float]) -> float:
    return float(measure(name, *one_case(ranks, **columns))[0])


def test_a_target_at_place_three_gives_half_the_gain_and_a_third_of_the_rank() -> None:
    # 1 / log2(3 + 1) = 1/2; a list sorted by tied scores would have flattered or punished it.
    assert value("ndcg@10", [3]) == pytest.approx(0.5)
    assert value("reciprocal_rank", [3]) == pytest.approx(1 / 3)


def test_the_ideal_counts_targets_that_were_not_returned() -> None:
    # 1 / (1 + 1/log2 3) = 0.613147
    assert value("ndcg@10", [1, NAN]) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_recall_is_divided_by_all_targets_at_every_cutoff() -> None:
    # targets 0..4; returned [1, 0, 20, 30, 40]
    ranks = [2, 1, NAN, NAN, NAN]
    assert [value(f"recall@{k}", ranks) for k in range(1, 6)] == [0.2, 0.4, 0.4, 0.4, 0.4]


def test_linear_and_exponential_gain_differ_and_have_names_of_their_own() -> None:
    # returned grades [1, 2], ideal [2, 1]; discounts 1 and 1/log2(3)
    d = 1 / math.log2(3)
    assert value("ndcg", [1, 2], gains=[1, 2]) == pytest.approx((1 + 2 * d) / (2 + d))
    assert value("ndcg_exp", [1, 2], gains=[1, 2]) == pytest.approx((1 + 3 * d) / (3 + d))
    assert value("ndcg", [1, 2], gains=[1, 2]) == pytest.approx(0.859719, abs=1e-6)
    assert value("ndcg_exp", [1, 2], gains=[1, 2]) == pytest.approx(0.796708, abs=1e-6)


def test_grade_zero_is_not_a_target() -> None:
    assert value("recall@3", [1, NAN], gains=[0, 1]) == 0
    assert value("precision@3", [1, 2], gains=[0, 1]) == pytest.approx(1 / 3)
    assert math.isnan(value("recall@3", [1], gains=[0]))


def test_either_of_two_alternatives_answers_its_part() -> None:
    # [[a, b], [c]]; returned [b, x, c], then [a, b]
    groups = [0, 0, 1]
    assert value("recall@3", [NAN, 1, 3], groups=groups) == 1
    assert value("recall@3", [1, 2, NAN], groups=groups) == 0.5
    assert value("recall_all@3", [NAN, 1, 3], groups=groups) == 1
    assert value("recall_all@3", [1, 2, NAN], groups=groups) == 0


def test_alternatives_of_one_case_do_not_answer_for_another() -> None:
    labels = CaseLabels.build([0, 0, 1, 1], n_cases=2, groups=[0, 0, 0, 1])
    ranks = np.array([NAN, 1, 1, NAN])
    assert measure("recall@3", ranks, labels).tolist() == [1.0, 0.5]


def test_average_precision_divides_by_targets_missed_too() -> None:
    # places 1 and 4 of three targets: (1/1 + 2/4) / 3
    assert value("average_precision", [4, 1, NAN]) == pytest.approx(0.5)
    assert value("map@3", [4, 1, NAN]) == pytest.approx(1 / 3)


def test_a_hard_negative_counts_within_the_cutoff_only() -> None:
    columns = {"gains": [0, 0, 1], "hard_negative": [1, 1, 0]}
    assert value("hard_negative_rate@3", [3, 4, 1], **columns) == 0.5
    assert value("hard_negative_rate@2", [3, 4, 1], **columns) == 0
    assert math.isnan(value("hard_negative_rate@3", [1]))


@pytest.mark.parametrize(
    ("first", "then", "broken"),
    [(1, 2, 0), (2, 1, 1), (NAN, 1, 1), (1, NAN, 0), (NAN, NAN, 0)],
)
def test_an_order_is_broken_only_by_a_later_memory_that_is_shown(
    first: float, then: float, broken: float
) -> None:
    assert value("order_violations", [first, then], order=[0, 1]) == broken


def test_order_pairs_are_neighbours_whatever_row_they_stand_in() -> None:
    # expected a, b, c; rows c, a, b; shown a 2, b 1, c 3: only the pair a-b is broken
    assert value("order_violations", [3, 2, 1], order=[2, 0, 1]) == 0.5
    assert math.isnan(value("order_violations", [1], order=[0]))


def test_an_empty_list_scores_zero_and_a_case_without_target_is_counted_out() -> None:
    labels = CaseLabels.build([0, 1], n_cases=3)
    values = measure("ndcg@10", np.array([1.0, NAN]), labels)
    np.testing.assert_array_equal(values, [1.0, 0.0, NAN])
    summary = average(values)
    assert (float(summary.mean), int(summary.n), int(summary.undefined)) == (0.5, 2, 1)


def test_the_average_of_nothing_is_undefined_with_count_zero() -> None:
    summary = average(np.full((2, 3), NAN))
    assert np.isnan(summary.mean).all()
    assert summary.n.tolist() == [0, 0]


def test_a_whole_grid_gives_bit_for_bit_what_each_setting_gives_alone() -> None:
    rng = np.random.default_rng(3)
    case = np.sort(rng.integers(0, 40, 160))
    labels = CaseLabels.build(
        case,
        n_cases=40,
        gains=rng.integers(0, 4, 160),
        hard_negative=rng.random(160) < 0.3,
        order=np.where(rng.random(160) < 0.3, rng.permutation(160), -1),
    )
    ranks = np.where(rng.random((7, 3, 160)) < 0.3, NAN, rng.integers(1, 30, (7, 3, 160)))
    for name in METRICS:
        whole = measure(f"{name}@10", ranks, labels)
        for i in range(7):
            for j in range(3):
                alone = measure(f"{name}@10", ranks[i, j].copy(), labels)
                assert whole[i, j].tobytes() == alone.tobytes(), name


def random_runs(seed: int) -> tuple[dict, dict, np.ndarray, CaseLabels]:
    """Graded labels, some cases without any hit, and a ranked list of twenty for each."""
    rng = np.random.default_rng(seed)
    qrels, runs, case, gains, ranks = {}, {}, [], [], []
    for query in range(50):
        pool = [f"d{n:02d}" for n in rng.permutation(40)]
        relevant = pool[: int(rng.integers(1, 7))]
        returned = [f"d{n:02d}" for n in rng.permutation(40)[:20]] if query % 10 else []
        grades = rng.integers(1, 4, len(relevant)).tolist()
        qrels[f"q{query:02d}"] = dict(zip(relevant, grades, strict=True))
        if returned:
            runs[f"q{query:02d}"] = {d: 1.0 - n / 20 for n, d in enumerate(returned)}
        case += [query] * len(relevant)
        gains += grades
        ranks += [returned.index(d) + 1 if d in returned else NAN for d in relevant]
    labels = CaseLabels.build(case, n_cases=50, gains=gains)
    return qrels, runs, np.array(ranks, dtype=float), labels


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ndcg@10", nDCG @ 10),
        ("ndcg@3", nDCG @ 3),
        ("ndcg_exp@10", nDCG(gains={1: 1, 2: 3, 3: 7}) @ 10),
        ("reciprocal_rank@10", RR @ 10),
        ("average_precision", AP),
        ("average_precision@5", AP @ 5),
        ("recall@5", R @ 5),
        ("precision@5", P @ 5),
        ("recall_any@5", Success @ 5),
    ],
)
def test_ir_measures_agrees_case_by_case(ours: str, theirs: object, seed: int) -> None:
    qrels, runs, ranks, labels = random_runs(seed)
    found = {m.query_id: m.value for m in ir_measures.iter_calc([theirs], qrels, runs)}
    # ir_measures leaves unanswered queries out or gives 0; ours are always 0 and counted.
    expected = [found.get(query, 0.0) for query in qrels]
    np.testing.assert_allclose(measure(ours, ranks, labels), expected, rtol=0, atol=1e-9)


@pytest.mark.stress
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ndcg@10", "ndcg@10"),
        ("ndcg_exp@10", "ndcg_burges@10"),
        ("reciprocal_rank@10", "mrr@10"),
        ("average_precision@10", "map@10"),
        ("recall@10", "recall@10"),
        ("precision@10", "precision@10"),
        ("recall_any@10", "hit_rate@10"),
    ],
)
def test_ranx_agrees_case_by_case(ours: str, theirs: str) -> None:
    ranx = pytest.importorskip("ranx")
    qrels, runs, ranks, labels = random_runs(5)
    answered = sorted(runs)
    expected = ranx.evaluate(
        ranx.Qrels({q: qrels[q] for q in answered}), ranx.Run(runs), theirs, return_mean=False
    )
    values = measure(ours, ranks, labels)[[list(qrels).index(q) for q in answered]]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)


RANKS = st.lists(
    st.one_of(st.just(NAN), st.integers(1, 40).map(float)), min_size=1, max_size=8
).filter(lambda r: len({x for x in r if x == x}) == sum(x == x for x in r))


@given(RANKS, st.integers(1, 20))
def test_every_metric_stays_within_its_range(ranks: list[float], cutoff: int) -> None:
    order = list(range(len(ranks)))
    for name, metric in METRICS.items():
        columns = {"order": order, "hard_negative": [True] * len(ranks)}
        got = value(f"{name}@{cutoff}", ranks, **columns)
        assert math.isnan(got) or metric.low <= got <= metric.high + 1e-12


@given(RANKS, st.data())
def test_moving_a_target_up_never_lowers_a_metric(ranks: list[float], data: st.DataObject) -> None:
    shown = [n for n, rank in enumerate(ranks) if rank == rank and rank > 1]
    if not shown:
        return
    n = data.draw(st.sampled_from(shown))
    free = [p for p in range(1, int(ranks[n])) if p not in ranks]
    if not free:
        return
    better = [*ranks]
    better[n] = float(data.draw(st.sampled_from(free)))
    for name in ("ndcg", "reciprocal_rank", "average_precision", "recall", "precision"):
        assert value(f"{name}@10", better) >= value(f"{name}@10", ranks) - 1e-12


@given(RANKS, st.randoms())
def test_the_order_of_labels_within_a_case_does_not_matter(ranks: list[float], rnd: object) -> None:
    gains = [1 + n % 3 for n in range(len(ranks))]
    rows = list(range(len(ranks)))
    rnd.shuffle(rows)  # type: ignore[attr-defined]
    for name in ("ndcg@10", "average_precision", "recall@5"):
        first = value(name, ranks, gains=gains)
        again = value(name, [ranks[r] for r in rows], gains=[gains[r] for r in rows])
        assert first == pytest.approx(again, abs=1e-12)


def test_sums_of_cases_without_labels_are_zero() -> None:
    offsets = np.array([0, 0, 2, 2, 3, 3])
    assert per_case_sum(np.array([1.0, 2.0, 4.0]), offsets).tolist() == [0, 3, 0, 4, 0]


def test_bad_ranks_offsets_and_cutoffs_are_refused_by_name() -> None:
    ranks, labels = one_case([1.0])
    with pytest.raises(ContractError, match=r"ranks must lie in \[1, inf\) or be NaN, got 0.0"):
        measure("ndcg@10", ranks - 1, labels)
    with pytest.raises(ContractError, match=r"ranks must be \(..., 1\) to match the labels"):
        measure("ndcg@10", np.ones(2), labels)
    with pytest.raises(ContractError, match="offsets must run from 0 to 1, got 0 to 2"):
        ndcg(ranks, labels.gains, np.array([0, 2]))
    with pytest.raises(ParameterError, match=r"cutoff must lie in \[1, inf\), got 0"):
        ndcg(ranks, labels.gains, labels.offsets, cutoff=0)
    with pytest.raises(ParameterError, match="gain must be 'linear' or 'exponential', got 'log'"):
        ndcg(ranks, labels.gains, labels.offsets, gain="log")  # type: ignore[arg-type]


def test_labels_are_checked_when_they_are_laid_out() -> None:
    with pytest.raises(ContractError, match="sorted by case"):
        CaseLabels.build([1, 0], n_cases=2)
    with pytest.raises(ContractError, match=r"case numbers must lie in \[0, 2\), got 0 to 2"):
        CaseLabels.build([0, 2], n_cases=2)
    with pytest.raises(ContractError, match=r"gains must lie in \[0, inf\), got -1.0 at label 1"):
        CaseLabels.build([0, 0], n_cases=1, gains=[1, -1])
    with pytest.raises(ContractError, match=r"order must be \(2,\) to match the labels"):
        CaseLabels.build([0, 0], n_cases=1, order=[1])


def test_an_unknown_metric_names_the_nearest_known_one() -> None:
    with pytest.raises(ParameterError, match="unknown metric 'ncdg@10'; nearest: 'ndcg'"):
        parse_metric("ncdg@10")
    with pytest.raises(ParameterError, match="NAME or NAME@CUTOFF with a cutoff from 1"):
        parse_metric("ndcg@0")
    with pytest.raises(ParameterError, match="metric 'precision' needs a cutoff"):
        parse_metric("precision")


def test_names_aliases_and_labels_are_read_back() -> None:
    metric, cutoff = parse_metric("hit@1")
    assert (metric.name, cutoff, metric.better) == ("recall_any", 1, "higher")
    assert metric_label("ndcg@10") == "nDCG@10"
    assert metric_label("order_violations") == "Order violations"
    assert parse_metric("hard_negative_rate@3")[0].better == "lower"
