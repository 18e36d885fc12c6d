"""Bug bank N95-N97, O122: row limits, time zones, floods of events, names read as syntax."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ipywidgets
import polars as pl
import pytest

import recalltune as rt
from recalltune import charts
from recalltune.errors import ParameterError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.report.html import page
from recalltune.report.journey import Journey
from recalltune.report.pictures import layer_profile
from recalltune.report.sections import TITLES, sections
from recalltune.report.sweep_pictures import half_life, settings
from recalltune.widgets.latest import Latest, soon
from report import made_up
from small_lab import Ask, Note, make_lab

pytestmark = pytest.mark.slow

HALF_LIFE = "decay.half_life_days"


def words_of(spec: Mapping[str, Any]) -> str:
    return " ".join([*spec["title"]["text"], *spec["title"]["subtitle"]])


def size_of(spec: Mapping[str, Any]) -> int:
    return len(json.dumps(spec, allow_nan=False))


# --- N95 ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Journey:
    """A run with a sweep of 6,000 settings."""
    table = made_up.table(made_up.filled(tmp_path_factory.mktemp("made_up")))
    base = made_up.lexical()
    base = rt.set_many(base, {"decay.family": "exponential", HALF_LIFE: 10.0})
    space = rt.Space(
        {
            "rrf.rrf_k": [60.0 + k for k in range(20)],
            HALF_LIFE: [float(days) for days in range(10, 210, 10)],
            "salience.salience_weight": [0.5 * half for half in range(15)],
        }
    )
    swept = rt.sweep(table, base, space, metrics=("ndcg@10",))
    assert swept.points.height == 20 * 20 * 15
    return Journey(
        imported=None,
        candidates=table,
        results={"lexical": rt.evaluate(table, base)},
        sweep=swept,
        choice=rt.choose(swept, "ndcg@10"),
    )


@pytest.mark.slow
def test_a_sweep_of_six_thousand_settings_is_drawn_as_a_part_that_says_so(large: Journey) -> None:
    """N95. Kind: chart row limit."""
    surface = charts.compiled(settings(large))
    assert "Tie set over all 6,000 settings." in words_of(surface)
    assert "Other parameters as in the" in words_of(surface)
    line = charts.compiled(half_life(large))
    for spec in (surface, line):
        # 20 x 15 cells are the most that is drawn; a cell of a notebook holds this once.
        assert max(len(rows) for rows in spec["datasets"].values()) <= 300 + 20
        assert size_of(spec) < 200_000
        assert "</svg>" in charts.svg(spec)


def plane(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "tokens": [float(at) for at in range(rows)],
            "quality": [0.5 + 0.4 * at / rows for at in range(rows)],
            "role": ["setting"] * rows,
        }
    )


def test_a_cloud_of_settings_is_a_sample_and_says_its_size(root: Path) -> None:
    """N95. Kind: chart row limit."""
    falling = plane(4_000).with_columns(quality=1.0 - pl.col("quality"))
    spec = charts.compiled(charts.pareto_quality_tokens(falling))
    assert "4,000 settings, 300 drawn" in words_of(spec)
    assert len(spec["datasets"]["cloud"]) == 300
    assert size_of(spec) < 200_000


def test_more_rows_than_a_chart_takes_are_refused_with_the_way_out() -> None:
    """N95. Kind: chart row limit."""
    message = r"takes at most 4,000 rows, got 6,000; pass the frontier and a sample"
    with pytest.raises(ParameterError, match=message):
        charts.pareto_quality_tokens(plane(6_000))


# --- N96 ------------------------------------------------------------------------------------


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def viewer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The zone of whoever looks."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_an_hour_before_and_after_midnight_fall_into_their_utc_months_for_every_viewer(
    viewer: str, tmp_path: Path
) -> None:
    """N96. Kind: time zone dropped in a chart."""
    # Days after 2026-01-01: 30 days 23:30 is 31 January, an hour later it is February.
    notes = [
        Note("before", "tea", 30 + 23.5 / 24, layer="log"),
        Note("after", "tea too", 31 + 0.5 / 24, layer="log"),
    ]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [Ask("q", "tea", 40.0, ("after",))])
    setting = checked(RankingConfig, {"arms": {"lexical": {}}, "stages": [{"kind": "rrf"}]})
    table = rt.candidates(lab, "s", setting)
    spec = charts.compiled(layer_profile(table.spans, table.queries["asked_at"].to_list()).chart)
    text = json.dumps(spec)
    assert "month (UTC)" in text
    assert '"type": "utc"' in text
    assert '"type": "time"' not in text
    rows = spec["usermeta"]["recalltune"]["table"]["rows"]
    january, february = (
        round(datetime(2026, month, 1, tzinfo=UTC).timestamp()) * 1000 for month in (1, 2)
    )
    assert sorted((row["month"], row["n"]) for row in rows) == [(january, 1), (february, 1)]
    # A bar begins and ends inside its month, six hundredths from either edge.
    half = 14 * 86_400_000
    bars = {row["month"]: (row["start"], row["end"]) for row in spec["datasets"]["bars"]}
    assert january < bars["2026-01"][0] < january + half < bars["2026-01"][1] < february
    assert february < bars["2026-02"][0] < february + half, viewer


# --- N97 ------------------------------------------------------------------------------------


class Booked:
    """Stands in for the kernel's loop: holds what was booked until it is let go."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.total = 0

    def __call__(self, call: Callable[[], None]) -> None:
        self.total += 1
        self.calls.append(call)

    def run(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return made_up.table(made_up.filled(tmp_path_factory.mktemp("made_up"), cases=12))


def panel(table: Any, later: Booked) -> rt.widgets.Panel:
    base = rt.set_many(made_up.lexical(), {"decay.family": "exponential", HALF_LIFE: 1.0})
    days = [float(day) for day in range(1, 32)]
    return rt.widgets.Panel(rt.widgets.Explorer(table, base, {HALF_LIFE: days}), later)


def slider_of(shown: ipywidgets.Widget) -> ipywidgets.SelectionSlider:
    waiting = [shown]
    while waiting:
        widget = waiting.pop()
        if isinstance(widget, ipywidgets.SelectionSlider):
            return widget
        waiting += getattr(widget, "children", ())
    raise LookupError("no slider")


def test_thirty_values_of_a_drag_are_one_evaluation_of_the_last(table: Any) -> None:
    """N97. Kind: slider floods or outputs pile up."""
    later = Booked()
    explorer = panel(table, later)
    slider = slider_of(explorer.widget())
    for place in range(1, 31):
        slider.value = place
    assert later.total == 1
    assert explorer.model.settings_seen == 0
    later.run()
    assert explorer.model.settings_seen == 1
    assert rt.get(explorer.model.config, HALF_LIFE) == 31.0
    # Showing the outcome moves slider and field once more, and that books nothing.
    assert later.calls == []


def test_wishes_that_arrive_during_an_evaluation_wait_for_one_more(table: Any) -> None:
    """N97. Kind: slider floods or outputs pile up."""
    later, running, seen = Booked(), [0], []

    def work(wishes: Mapping[str, Any]) -> None:
        running[0] += 1
        assert running[0] == 1, "one evaluation in flight"
        seen.append(dict(wishes))
        if len(seen) == 1:
            for value in range(30):
                latest.wish("days", value)
            assert later.total == 2
        running[0] -= 1

    latest = Latest(work, later)
    latest.wish("days", -1)
    later.run()
    later.run()
    assert seen == [{"days": -1}, {"days": 29}]
    assert later.calls == []


def test_a_flood_on_a_running_loop_is_carried_out_once() -> None:
    """N97. Kind: slider floods or outputs pile up."""
    seen: list[dict[str, Any]] = []

    async def drag() -> None:
        done = asyncio.Event()

        def work(wishes: Mapping[str, Any]) -> None:
            seen.append(dict(wishes))
            done.set()

        latest = Latest(work, soon)
        for value in range(30):
            latest.wish("days", value)
        assert seen == []
        await done.wait()

    asyncio.run(drag())
    assert seen == [{"days": 29}]


def test_a_cell_run_three_times_has_one_output_and_one_handler(table: Any) -> None:
    """N97. Kind: slider floods or outputs pile up."""
    later = [Booked() for _ in range(3)]
    runs = [panel(table, one) for one in later]
    for explorer in runs:
        assert explorer.widget() is explorer.widget()
    slider_of(runs[-1].widget()).value = 7
    assert [one.total for one in later] == [0, 0, 1]
    for one in later:
        one.run()
    assert [explorer.model.settings_seen for explorer in runs] == [0, 0, 1]


# --- O120 -----------------------------------------------------------------------------------


def test_how_long_a_sweep_took_stands_nowhere_in_the_report(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """O120. Kind: undefined order (and clocks in what must be byte-identical)."""
    journey = made_up.journey(made_up.filled(tmp_path_factory.mktemp("made_up"), cases=12))
    assert journey.sweep is not None
    pages = {
        page(
            "",
            TITLES,
            sections(replace(journey, sweep=replace(journey.sweep, seconds=took)), []),
            lang="en",
        )
        for took in (1.0, 2.0)
    }
    assert len(pages) == 1


# --- O122 -----------------------------------------------------------------------------------

NAMES = ("layer:user", "a.b:Q", "x[0]", "it's", 'say "so"', "back\\slash", "datum.value", "count()")


def test_names_with_dots_colons_and_brackets_are_shown_as_they_are() -> None:
    """O122. Kind: column names read as syntax."""
    account = pl.DataFrame(
        [
            {"round": at, "layer": name, "picked": 1 + place, "dropped": at, "tokens": 10}
            for at in (1, 2)
            for place, name in enumerate(NAMES[:5])
        ]
    )
    flips = pl.DataFrame(
        {"case_id": NAMES, "label": NAMES, "rank_a": [2] * 8, "rank_b": [1] * 8}
    ).with_columns(**{"rank_a.b": pl.lit(1), "label:N": pl.lit("x"), "rank_b[0]": pl.lit(2)})
    for spec, names in (
        (charts.compiled(charts.quota_account(account)), NAMES[:5]),
        (charts.compiled(charts.case_flips(flips)), NAMES),
    ):
        held = {value for rows in spec["datasets"].values() for row in rows
                for value in row.values() if isinstance(value, str)}  # fmt: skip
        assert set(names) <= held
        drawn = charts.svg(spec)
        for name in names:
            assert name.replace('"', "&quot;") in drawn or name in drawn


def test_an_address_with_a_dot_is_an_axis_title_and_never_a_path() -> None:
    """O122. Kind: column names read as syntax."""
    line = pl.DataFrame(
        {
            "value": [7.0, 30.0, 90.0],
            "diff": [0.0, 0.02, 0.04],
            "lo": [-0.01, 0.01, 0.02],
            "hi": [0.01, 0.03, 0.06],
            "slice": ["kind.update:Q"] * 3,
            "n": [142] * 3,
        }
    )
    spec = charts.compiled(charts.sweep_line(line, parameter=HALF_LIFE, default=7.0))
    drawn = charts.svg(spec)
    assert HALF_LIFE in drawn
    assert "kind.update:Q" in drawn
    values = [row["diff"] for rows in spec["datasets"].values() for row in rows if "diff" in row]
    assert set(line["diff"]) <= set(values)
