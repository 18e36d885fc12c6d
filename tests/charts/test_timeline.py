"""The timeline of a replay: what was injected, what was dropped, where the cursor stands."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recalltune import charts
from recalltune.charts.text import pixels
from recalltune.charts.timeline import quota_timeline_drawing
from recalltune.charts.timeline_marks import DROPS, HEIGHT
from recalltune.errors import ParameterError

pytestmark = pytest.mark.slow

FRAME = pl.DataFrame(
    [
        (1, "project", 40, 3, 0, "2026-06-23"),
        (1, "log", 60, 5, 1, "2026-06-23"),
        (2, "log", 0, 4, 0, "2026-06-23"),
        (3, "log", 100, 0, 0, "一个名字很长的会话，备份窗口"),
    ],
    schema=["round", "layer", "tokens", "dropped", "oversize", "part"],
    orient="row",
)


def spec(frame: pl.DataFrame = FRAME, **options: Any) -> dict[str, Any]:
    return charts.compiled(
        charts.quota_account(frame, form="timeline", round_name="recall step", **options)
    )


def rows(made: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = made["datasets"][name]
    return found


def title(made: dict[str, Any]) -> str:
    return " ".join(made["title"]["text"])


def test_tokens_stand_above_the_line_and_drops_hang_below_it() -> None:
    made = spec()
    zero = next(row["y"] for row in rows(made, "levels") if row["zero"])
    first = [row for row in rows(made, "bars") if row["round"] == 1]
    # 100 tokens are the largest sum, so the second bar ends HEIGHT above the line.
    assert [(row["layer"], row["from"], row["to"]) for row in first] == [
        ("project", zero, zero - 0.4 * HEIGHT),
        ("log", zero - 0.4 * HEIGHT, zero - HEIGHT),
    ]
    # 8 dropped are the most; each layer hangs under the one before it.
    down = [(row["round"], row["from"] - zero, row["to"] - zero) for row in rows(made, "drops")]
    assert down == [
        (1, 0.0, DROPS * 3 / 8), (1, DROPS * 3 / 8, DROPS), (2, 0.0, DROPS * 4 / 8)
    ]  # fmt: skip
    assert [(row["round"], row["oversize"]) for row in rows(made, "oversize")] == [(1, 1)]


def test_the_title_names_the_layer_with_most_tokens() -> None:
    assert title(spec()) == "200 tokens injected in 3 recall steps, 80 % of them log"
    nothing = FRAME.with_columns(tokens=pl.lit(0))
    assert title(spec(nothing)) == "No token injected in 3 recall steps"
    assert title(spec(FRAME.clear())) == "No recall step injected anything"
    over = spec(budget_tokens=99)
    assert title(over) == "2 of 3 recall steps exceed the budget of 99 tokens"


def test_parts_are_named_once_where_they_begin_if_there_is_room() -> None:
    parts = rows(spec(), "parts")
    assert [(row["part"], row["start"]) for row in parts] == [
        ("2026-06-23", 0.5), ("一个名字很长的会话，备份窗口", 2.5)
    ]  # fmt: skip
    many = pl.concat(
        FRAME.filter(pl.col("round") == 3).with_columns(
            pl.lit(n, pl.Int64).alias("round"), pl.lit(f"day {n}").alias("part")
        )
        for n in range(1, 61)
    )
    narrow = rows(spec(many), "parts")
    assert len(narrow) == 60
    assert all(row["text"] == "" for row in narrow)
    assert pixels("day 1", 10.5) > 560 / 60


def test_the_cursor_is_data_that_can_be_patched() -> None:
    made = spec()
    assert rows(made, "cursor") == []
    assert rows(spec(cursor=2), "cursor") == [{"round": 2}]
    drawing = quota_timeline_drawing(FRAME, round_name="recall step", cursor=3)
    moved = charts.patch(made, drawing)
    assert rows(moved, "cursor") == [{"round": 3}]
    assert {**moved["datasets"], "cursor": []} == made["datasets"]


def test_targets_of_one_step_stand_under_each_other() -> None:
    targets = pl.DataFrame({"round": [1, 1, 3], "shown": [True, False, True]})
    made = spec(targets=targets)
    marks = [(row["round"], row["y"], row["shown"]) for row in rows(made, "targets")]
    assert marks == [(1, 24, "lost"), (1, 37, "shown"), (3, 24, "shown")]
    highest = min(row["y"] for row in rows(made, "levels"))
    assert max(y for _, y, _ in marks) < highest


def test_a_frame_of_tokens_alone_is_enough() -> None:
    made = spec(FRAME.select("round", "layer", "tokens"))
    for name in ("drops", "oversize", "parts", "cursor"):
        assert rows(made, name) == []
    assert "dropped" not in " ".join(made["title"]["subtitle"])


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (FRAME.with_columns(dropped=pl.lit(-1)), {}, "dropped must be at least 0"),
        (FRAME.with_columns(tokens=pl.lit(None, pl.Int64)), {}, "got a gap"),
        (pl.concat([FRAME, FRAME]), {}, "must occur once"),
        (FRAME.with_columns(part=pl.col("layer")), {}, "one part, got one in two"),
        (FRAME, {"cursor": 4}, "cursor must be one of the rounds 1 to 3, got 4"),
        (FRAME, {"budget_tokens": 0}, "budget_tokens must be positive"),
    ],
    ids=["negative", "gap", "twice", "two parts", "cursor", "budget"],
)
def test_what_cannot_be_drawn_is_refused(
    frame: pl.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        spec(frame, **options)


def test_text_of_the_data_reaches_no_expression() -> None:
    hostile = "'];alert(1)//<script>"
    frame = FRAME.with_columns(layer=pl.lit(hostile), part=pl.lit(hostile)).unique("round")
    made = spec(frame, cursor=1)
    told = {key: value for key, value in made.items() if key not in ("datasets", "usermeta")}
    told["title"] = told["description"] = ""
    assert "alert" not in str(told)
