"""Views: frames by hand, by brute force, and unmoved by what must not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.comparing import paired_runs
from recalltune.evaluate.paired import mean_of, paired
from recalltune.evaluate.query_views import (
    flow,
    listed,
    memories_then,
    rival,
    waterfall,
)
from recalltune.evaluate.run import evaluate
from recalltune.evaluate.views import (
    accounts,
    age_strata,
    compare,
    flips,
    label_of,
    layers_over_time,
    slices,
    targets,
)
from recalltune.pipeline.address import set_many
from recalltune.pipeline.explain import explain
from recalltune.replay.fate_views import loss_account
from recalltune.replay.fates import fates
from recalltune.sweep.choose import difference


@pytest.fixture(scope="module")
def pair(story):
    return story.default, story.contender


def brute_force_rank(candidates, run, query_id):
    wanted = candidates.labels.filter(
        (pl.col("query_id") == query_id) & (pl.col("role") == "target") & pl.col("exists")
    )["memory_id"].to_list()
    ranks = [
        row["rank"]
        for row in run.hits.filter(pl.col("query_id") == query_id).to_dicts()
        if row["memory_id"] in wanted
    ]
    return min(ranks, default=None)


def test_a_paired_difference_is_the_mean_with_a_widened_interval_where_few_sessions_differ():
    # Sessions a, b, c with sums 1, -0.5, 0 over 1, 1, 2 cases; two made-up cases of +1 and -1.
    found = paired(np.array([1.0, -0.5, 0.0, 0.0]), ["a", "b", "c", "c"])
    sums, sizes = np.array([1.0, -0.5, 0.0, 1.0, -1.0]), np.array([1, 1, 2, 1, 1])
    mean = sums.sum() / 6
    error = np.sqrt(((sums - mean * sizes) ** 2).sum()) / 6
    half = stats.t.ppf(0.975, 4) * error
    assert found.diff == pytest.approx(0.125)
    assert (found.lo, found.hi) == pytest.approx((mean - half, mean + half))
    assert (found.n, found.changed) == (4, 2)


def test_undefined_cases_take_no_part_and_none_at_all_gives_no_number():
    some = paired(np.array([0.5, np.nan]), ["a", "b"])
    none = paired(np.array([np.nan]), ["a"])
    assert (some.diff, some.n) == (0.5, 1)
    assert (none.diff, none.lo, none.hi, none.n) == (None, None, None, 0)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_cases_and_the_names_of_sessions_do_not_matter(values, random):
    sessions = [f"s{at // 2}" for at in range(len(values))]
    order = list(range(len(values)))
    random.shuffle(order)
    one = paired(np.array(values), sessions)
    # Renamed with the same order of names, so that the same clusters are drawn again.
    two = paired(np.array([values[at] for at in order]), [f"x{sessions[at]}" for at in order])
    assert two.n == one.n
    assert two.diff == pytest.approx(one.diff, abs=1e-12)
    if one.lo is not None and len(values) < 28:
        assert (two.lo, two.hi) == pytest.approx((one.lo, one.hi), abs=1e-9)


def test_the_difference_of_two_runs_is_the_one_the_terminal_prints(pair):
    for metric in ("ndcg@10", "recall@10", "passed", "tokens"):
        mine, theirs = paired_runs(*pair, metric), difference(*pair, metric)
        assert (mine.diff, mine.lo, mine.hi, mine.n) == (
            theirs.mean, theirs.lo, theirs.hi, theirs.n,
        )  # fmt: skip


def test_compare_gives_each_mean_and_the_difference_to_the_first(pair):
    frame = compare({"a": pair[0], "b": pair[1]}, ["ndcg@10", "tokens"])
    assert frame.select("row", "name").rows() == [
        ("a", "ndcg@10"), ("a", "tokens"), ("b", "ndcg@10"), ("b", "tokens"),
    ]  # fmt: skip
    first, second = frame.filter(pl.col("name") == "ndcg@10").to_dicts()
    assert first["value"] == pytest.approx(pair[0].cases["ndcg@10"].mean())
    assert first["diff"] is None
    assert second["diff"] == pytest.approx(second["value"] - first["value"])
    assert second["diff_lo"] <= second["diff"] <= second["diff_hi"]
    assert first["metric"] == "nDCG@10"


def test_swapping_two_runs_turns_every_difference_around(pair):
    there = compare({"a": pair[0], "b": pair[1]}, ["ndcg@10", "passed"]).drop_nulls("diff")
    back = compare({"b": pair[1], "a": pair[0]}, ["ndcg@10", "passed"]).drop_nulls("diff")
    np.testing.assert_allclose(there["diff"].to_numpy(), -back["diff"].to_numpy())
    np.testing.assert_allclose(there["diff_lo"].to_numpy(), -back["diff_hi"].to_numpy(), atol=0.02)
    assert there["changed"].to_list() == back["changed"].to_list()


def test_a_run_against_itself_changes_nothing(pair):
    row = compare({"a": pair[0], "again": replace(pair[0])}, ["ndcg@10"]).row(1, named=True)
    assert (row["diff"], row["changed"]) == (0.0, 0)
    assert row["diff_lo"] < 0 < row["diff_hi"]


def test_runs_on_other_data_or_other_cases_are_not_compared(pair):
    other = replace(pair[1], stamp=replace(pair[1].stamp, data="ffffffff"))
    fewer = replace(pair[1], cases=pair[1].cases.head(3))
    with pytest.raises(ContractError, match="the data differ"):
        compare({"a": pair[0], "b": other}, ["ndcg@10"])
    with pytest.raises(ContractError, match="the cases differ"):
        paired_runs(pair[0], fewer, "ndcg@10")


def test_a_metric_a_run_does_not_hold_is_named_with_those_it_does(pair):
    with pytest.raises(ParameterError, match=r"holds ndcg@10.*got 'ndcg@7'"):
        compare({"a": pair[0]}, ["ndcg@7"])
    with pytest.raises(ParameterError, match="at least one evaluation"):
        compare({}, ["ndcg@10"])


def test_slices_split_the_cases_without_rest(pair):
    frame = slices(*pair, "ndcg@10")
    whole = frame.filter(pl.col("by") == "all").row(0, named=True)
    for by in ("kind", "lang"):
        part = frame.filter(pl.col("by") == by)
        assert part["n"].sum() == whole["n"]
        weighted = (part["diff"] * part["n"]).sum() / whole["n"]
        assert weighted == pytest.approx(whole["diff"])
    with pytest.raises(ParameterError, match="no column 'mood'"):
        slices(*pair, "ndcg@10", by=["mood"])


def test_flips_hold_the_best_rank_of_each_case_in_both_runs(story, pair):
    frame = flips(story.candidates, *pair)
    assert frame.height == story.candidates.queries.height
    for row in frame.to_dicts():
        assert row["rank_a"] == brute_force_rank(story.candidates, pair[0], row["case_id"])
        assert row["rank_b"] == brute_force_rank(story.candidates, pair[1], row["case_id"])
    assert frame["rank_a"].null_count() > 0
    assert frame.filter(pl.col("rank_a").ne_missing(pl.col("rank_b"))).height > 0


def test_targets_are_as_old_as_they_were_when_asked(story):
    frame = targets(story.candidates)
    # m012 was born 24 days after the start, every case is asked 130 days after it.
    row = frame.filter(pl.col("memory_id") == "m012").row(0, named=True)
    assert row["age_days"] == pytest.approx(106.0)
    assert row["layer"] == "user"


def test_a_target_that_is_not_known_yet_is_no_target(story):
    labels = story.candidates.labels
    gone = labels.with_columns(
        pl.when(pl.col("query_id") == "c003").then(pl.lit(value=False)).otherwise("exists")
        .alias("exists")
    )  # fmt: skip
    frame = targets(replace(story.candidates, labels=gone))
    assert "c003" not in frame["query_id"].to_list()
    assert frame.height == targets(story.candidates).height - 1


def test_age_strata_put_every_target_in_one_bin_and_count_those_shown(story, pair):
    frame = age_strata(
        story.candidates, {"default": pair[0], "b": pair[1]}, chosen="b", cutoff=3, bins=(30, 90)
    )
    wanted = targets(story.candidates)
    assert frame.filter(pl.col("config") == "default")["n"].sum() == wanted.height
    young = wanted.filter(pl.col("age_days") <= 30)
    shown = (
        pair[0]
        .hits.filter(pl.col("rank") <= 3)
        .join(young, on=["query_id", "memory_id"], how="semi")
    )
    row = frame.filter((pl.col("bin") == "0 to 30 days") & (pl.col("config") == "default"))
    assert row["value"][0] == pytest.approx(shown.height / young.height)
    assert row["role"][0] == "default"
    assert row["diff"][0] is None
    assert set(frame["role"]) == {"default", "chosen"}
    with pytest.raises(ParameterError, match="rising"):
        age_strata(story.candidates, {"default": pair[0]}, bins=(90, 30))


def test_a_target_without_a_time_has_a_bin_of_its_own(story, pair):
    spans = story.candidates.spans.with_columns(
        pl.when(pl.col("memory_id") == "m012").then(None).otherwise("event_at").alias("event_at")
    )
    frame = age_strata(replace(story.candidates, spans=spans), {"default": pair[0]})
    undated = frame.filter(pl.col("bin") == "no date")
    meant = story.candidates.labels.filter(pl.col("memory_id") == "m012").height
    assert undated["n"].to_list() == [meant]
    assert frame["bin_order"].is_sorted()


def test_the_account_of_a_case_adds_up_to_its_list(pair):
    frame = accounts(pair[0])
    per_case = frame.group_by("query_id").agg(pl.col("picked", "tokens").sum())
    lists = pair[0].hits.group_by("query_id").agg(pl.len().alias("n"), pl.col("tokens").sum())
    both = per_case.join(lists, on="query_id")
    assert both["picked"].to_list() == both["n"].to_list()
    assert both["tokens"].to_list() == both["tokens_right"].to_list()
    assert frame["round"].min() == 1
    assert (frame["picked"] + frame["dropped"] == frame["candidates"]).all()


def test_layers_over_time_count_each_memory_once(story):
    frame = layers_over_time(story.candidates.spans)
    assert frame["n"].sum() == story.candidates.spans["memory_id"].n_unique() == 60
    january = frame.filter(
        (pl.col("layer") == "project") & (pl.col("month") == pl.date(2026, 1, 1))
    )
    # Memories 0, 5, 10, 15 are born on days 0, 10, 20 and 30 of January.
    assert january["n"].to_list() == [4]


def test_flow_keeps_the_targets_and_no_more_memories_than_asked_for(story):
    frame = flow(story.candidates, story.runs, "c004", most=4)
    assert frame["memory_id"].n_unique() == 4
    assert frame["column"].unique(maintain_order=True).to_list() == list(story.runs)
    target = frame.filter(pl.col("role") == "target")
    assert target["memory_id"].unique().to_list() == ["m016"]
    for row in frame.to_dicts():
        hits = story.runs[row["column"]].hits.filter(
            (pl.col("query_id") == "c004") & (pl.col("memory_id") == row["memory_id"])
        )
        assert row["rank"] == (hits["rank"][0] if hits.height else None)
    with pytest.raises(ParameterError, match="query_id 'nope' is unknown"):
        flow(story.candidates, story.runs, "nope")


def test_the_text_of_a_memory_is_the_one_of_the_questions_time(story):
    spans = story.candidates.spans
    first = spans.filter(pl.col("memory_id") == "m016")
    asked = int(story.candidates.queries["asked_at"][0])
    earlier = first.with_columns(leaves_at=pl.lit(asked), text=pl.lit("as it was"))
    later = first.with_columns(enters_at=pl.lit(asked), version=pl.lit(9, pl.Int64))
    changed = pl.concat([spans, earlier, later], how="vertical_relaxed").filter(
        (pl.col("memory_id") != "m016") | (pl.col("text") == "as it was") | (pl.col("version") == 9)
    )
    table = replace(story.candidates, spans=changed)
    # An event at time e is seen at t only if e < t: the later text enters too late.
    assert memories_then(table, "c004", ["m016"])["m016"]["text"] == "as it was"


def test_a_memory_that_did_not_exist_has_no_text(story):
    fact = memories_then(story.candidates, "c004", ["secret", "m016"])
    assert not fact["secret"]["known"]
    assert fact["secret"]["text"] == "not known when this was asked"
    assert fact["m016"]["known"]


def test_the_list_of_a_query_is_the_runs_list_with_roles(story, pair):
    frame = listed(story.candidates, pair[0], "c004")
    hits = pair[0].hits.filter(pl.col("query_id") == "c004").sort("rank")
    assert frame["memory_id"].to_list() == hits["memory_id"].to_list()
    assert set(frame["role"]) <= {"target", "superseded", "hard negative", "other"}


def test_the_rival_stands_above_the_target_or_is_the_best_other(story, pair):
    for query_id in story.candidates.queries["query_id"]:
        found = rival(story.candidates, pair[0], query_id)
        ranks = dict(
            pair[0].hits.filter(pl.col("query_id") == query_id)
            .select("memory_id", "rank").iter_rows()
        )  # fmt: skip
        if found is not None:
            target, other = found
            assert target != other
            assert other in ranks
            if target in ranks and ranks[target] > 1:
                assert ranks[other] < ranks[target]


def test_the_waterfall_ends_where_explain_ends(story):
    config = story.contender_config
    pair = rival(story.candidates, story.default, "c004")
    frame = waterfall(story.candidates, config, "c004", {"target": pair[0], "rival": pair[1]})
    evidence = explain(story.candidates, config, "c004")
    for item, memory_id in zip(("target", "rival"), pair, strict=True):
        rows = frame.filter(pl.col("item") == item)
        last = evidence.filter(pl.col("memory_id") == memory_id).sort("step")["after"][-1]
        assert rows["after"][-1] == last
        assert rows["kind"][0] == "start"
        assert rows["kind"][-1] == "final"
        np.testing.assert_array_equal(rows["before"][1:], rows["after"][:-1])
    with pytest.raises(ParameterError, match="target 'secret' is no candidate"):
        waterfall(story.candidates, config, "c004", {"target": "secret"})


def test_lost_targets_balance_and_the_rest_is_what_is_shown(story, pair):
    config = story.default.config
    frame = loss_account(fates(story.candidates, config), config)
    last = frame.group_by("step", maintain_order=True).agg(
        pl.col("alive").last(), pl.col("lost").sum()
    )
    alive, lost = last["alive"].to_list(), last["lost"].to_list()
    assert all(alive[at] - lost[at + 1] == alive[at + 1] for at in range(len(alive) - 1))
    pairs = targets(story.candidates).select("query_id", "memory_id")
    assert alive[-1] == pair[0].hits.join(pairs, on=["query_id", "memory_id"], how="semi").height
    assert lost[-1] > 0
    more = set_many(config, {"select.top_k": 200})
    assert loss_account(fates(story.candidates, more), more)["lost"][-1] == 0


def test_names_of_metrics_read_as_people_write_them():
    assert label_of("passed") == "cases passed"
    assert label_of("recall_all@10") == "All found@10"


def test_means_have_the_interval_of_the_summary_in_kind(story):
    run = evaluate(story.candidates, story.default.config)
    values = run.cases["ndcg@10"].to_numpy()
    own = mean_of(values, run.cases["session"].to_list())
    assert own.diff == pytest.approx(float(values.mean()))
    assert own.lo <= own.diff <= own.hi
