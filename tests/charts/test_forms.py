"""What is particular to one chart form: counts in the title equal the marks, accounts balance."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from recalltune import charts
from recalltune.charts.pareto_labels import SIZE, Plane, labelled_points
from recalltune.charts.text import pixels
from recalltune.errors import ContractError, ParameterError

pytestmark = pytest.mark.slow


def compiled(demo: Any, frame: pl.DataFrame | None = None, **options: Any) -> dict[str, Any]:
    return charts.compiled(demo.draw(demo.frame if frame is None else frame, **options))


def title(spec: dict[str, Any]) -> str:
    return " ".join(spec["title"]["text"])


def test_flips_count_what_they_draw(demos: dict[str, Any]) -> None:
    spec = compiled(demos["case_flips"])
    rows = spec["datasets"]["cases"]
    assert title(spec) == "4 cases improve, 2 get worse, 24 stay"
    assert [row["shape"] for row in rows] == ["triangle-left"] * 4 + ["triangle-right"] * 2
    assert [row["move"] for row in rows] == [
        "11 → 1", "2 → 1", "none → 4", "6 → 5", "3 → 8", "1 → none",
    ]  # fmt: skip


def test_a_rank_beyond_the_list_is_the_same_as_none(demos: dict[str, Any]) -> None:
    frame = demos["case_flips"].frame.with_columns(rank_a=pl.lit(21), rank_b=pl.lit(None, pl.Int64))
    spec = compiled(demos["case_flips"], frame, list_length=20)
    assert title(spec) == "No case moves: 30 first targets keep their rank"


def test_flips_draw_the_largest_moves_and_say_how_many_are_left(demos: dict[str, Any]) -> None:
    spec = compiled(demos["case_flips"], top=3)
    assert [row["move"] for row in spec["datasets"]["cases"]] == ["11 → 1", "2 → 1", "1 → none"]
    assert "The 3 largest of 6 moves." in " ".join(spec["title"]["subtitle"])


def test_a_rank_of_zero_names_its_case(demos: dict[str, Any]) -> None:
    frame = demos["case_flips"].frame.with_columns(
        rank_a=pl.when(pl.col("case_id") == "c004").then(0).otherwise(pl.col("rank_a"))
    )
    with pytest.raises(ParameterError, match=r"rank must be at least 1.*'c004'"):
        compiled(demos["case_flips"], frame)


def test_the_heat_map_counts_its_tie_set_with_the_strip(demos: dict[str, Any]) -> None:
    # Stops 180 and 365 tie in each of 4 shapes, and so does "no decay": 9 of 33.
    spec = compiled(demos["sweep_heatmap"], default=(60.0, 1.3), strip_name="no decay")
    assert (
        title(spec)
        == "9 of 33 settings cannot be told from the best; the default is not among them"
    )
    assert len(spec["datasets"]["cells"]) == 32
    assert len(spec["datasets"]["strip"]) == 1


def test_the_frame_goes_once_round_the_union_of_tied_cells(demos: dict[str, Any]) -> None:
    # A block of 2 columns by 4 rows has a border of 2 * (2 + 4) cell sides, and none inside.
    sides = compiled(demos["sweep_heatmap"])["datasets"]["sides"]
    assert len(sides) == 12
    assert all(side["x1"] in (6, 8) for side in sides if side["x1"] == side["x2"])


def test_a_setting_not_run_is_crossed_and_counted(demos: dict[str, Any]) -> None:
    frame = demos["sweep_heatmap"].frame.with_columns(
        mean=pl.when(pl.col("x") == 7).then(None).otherwise(pl.col("mean"))
    )
    spec = compiled(demos["sweep_heatmap"], frame)
    assert [row["number"] for row in spec["datasets"]["cells"]].count("not run") == 4
    assert "4 settings not run" in " ".join(spec["title"]["subtitle"])


def test_a_default_outside_the_grid_and_a_doubled_cell_are_refused(demos: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"default must be one of the cells, got \(61.0"):
        compiled(demos["sweep_heatmap"], default=(61.0, 1.3))
    frame = demos["sweep_heatmap"].frame
    with pytest.raises(ParameterError, match="each cell must occur once"):
        compiled(demos["sweep_heatmap"], pl.concat([frame, frame.head(1)]))


def test_lower_is_better_turns_the_colours_round(demos: dict[str, Any]) -> None:
    high = compiled(demos["sweep_heatmap"])["datasets"]["cells"]
    low = compiled(demos["sweep_heatmap"], measure="stale@10")["datasets"]["cells"]
    assert [row["diff"] for row in high] == [row["diff"] for row in low]
    # 0.63 is the default's mean, so the first cell (0.600) is worse, and better when low is good.
    channels = [
        int(rows[0]["fill"][1:3], 16) - int(rows[0]["fill"][5:7], 16) for rows in (high, low)
    ]
    assert channels[0] > 0 > channels[1]


def test_the_sweep_names_no_winner_over_pointwise_intervals(demos: dict[str, Any]) -> None:
    # diff = 0.008 * (place - 4), half width 0.02: |place - 4| >= 3 leaves 0 -> places 0 1 7 off.
    spec = compiled(demos["sweep_line"])
    said = "half_life_days: at 4 of 8 values the pointwise interval excludes zero"
    assert title(spec) == said


def test_the_sweep_names_a_winner_in_sample_over_corrected_intervals(demos: dict[str, Any]) -> None:
    spec = compiled(demos["sweep_line"], interval="corrected")
    assert title(spec) == "half_life_days no decay gains 0.032 [0.012, 0.052], in sample"


def test_all_panels_of_a_sweep_share_a_scale_that_holds_every_interval(
    demos: dict[str, Any],
) -> None:
    spec = compiled(demos["sweep_line"])
    domains = {
        tuple(layer["encoding"]["y"]["scale"]["domain"])
        for panel in (spec["vconcat"][0], *spec["vconcat"][1]["hconcat"])
        for layer in panel["layer"]
        if "scale" in layer["encoding"].get("y", {})
    }
    assert len(domains) == 1
    low, high = domains.pop()
    assert low <= demos["sweep_line"].frame["lo"].min()
    assert high >= demos["sweep_line"].frame["hi"].max()


def test_the_band_of_a_sweep_is_pinched_to_the_default(demos: dict[str, Any]) -> None:
    rows = compiled(demos["sweep_line"])["datasets"]["panel_0"]
    at_default = [row for row in rows if row["default"]]
    assert [(row["value"], row["lo"], row["hi"]) for row in at_default] == [(60.0, 0.0, 0.0)]


def test_the_panel_of_all_cases_comes_first_then_slices_by_size(demos: dict[str, Any]) -> None:
    spec = compiled(demos["sweep_line"])
    panels = [spec["vconcat"][0], *spec["vconcat"][1]["hconcat"]]
    heads = [panel["title"]["text"] for panel in panels]
    assert heads == ["all cases (n = 142)", "update (n = 24)", "日期问题 (n = 18)"]


def test_a_sweep_over_too_few_cases_says_so(demos: dict[str, Any]) -> None:
    frame = demos["sweep_line"].frame.filter(pl.col("slice") == "日期问题")
    assert title(compiled(demos["sweep_line"], frame)) == "18 in 日期问题 are too few to compare"


def test_nan_is_not_taken_for_off(demos: dict[str, Any]) -> None:
    frame = demos["sweep_line"].frame.with_columns(value=pl.col("value").fill_null(float("nan")))
    with pytest.raises(ParameterError, match="finite numbers or null in column 'value'"):
        compiled(demos["sweep_line"], frame)


def test_every_step_down_is_marked_and_the_deepest_is_named(demos: dict[str, Any]) -> None:
    spec = compiled(demos["sweep_line_step"])
    marked = [row for rows in spec["datasets"].values() for row in rows if row["down"]]
    assert [(row["slice"], row["value"]) for row in marked] == [("user", 100.0)]
    assert title(spec) == "user falls from 2 to 0 at budget_tokens 100"


def test_presets_are_counted_by_corrected_intervals(demos: dict[str, Any]) -> None:
    # diff 0.02 * (place - 1), half width 0.03: places 3 and 4 leave 0; the default is place 1.
    spec = compiled(demos["preset_dots"], default_row="recallnest")
    assert title(spec) == "2 of 4 presets are better than the default and 0 worse"
    order = [row["label"] for row in spec["datasets"]["names"]]
    assert order == ["hel847", "dsh-auto-memory", "openclaw", "recallnest", "textbook"]


def test_no_preset_apart_is_said_and_one_apart_is_named(demos: dict[str, Any]) -> None:
    frame = demos["preset_dots"].frame
    same = frame.filter(~pl.col("row").is_in(["hel847", "dsh-auto-memory"]))
    spec = compiled(demos["preset_dots"], same, default_row="recallnest")
    assert title(spec) == "None of 2 presets can be told from the current default"
    one = compiled(demos["preset_dots"], frame.filter(pl.col("row") != "dsh-auto-memory"),
                   default_row="recallnest")  # fmt: skip
    assert title(one).startswith("hel847 gains 0.060 [0.030, 0.090]")


def test_an_unknown_default_row_is_refused_with_the_nearest(demos: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="got 'recalnest'; nearest: 'recallnest'"):
        compiled(demos["preset_dots"], default_row="recalnest")


def test_layers_keep_their_order_whatever_their_values(demos: dict[str, Any]) -> None:
    spec = compiled(demos["preset_dots_pair"])
    names = [row["label"] for row in spec["datasets"]["names"]]
    assert names == ["project", "whiteboard", "user", "reflection", "log"]


def test_crossing_curves_are_named_with_the_age_of_the_crossing(demos: dict[str, Any]) -> None:
    # core floor 0.85 shape 0.8, peripheral floor 0.45 shape 1.3, half-life 60: cross at 4.2 days.
    spec = compiled(demos["decay_curves"])
    assert title(spec) == "For its first 4.2 days 边缘 outweighs core"
    assert spec["datasets"]["crossings"][0]["x"] == pytest.approx(4.2, abs=0.05)
    assert len(spec["hconcat"]) == 2


def test_a_sixth_curve_is_refused(demos: dict[str, Any]) -> None:
    frame = pl.DataFrame({"curve": list("abcdef"), "age_days": [1.0] * 6, "weight": [0.5] * 6})
    with pytest.raises(ParameterError, match="at most 5, got 6"):
        compiled(demos["decay_curves"], frame)


def test_end_labels_keep_apart(demos: dict[str, Any]) -> None:
    frame = demos["decay_curves"].frame.with_columns(weight=pl.lit(0.5))
    ends = sorted(row["at"] for row in compiled(demos["decay_curves"], frame)["datasets"]["ends"])
    # 15 px of 230 px over a range of 1.04
    gaps = [high - low for low, high in itertools.pairwise(ends)]
    assert min(gaps) >= 15 / 230 * 1.04 - 1e-9


def test_the_flow_names_the_one_column_that_is_wrong(demos: dict[str, Any]) -> None:
    spec = compiled(demos["rank_flow"])
    said = "Only textbook of 3 ranks the superseded version above its successor"
    assert title(spec) == said


def test_memories_not_shown_have_a_lane_each(demos: dict[str, Any]) -> None:
    rows = compiled(demos["rank_flow"])["datasets"]["nodes"]
    lanes = {row["memory_id"]: row["lane"] for row in rows if row["rank_text"] == "not shown"}
    assert sorted(lanes) == ["m4", "m5"]
    assert len(set(lanes.values())) == 2
    assert min(lanes.values()) > 5


def test_two_memories_on_one_rank_are_refused(demos: dict[str, Any]) -> None:
    frame = demos["rank_flow"].frame.with_columns(rank=pl.lit(1))
    with pytest.raises(ParameterError, match="a rank must occur once in a column, got 1 twice"):
        compiled(demos["rank_flow"], frame)


def test_thirteen_memories_are_refused(demos: dict[str, Any]) -> None:
    frame = pl.DataFrame({"memory_id": [f"m{i}" for i in range(13)], "label": ["x"] * 13,
                          "column": ["a"] * 13, "rank": range(1, 14)})  # fmt: skip
    with pytest.raises(ParameterError, match="at most 12 memories, got 13"):
        compiled(demos["rank_flow"], frame)


def test_the_waterfall_names_the_largest_step_or_the_recomputation(demos: dict[str, Any]) -> None:
    # 0.6 * 0.8 = 0.48; 0.48 * 0.7 = 0.336: decay takes 0.144, importance 0.12.
    spec = compiled(demos["score_waterfall"])
    assert title(spec) == "decay (× 0.70) lowers target, 365 days old by 0.144, its largest step"
    exact = {"stage": "decay", "factor": 0.7, "score": 0.48, "rank": 2}
    spec = compiled(demos["score_waterfall"], without=exact)
    assert title(spec) == "Without decay (× 0.70) the target would score 0.480 and rank 2"


def test_a_stage_that_does_not_begin_where_the_last_ended_is_refused(demos: dict[str, Any]) -> None:
    frame = demos["score_waterfall"].frame.with_columns(
        before=pl.when(pl.col("stage") == "decay").then(0.9).otherwise(pl.col("before"))
    )
    with pytest.raises(ParameterError, match="'decay' must begin at"):
        compiled(demos["score_waterfall"], frame)


def test_a_stage_without_effect_is_a_tick_that_says_so(demos: dict[str, Any]) -> None:
    rows = compiled(demos["score_waterfall"])["datasets"]["panel_0"]
    assert [(row["text"], row["still"]) for row in rows if row["stage"] == "length"] == [
        ("no effect", True)
    ]


def test_the_loss_account_balances_or_is_refused(demos: dict[str, Any]) -> None:
    spec = compiled(demos["loss_stages"], cases=142)
    assert title(spec) == "17 of 171 targets are lost at arms, 3 at scope and gate"
    arms = spec["datasets"]["stages"][1]
    assert (arms["alive"], arms["lost"], arms["lost_text"]) == (151, 17, "−17")
    assert arms["reasons"] == "11 no shared word, 6 作用域写法不同"
    broken = demos["loss_stages"].frame.with_columns(pl.col("alive").replace(151, 150))
    with pytest.raises(ContractError, match="must leave 168 - 17 targets, got"):
        compiled(demos["loss_stages"], broken)


def test_the_account_names_the_layer_that_goes_empty(demos: dict[str, Any]) -> None:
    spec = compiled(demos["quota_account"])
    assert title(spec) == "user shows nothing in 13 of 40 rounds although it had candidates"
    flags = [row for row in spec["datasets"]["bars"] if row["empty"]]
    assert [(row["layer"], row["round"]) for row in flags] == [
        ("user", at) for at in range(3, 40, 3)
    ]
    heads = {row["layer"]: row for row in spec["datasets"]["layers"]}
    # picked 27 * 2 = 54 of 54 + 40 = 94
    assert heads["user"]["share"] == "57 % of 94 shown"
    assert heads["log"]["empty"] == "never empty"


def test_the_timeline_counts_lost_targets_and_stacks_in_layer_order(demos: dict[str, Any]) -> None:
    targets = pl.DataFrame({"round": [3, 6, 7], "shown": [True, False, True]})
    spec = compiled(demos["quota_account_timeline"], targets=targets, layer="user")
    assert title(spec) == "1 of 3 labelled targets are lost in 40 rounds"
    first = [row for row in spec["datasets"]["bars"] if row["round"] == 1]
    assert [row["layer"] for row in first] == ["user", "project", "whiteboard", "reflection", "log"]
    assert [row["low"] for row in first] == [0, 40, 80, 120, 160]


def test_age_bins_with_few_cases_are_pale_and_the_title_takes_the_paired_row(
    demos: dict[str, Any],
) -> None:
    paired = {"diff": 0.14, "lo": 0.02, "hi": 0.27, "n": 41}
    spec = compiled(demos["age_strata"], comparison=paired, compared="evidence over 30 days old")
    assert title(spec) == "Evidence over 30 days old: chosen gains 0.140 [0.020, 0.270]"
    pale = {row["bin"] for row in spec["datasets"]["dots"] if row["strength"] < 1}
    assert pale == {"over 180 d"}
    few = compiled(demos["age_strata"], comparison={**paired, "n": 17})
    assert title(few) == "17 cases are too few to compare"


def test_the_frontier_only_rises_and_the_cloud_is_sampled_evenly(demos: dict[str, Any]) -> None:
    spec = compiled(demos["pareto_quality_tokens"])
    edge = spec["datasets"]["frontier"]
    assert all(
        low["tokens"] <= high["tokens"] and low["quality"] <= high["quality"]
        for low, high in itertools.pairwise(edge)
    )
    cloud = [row["tokens"] for row in spec["datasets"]["cloud"]]
    assert len(cloud) == 300
    assert (min(cloud), max(cloud)) == (90.0, 790.0)
    assert "351 settings, 300 drawn" in " ".join(spec["title"]["subtitle"])


def test_labels_of_the_frontier_chart_do_not_overlap_each_other_or_points(
    demos: dict[str, Any],
) -> None:
    frame = demos["pareto_quality_tokens"].frame
    plane = Plane(frame["tokens"].to_list(), frame["quality"].to_list())
    full = frame.with_columns(pl.lit(None, pl.String).alias("family"))
    rows = labelled_points(full, plane, [])
    boxes = [
        (row["left"], row["middle"] - 7, row["left"] + pixels(row["text"], 11.5), row["middle"] + 7)
        for row in rows
    ]
    for at, one in enumerate(boxes):
        assert 0 <= one[0] < one[2] <= SIZE[0]
        for two in boxes[at + 1 :]:
            assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
        for row in rows:
            x, y = plane.px(row["tokens"], row["quality"])
            assert not (one[0] < x < one[2] and one[1] < y < one[3])


def test_a_rule_that_refuses_more_at_a_higher_limit_is_named(demos: dict[str, Any]) -> None:
    spec = compiled(demos["lockup_phase"])
    said = "1 of 2 policies refuse at a higher limit what a lower accepts: legacy"
    assert title(spec) == said
    pair = pl.DataFrame({"policy": ["legacy"] * 2, "limit": [3600.0, 7200.0],
                         "size": [7000.0] * 2, "outcome": ["compacted", "refused"]})  # fmt: skip
    spec = compiled(demos["lockup_phase"], example=pair)
    assert (
        title(spec) == "legacy: raising the limit from 3,600 to 7,200 turns accepted into refused"
    )
    assert [row["text"] for row in spec["datasets"]["points_0"]] == [
        "3,600: accepted", "7,200: refused",
    ]  # fmt: skip


def test_a_rectangle_without_area_is_refused(demos: dict[str, Any]) -> None:
    frame = demos["lockup_phase"].frame.with_columns(limit_to=pl.col("limit_from"))
    with pytest.raises(ParameterError, match="an area, got one without"):
        compiled(demos["lockup_phase"], frame)


def test_churn_counts_changed_lists_and_stacks_by_stage(demos: dict[str, Any]) -> None:
    spec = compiled(demos["churn"])
    assert title(spec) == "The choice changes 31 % [27 %, 36 %] of what is shown, in 16 lists"
    first = spec["datasets"]["bars"][:2]
    # at % 3 == 2: 4 enter for layer places, 2 for decay, 6 are kept: 4/12, then 2/12.
    assert [(row["stage"], row["low"], row["high"]) for row in first] == [
        ("layer places", 0.0, pytest.approx(4 / 12)), ("decay", pytest.approx(4 / 12), 0.5),
    ]  # fmt: skip
    still = demos["churn"].frame.with_columns(entered=pl.lit(0))
    assert title(compiled(demos["churn"], still)) == (
        "The choice does not bind: 0 of 24 lists change"
    )


def test_churn_is_drawn_as_long_as_the_larger_side_and_beside_its_noise_floor(
    demos: dict[str, Any],
) -> None:
    # q0: 3 left for decay, 1 entered for a layer's places, 1 kept: 3/4 of the longer list.
    rows = [
        ("q0", "decay", 0, 3, 0),
        ("q0", "layer places", 1, 0, 0),
        ("q1", "noise floor", 1, 1, 2),
    ]
    frame = pl.DataFrame(rows, schema=["query_id", "stage", "entered", "left", "moved"],
                         orient="row").with_columns(kept=pl.lit(1))  # fmt: skip
    bars = charts.compiled(charts.churn(frame))["datasets"]["bars"]
    assert [(row["query_id"], row["stage"], row["high"]) for row in bars] == [
        ("q0", "decay", 0.75), ("q1", "noise floor", 0.25),
    ]  # fmt: skip
    assert len({row["colour"] for row in bars}) == 2
    floor = {"value": 0.12, "lo": 0.1, "hi": 0.14}
    spec = charts.compiled(demos["churn"].draw(demos["churn"].frame, floor=floor))
    assert title(spec).endswith("in 16 lists; noise floor 12 %")
    assert spec["datasets"]["floor"] == [floor]


def test_months_are_cut_at_utc_midnight_whatever_the_zone_of_the_input(
    demos: dict[str, Any],
) -> None:
    # 2025-01-31T23:30Z and 2025-02-01T00:30Z, told in Shanghai time, are January and February.
    times = [datetime(2025, 1, 31, 23, 30, tzinfo=UTC), datetime(2025, 2, 1, 0, 30, tzinfo=UTC)]
    frame = pl.DataFrame(
        {"layer": ["log", "log"], "month": times, "n": [1, 1], "status": ["current", "current"]}
    ).with_columns(pl.col("month").dt.convert_time_zone("Asia/Shanghai"))
    rows = compiled(demos["profile_over_time"], frame)["datasets"]["bars"]
    assert [row["month"] for row in rows] == ["2025-01", "2025-02"]
    # 06 % of a month of 31 days after 2025-01-01T00:00Z = 1735689600 s
    assert rows[0]["start"] == 1_735_689_600_000 + round(0.06 * 31 * 86_400_000)


def test_a_time_without_zone_is_refused(demos: dict[str, Any]) -> None:
    frame = demos["profile_over_time"].frame.with_columns(pl.col("month").cast(pl.Datetime("us")))
    with pytest.raises(ParameterError, match="needs a time zone in column 'month'"):
        compiled(demos["profile_over_time"], frame)


def test_the_profile_counts_layers_and_cells(demos: dict[str, Any]) -> None:
    # log: 2 * (1 + ... + 14) = 210; each other layer 2 * 14 = 28; 210 + 4 * 28 = 322
    assert title(compiled(demos["profile_over_time"])) == (
        "log is 210 of 322 memories; project is 28"
    )
    assert title(compiled(demos["profile_matrix"])) == ("1 of 6 cells are empty, 2 hold under 20")


def test_the_bands_of_values_are_those_of_the_dots(demos: dict[str, Any]) -> None:
    # project: 5, 8, ..., 122; the 20th or 21st of 40 is the middle: 62 or 65
    ticks = compiled(demos["profile_values"])["datasets"]["ticks"]
    assert [tick["share"] for tick in ticks[:3]] == ["10 %", "50 %", "90 %"]
    assert ticks[1]["value"] in (62.0, 65.0)
