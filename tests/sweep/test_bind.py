"""Which parameters bind: planted ones, both ways, and what the verdicts may not depend on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import recalltune as rt
from recalltune.candidates.build import candidates_for
from recalltune.candidates.narrow import narrowed, widest
from recalltune.errors import ContractError, ParameterError, checked
from recalltune.evaluate.shown import rank
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stages import AnyStage
from recalltune.production.golden.one_query import one_query
from recalltune.sweep.abstain import TOGETHER, abstention
from recalltune.sweep.bind import VERDICTS, bind
from recalltune.sweep.leads import leads
from recalltune.sweep.probes import probes, probes_of
from recalltune.sweep.sample import representative
from small_lab import Ask, Note, WordEncoder, make_lab
from toy_candidates import LAYERS, filed, housed, remembered, toy

ARMS = {"lexical": {}, "dense": {}}


def config(*stages: dict[str, Any], arms: dict[str, Any] | None = None) -> RankingConfig:
    values = {"layers": list(LAYERS), "arms": arms or ARMS, "stages": list(stages)}
    return checked(RankingConfig, values)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return dict(found.select("address", "verdict").iter_rows())


def told(found: pl.DataFrame, address: str) -> dict[str, Any]:
    return found.filter(pl.col("address") == address).row(0, named=True)


TABLE = toy(7, queries=12, columns=20, grain=9)

# Live: the half-life, the weight of salience, the length of the list. Dead: the shape, which an
# exponential does not read; a minimum below every score; a cap no list comes near.
PLANTED = config(
    {"kind": "weighted", "calibration": dict.fromkeys(("dense", "lexical"), "min_max")},
    {"kind": "decay", "family": "exponential", "half_life_days": 30.0, "floor": 0.5},
    {"kind": "salience", "salience_weight": 0.5},
    {"kind": "threshold", "min_score": 0.0001},
    {"kind": "select", "top_k": 5, "caps": {"log": 400}},
)


def test_three_live_and_three_dead_knobs_are_told_apart() -> None:
    found = bind(TABLE, PLANTED)
    known = verdicts(found)
    assert {known[a] for a in ("decay.half_life_days", "salience.salience_weight")} == {"binds"}
    assert known["select.top_k"] == "binds"
    assert known["decay.shape"] == "never binds"
    assert known["threshold.min_score"] == "binds above"
    assert known["select.caps.log"] == "always saturates"
    assert told(found, "decay.half_life_days")["lists"] > 0.5
    assert told(found, "decay.shape")["lists"] == 0.0


def test_the_reasons_name_what_is_dead_about_them() -> None:
    found = bind(TABLE, PLANTED)
    assert told(found, "decay.shape")["reason"] == "not read, as the other values of decay stand"
    assert told(found, "select.caps.log")["reason"] == (
        "no list changed at the values tried above: 401, 440, 800, 1000, 4000, no limit; "
        "one does at 2"
    )
    assert told(found, "threshold.min_score")["reason"] == (
        "no score is below 0.0005, so 0.0001 does not bind; "
        "no list changed at the values tried below: 0, 1e-05, 5e-05, 9e-05; one does at 0.001"
    )
    assert told(found, "arms.dense.width")["verdict"] == "not tried"
    assert told(found, "arms.dense.width")["reason"] == "needs the lab"
    assert told(found, "decay.half_life_days")["reason"] == ""


def test_a_minimum_above_every_score_saturates_and_says_what_can_be_reached() -> None:
    found = bind(TABLE, config({"kind": "rrf"}, {"kind": "threshold", "min_score": 0.05}))
    row = told(found, "threshold.min_score")
    assert row["verdict"] == "always saturates"
    assert row["reason"].startswith("max attainable 0.032787 < min_score 0.05")
    # Behind it nothing is left to change.
    assert (row["lists_below"], row["lists_above"]) == (1.0, 0.0)


def test_what_changes_scores_of_one_arm_alone_changes_no_list() -> None:
    arms = {"dense": {}}
    table = one_query([{"dense_rank": n, "dense_score": 1 / n} for n in (1.0, 2.0, 3.0)])
    found = bind(table, config({"kind": "rrf", "weights": {"dense": 0.7}}, arms=arms))
    row = told(found, "rrf.weights.dense")
    # Every weight but 0, which drops the rows, keeps the order.
    assert (row["lists_below"], row["lists_above"]) == (1.0, 0.0)
    assert told(found, "rrf.rrf_k")["verdict"] == "never binds"
    assert told(found, "rrf.rrf_k")["reason"] == "moves scores, but no list"
    assert told(found, "rrf.rrf_k")["reach"] == 1.0


def test_the_bounds_are_those_of_the_rows_behind_the_stage() -> None:
    rows = [{"dense_rank": 1.0, "dense_score": 0.5, "age_days": age} for age in (0.0, 30.0)]
    rows[1]["dense_rank"] = 2.0
    setting = config({"kind": "rrf"}, {"kind": "decay"}, {"kind": "select"}, arms={"dense": {}})
    found = bind(one_query(rows), setting)
    fused, faded = told(found, "rrf.rrf_k"), told(found, "decay.half_life_days")
    assert (fused["low"], fused["high"]) == (1 / 260, 1 / 61)
    assert (faded["low"], faded["high"]) == (pytest.approx(0.5 / 260), 1 / 61)
    assert told(found, "select.top_k")["high"] == 1 / 61


stages = st.lists(
    st.sampled_from(
        [
            {"kind": "decay", "family": "none"},
            {"kind": "decay", "family": "weibull", "shape": 1.5},
            {"kind": "salience", "salience_weight": 0.7},
            {"kind": "status", "superseded_weight": 0.3},
            {"kind": "threshold", "min_score": 0.01},
            {"kind": "mmr", "lambda_": 1.0},
            {"kind": "mmr", "lambda_": 0.6},
            {"kind": "select", "top_k": 4},
        ]
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda stage: stage["kind"],
)


@settings(max_examples=12)
@given(stages, st.integers(0, 20))
def test_what_a_stage_does_not_read_never_binds(chosen: list[dict[str, Any]], seed: int) -> None:
    setting = config({"kind": "rrf"}, *chosen)
    known = verdicts(bind(toy(seed), setting))
    unread = {f"{stage.name}.{field}" for stage in setting.stages for field in stage.unread()}
    dead = {address for address in known if ".".join(address.split(".")[:2]) in unread}
    assert {known[address] for address in dead} <= {"never binds"}
    assert set(known.values()) <= set(VERDICTS)


EVERY = [kind for kind in get_args(get_args(AnyStage)[0]) if not kind.gates]
SMALL = toy(3, queries=3, columns=8)
SMALL = remembered(housed(filed(SMALL, 3), 3), 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_as_published_no_stage_lists_a_parameter_as_unread_that_it_reads(kind: Any) -> None:
    name = kind.model_fields["kind"].default
    first = [] if kind.fuses else [{"kind": "rrf"}]
    setting = config(*first, {"kind": name})
    found = bind(SMALL, setting).filter(pl.col("verdict") != "not tried")
    unread = {f"{name}.{field}" for field in setting.stage(name).unread()}
    dead = found.filter(pl.col("address").str.extract(r"^(\w+\.\w+)").is_in(sorted(unread)))
    assert set(dead["verdict"]) <= {"never binds"}
    assert dead["scores"].sum() == 0.0
    assert dead["reach"].sum() == 0.0


def test_the_order_of_the_queries_changes_nothing_and_neither_does_a_second_run() -> None:
    found = bind(TABLE, PLANTED)
    turned = TABLE.take(list(reversed(range(TABLE.queries.height))))
    assert_frame_equal(found, bind(turned, PLANTED))
    assert_frame_equal(found, bind(TABLE, PLANTED))


def test_a_parameter_that_every_profile_sets_does_not_move_for_its_cases() -> None:
    base = config({"kind": "rrf"}, {"kind": "decay"}, {"kind": "select", "top_k": 4})
    setting = base.with_(profiles={"slow": {"decay.half_life_days": 300.0}})
    names = ["slow"] * 6 + [None] * 6
    table = replace(TABLE, queries=TABLE.queries.with_columns(pl.Series("profile", names)))
    row = told(bind(table, setting), "decay.half_life_days")
    assert 0 < row["lists"] <= 0.5
    assert row["reason"] == "6 cases have a profile that sets it"
    every = table.take(range(6))
    assert told(bind(every, setting), "decay.half_life_days")["verdict"] == "never binds"


def test_values_that_contradict_another_parameter_are_counted_and_not_tried() -> None:
    row = told(
        bind(TABLE, config({"kind": "rrf"}, {"kind": "select", "top_k": 4})), "select.floors.log"
    )
    # 5 to 10, 100 and 1000 places do not fit into 4.
    assert (row["refused"], row["verdict"]) == (8, "binds")
    assert row["tried"] == "0 to 4, 5 values"


def test_where_every_value_of_a_side_is_refused_it_says_so() -> None:
    full = {"kind": "select", "top_k": 4, "floors": {"log": 4}}
    row = told(bind(TABLE, config({"kind": "rrf"}, full)), "select.floors.log")
    assert (row["verdict"], row["lists_above"]) == ("binds", None)
    assert row["reason"] == "every higher value is refused"
    # Any place for another layer is one too many.
    other = told(bind(TABLE, config({"kind": "rrf"}, full)), "select.floors.user")
    assert (other["verdict"], other["reason"]) == ("not tried", "every other value is refused")


def test_the_places_of_a_layer_are_tried_one_by_one_up_to_what_the_list_holds() -> None:
    # Four of project come before six of log: a list of eight holds four of each.
    rows = [{"layer": "project"}] * 4 + [{"layer": "log"}] * 6
    rows = [row | {"dense_rank": n + 1.0, "dense_score": 0.5} for n, row in enumerate(rows)]
    setting = config({"kind": "rrf"}, {"kind": "select", "top_k": 8}, arms={"dense": {}})
    table = one_query(rows)
    row = told(bind(table, setting), "select.floors.log")
    # A floor of 1 to 4 changes nothing, one of 5 does, and 9 does not fit.
    assert (row["verdict"], row["lists"]) == ("binds", 1.0)
    assert row["tried"] == "0 to 8, 9 values"
    assert told(bind(table, setting), "select.floors.project")["verdict"] == "never binds"


@pytest.mark.parametrize(("top_k", "floor", "highest"), [(8, 3, 5), (30, 0, 30), (200, 0, 200)])
def test_whole_numbers_reach_the_highest_the_config_allows(
    top_k: int, floor: int, highest: int
) -> None:
    stage = {"kind": "select", "top_k": top_k, "floors": {"log": floor}}
    known = {p.address: p for p in probes(config({"kind": "rrf"}, stage))}
    tried = [n for n in known["select.floors.user"].others if n <= highest]
    assert set(tried) >= {*range(1, min(highest, 10) + 1), highest}
    if highest < 40:
        assert tried == list(range(1, highest + 1))


def test_a_list_that_is_moved_and_changes_never_has_a_verdict_that_denies_it() -> None:
    # Three candidates and ten places: fewer places change the list, more do not.
    rows = [{"dense_rank": n, "dense_score": 1 / n} for n in (1.0, 2.0, 3.0)]
    setting = config({"kind": "rrf"}, {"kind": "select", "top_k": 10}, arms={"dense": {}})
    row = told(bind(one_query(rows), setting), "select.top_k")
    assert (row["verdict"], row["lists"], row["lists_above"]) == ("always saturates", 1.0, 0.0)
    found = bind(TABLE, PLANTED).filter(pl.col("lists") > 0)
    assert set(found["verdict"]) <= {"binds", "always saturates", "binds above"}


def test_of_a_sample_it_is_said_that_nothing_was_seen_and_not_that_nothing_is() -> None:
    sample = verdicts(bind(TABLE, PLANTED, most_queries=3))
    assert sample["decay.shape"] == "not seen to bind"
    assert "never binds" not in sample.values()
    assert verdicts(bind(TABLE, PLANTED, most_queries=12))["decay.shape"] == "never binds"


@pytest.mark.slow
def test_a_lab_needs_the_name_of_a_case_set_and_candidates_their_config(tmp_path: Path) -> None:
    lab = make_lab(tmp_path / "lab.duckdb", [Note("a", "tea")], [Ask("q", "tea", 3.0)])
    with pytest.raises(ParameterError, match="needs cases"):
        bind(lab, PLANTED)
    table = rt.candidates(lab, "s", PLANTED, encoder=WordEncoder())
    with pytest.raises(ContractError, match="call candidates"):
        bind(table, PLANTED.with_(admit={"superseded": "hide"}))


def test_without_a_question_or_a_candidate_there_is_no_verdict() -> None:
    nothing = replace(
        TABLE,
        span=TABLE.span[:, :0],
        features={name: values[:, :0] for name, values in TABLE.features.items()},
    )
    for table in (TABLE.take([]), nothing):
        found = bind(table, PLANTED)
        assert set(found["verdict"]) == {"not tried"}
        assert told(found, "decay.half_life_days")["reason"] == "no question has a candidate"


# --- the values that are tried -------------------------------------------------------------------


def test_every_probe_holds_the_ends_of_its_range_and_only_values_of_it() -> None:
    known = {probe.address: probe for probe in probes(PLANTED, texts={"layer": LAYERS})}
    weight = known["salience.salience_weight"]
    assert (weight.others[0], weight.others[-1], weight.value) == (0.0, 10.0, 0.5)
    assert known["decay.half_life_days"].others[-1] == 36_500.0
    assert 0 < known["decay.half_life_days"].others[0] < 0.1
    assert known["decay.floor"].others[-1] < 1.0
    assert set(known["arms.dense.store_limit"].others) >= {1, 100_000}
    assert known["select.caps.user"].told.endswith("no limit, 14 values")
    assert known["decay.family"].told.startswith("all ")
    assert known["decay.exempt_layers"].others == (("log",), ("project",), ("user",))
    assert known["decay.exempt_pinned"].others == (True,)


def test_a_minimum_is_tried_at_the_scores_that_arrive_there() -> None:
    probe = next(p for p in probes_of(TABLE, PLANTED) if p.address == "threshold.min_score")
    shown = rank(TABLE, PLANTED)
    assert max(probe.others) > shown.score[TABLE.valid].max()
    inside = [value for value in probe.others if 0 < value < shown.score[TABLE.valid].max()]
    assert len(inside) >= 6


# --- fewer queries -------------------------------------------------------------------------------


def test_evenly_spaced_queries_stand_for_all_where_candidates_are_compared() -> None:
    wide = toy(1, queries=60, columns=400)
    light, heavy = config({"kind": "rrf"}), config({"kind": "rrf"}, {"kind": "defer"})
    assert len(representative(wide, light, 300)) == 60
    few = representative(wide, heavy, 300)
    assert len(few) == 24
    ids = wide.queries["query_id"].to_list()
    three = [ids[row] for row in representative(wide, heavy, 300, most=3)]
    assert three == [sorted(ids)[place] for place in (0, 30, 59)]
    turned = wide.take(list(reversed(range(60))))
    again = [turned.queries["query_id"][row] for row in representative(turned, heavy, 300)]
    assert again == [ids[row] for row in few]


def test_only_stages_that_compare_candidates_are_expensive() -> None:
    for stage in (*config({"kind": "rrf"}, {"kind": "mmr"}, {"kind": "select"}).stages,):
        assert not stage.compares
    for kind in ({"kind": "mmr", "lambda_": 0.5}, {"kind": "defer"}):
        stage = config({"kind": "rrf"}, kind).stages[1]
        assert stage.compares >= 50


# --- admit and the arms --------------------------------------------------------------------------

NOTES = [
    Note(
        f"m{n:02d}",
        " ".join(("tea", "server", "backup", "garden", "release")[: 1 + n % 5]) + f" note {n}",
        float(n % 5),
        superseded=6.0 if n % 4 == 0 else None,
    )
    for n in range(25)
]
ASKS = [Ask(f"q{n}", query, 8.0 + n) for n, query in enumerate(["tea", "server backup", "garden"])]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> rt.Lab:
    return make_lab(tmp_path_factory.mktemp("bind") / "lab.duckdb", NOTES, ASKS)


@pytest.mark.slow
@pytest.mark.parametrize("match", ["any", "all", "all_then_any"])
def test_rows_a_narrower_arm_would_not_propose_leave_a_wider_table(lab: rt.Lab, match: str) -> None:
    arms = {
        "lexical": {"width": 4, "match": match},
        "dense": {"width": 6, "min_cosine": 0.1, "store_limit": 5},
    }
    setting = config({"kind": "rrf"}, {"kind": "select", "top_k": 5}, arms=arms)
    built = rt.candidates(lab, "s", setting, encoder=WordEncoder())
    open_ = setting.with_(arms=widest(setting.arms, 100))
    wide = candidates_for(lab, built.queries, open_, encoder=WordEncoder())
    made = narrowed(wide, setting)
    assert wide.span.shape[1] > built.span.shape[1] == made.span.shape[1]
    np.testing.assert_array_equal(made.span, built.span)
    assert made.stamp.setup == built.stamp.setup
    for name, values in built.features.items():
        np.testing.assert_array_equal(made.features[name][made.valid], values[built.valid], name)
    np.testing.assert_array_equal(rank(made, setting).order, rank(built, setting).order)


@pytest.mark.slow
def test_a_narrower_table_is_refused_where_an_arm_is_missing(lab: rt.Lab) -> None:
    one = config({"kind": "rrf"}, arms={"lexical": {}})
    wide = rt.candidates(lab, "s", one)
    with pytest.raises(ContractError, match="no arm 'dense'"):
        narrowed(wide, config({"kind": "rrf"}))


@pytest.mark.slow
def test_with_a_lab_the_arms_and_what_is_admitted_are_tried_too(lab: rt.Lab) -> None:
    arms = {"lexical": {"width": 30}, "dense": {"width": 30, "store_limit": 6}}
    setting = config({"kind": "rrf"}, {"kind": "select", "top_k": 5}, arms=arms)
    found = bind(lab, setting, cases="s", encoder=WordEncoder())
    known = verdicts(found)
    # The store returns six rows whatever the width above that; without words there are 25.
    assert known["arms.dense.width"] == "always saturates"
    assert told(found, "arms.dense.width")["reason"].startswith(
        "no list changed at the values tried above: 31, 33, 60, 100, 300; one does at "
    )
    assert known["arms.dense.store_limit"] == "binds"
    assert known["admit.superseded"] == "binds"
    assert known["admit.scope_match"] == "never binds"
    assert told(found, "admit.audience")["reason"] == "there is no other value"
    assert known["select.top_k"] == "binds"


@pytest.mark.slow
def test_one_superseded_memory_in_a_hundred_questions_may_be_missed_and_that_is_said(
    tmp_path: Path,
) -> None:
    notes = [Note("a", "tea"), Note("b", "tea server"), Note("z", "zebra", 0.0, superseded=1.0)]
    asks = [Ask(f"q{n:03d}", "zebra" if n == 1 else "tea", 5.0) for n in range(100)]
    lab = make_lab(tmp_path / "lab.duckdb", notes, asks)
    setting = config({"kind": "rrf"}, {"kind": "select"}, arms={"lexical": {}})
    found = bind(lab, setting, cases="s")
    row = told(found, "admit.superseded")
    assert (row["verdict"], row["queries"], row["lists"]) == ("not seen to bind", 32, 0.0)
    every = told(bind(lab, setting, cases="s", most_queries=100), "admit.superseded")
    assert (every["verdict"], every["queries"], every["lists"]) == ("binds", 100, 0.01)


# --- abstaining ----------------------------------------------------------------------------------


def asking(*kinds: str) -> Any:
    return replace(TABLE, queries=TABLE.queries.with_columns(pl.Series("kind", kinds)))


def test_a_minimum_can_answer_with_nothing_and_one_that_gives_back_cannot() -> None:
    table = asking(*["nothing_to_find"] * 2, *["single_fact"] * 10)
    # At most 0.4 + 0.4, so that a minimum of 1 is out of reach.
    fused = {
        "kind": "weighted",
        "weights": dict.fromkeys(("dense", "lexical"), 0.4),
        "calibration": dict.fromkeys(("dense", "lexical"), "min_max"),
    }
    strict = abstention(table, config(fused, {"kind": "threshold", "min_score": 0.5}))
    assert strict["address"].to_list() == ["threshold.min_score", TOGETHER]
    assert strict["cases"].to_list() == [2, 2]
    assert strict["empty_at_most"].to_list() == [1.0, 1.0]
    giving = {"kind": "similarity_minimum", "min_score": 0.9, "short_words": 0}
    assert set(abstention(table, config(fused, giving))["empty_at_most"]) == {0.0}
    keeping = abstention(table, config(fused, {**giving, "unless_empty": False}))
    assert set(keeping["empty_at_most"]) == {1.0}


def test_without_a_minimum_and_without_such_cases_all_cases_count_as_they_are() -> None:
    found = abstention(TABLE, config({"kind": "rrf"}))
    assert found.rows() == [(TOGETHER, "no minimum", 12, None, 0.0, 0.0)]


# --- leads ---------------------------------------------------------------------------------------


def test_one_place_in_an_arm_of_equal_weight_ties_a_lead_of_one_place_and_no_more() -> None:
    # m0 leads m1 in the dense arm, the lexical arm has them the other way round.
    rows = [
        {"dense_rank": 1.0, "lexical_rank": 2.0},
        {"dense_rank": 2.0, "lexical_rank": 1.0},
        {"dense_rank": 3.0, "lexical_rank": 9.0},
        {"dense_rank": 4.0, "lexical_rank": 8.0},
    ]
    table = one_query([row | {"lexical_score": 1.0} for row in rows])
    found = leads(table, config({"kind": "rrf"}))
    against_dense = found.filter(pl.col("arm") == "lexical").drop("stage", "arm", "against")
    # The first pair ties. The second argues at places 8 and 9 against 3 and 4: too deep to flip.
    assert against_dense.rows() == [("1, no deeper", 2, 0, 1)]
    # From the top, one place flips a lead deeper down.
    against_lexical = found.filter(pl.col("arm") == "dense").drop("stage", "arm", "against")
    assert against_lexical.rows() == [("1, no deeper", 1, 0, 1), ("1, deeper", 1, 1, 0)]
    heavy = leads(table, config({"kind": "rrf", "weights": {"lexical": 2.0}}))
    assert heavy.filter(pl.col("arm") == "lexical")["flipped"].to_list() == [2]


def test_a_third_arm_with_a_say_and_scores_without_places_are_left_out() -> None:
    assert leads(TABLE, config({"kind": "weighted"})).is_empty()
    rows = [{"dense_rank": 1.0, "age_days": 9.0, "layer": "log"}]
    rows += [{"dense_rank": 2.0, "age_days": 1.0, "layer": "project"}]
    table = one_query(rows)
    setting = config({"kind": "dsh_rrf"}, {"kind": "select"}, arms={"dense": {}})
    found = leads(table, setting)
    # layer_tie_cancels of the recorded cases: the memory_id decides.
    assert found.filter(pl.col("arm") == "layer").rows() == [
        ("dsh_rrf", "layer", "dense", "1, no deeper", 1, 0, 1)
    ]
    known = leads(table, config({"kind": "dsh_rrf", "time": "newest"}, arms={"dense": {}}))
    assert known.is_empty()
