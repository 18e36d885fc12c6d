"""What holds for every chart form: titles, alt text, strict JSON, refusals, edges, themes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from recalltune import charts
from recalltune.charts.palette import DARK, LIGHT, Palette
from recalltune.charts.text import display_width
from recalltune.errors import ParameterError

pytestmark = pytest.mark.slow

STAMP = charts.Stamp(config="3f9a01c2d4e5f6a7", data="77b0e4a1", encoder="a1c4ffee", code="9e02aa")
CHANNELS_NEVER_FED_BY_DATA = {"href", "url", "key", "description"}


def walk(node: Any) -> Iterator[dict[str, Any]]:
    """Every object of a specification, data sets and notes for readers left out."""
    if isinstance(node, dict):
        yield node
        for name, part in node.items():
            if name not in ("datasets", "usermeta", "config"):
                yield from walk(part)
    elif isinstance(node, list):
        for part in node:
            yield from walk(part)


def encodings(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for node in walk(spec):
        for channel, value in node.get("encoding", {}).items():
            for part in value if isinstance(value, list) else [value]:
                yield channel, part


def drawn(demo: Any, frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    return charts.compiled(demo.draw(frame, stamp=STAMP, **options))


_SPECS: dict[int, dict[str, Any]] = {}


@pytest.fixture
def spec(demo: Any) -> dict[str, Any]:
    """The compiled chart of a demo frame; building one costs a quarter of a second."""
    if id(demo) not in _SPECS:
        _SPECS[id(demo)] = drawn(demo, demo.frame, table_name="out/table.parquet")
    return copy.deepcopy(_SPECS[id(demo)])


def title_of(spec: dict[str, Any]) -> str:
    return " ".join(spec["title"]["text"])


def test_a_chart_carries_title_subtitle_stamp_alt_text_and_table(spec: dict[str, Any]) -> None:
    assert 1 <= len(spec["title"]["text"]) <= 2
    subtitle = spec["title"]["subtitle"]
    assert 1 <= len(subtitle) <= 3
    assert all(display_width(line) <= 95 for line in subtitle)
    assert "config 3f9a01c2, data 77b0, encoder a1c4, code 9e02" in " ".join(subtitle)
    assert spec["description"].startswith(title_of(spec) + ". ")
    assert spec["description"].endswith(" Table: out/table.parquet.")
    meta = spec["usermeta"]["recalltune"]
    assert meta["finding"]["text"] == title_of(spec)
    assert meta["stamp"]["config"] == "3f9a01c2d4e5f6a7"
    assert meta["table"]["of"] >= len(meta["table"]["rows"]) > 0


def test_the_json_is_strict_and_holds_at_most_four_thousand_rows(spec: dict[str, Any]) -> None:
    again = json.loads(json.dumps(spec, allow_nan=False))
    assert again["datasets"] == spec["datasets"]
    assert max(len(rows) for rows in spec["datasets"].values()) <= 4_000


@pytest.mark.slow
def test_gaps_in_the_data_stay_out_of_the_json_and_are_counted_or_refused(demo: Any) -> None:
    numbers = [n for n in demo.needs if demo.frame.schema[n].is_numeric()]
    for name in numbers:
        third = pl.int_range(pl.len()) == 2
        holed = demo.frame.with_columns(
            pl.when(third).then(float("nan")).otherwise(pl.col(name)).alias(name)
        )
        try:
            spec = drawn(demo, holed)
        except ParameterError as refusal:
            said = str(refusal)
        else:
            json.dumps(spec, allow_nan=False)
            said = " ".join(spec["title"]["subtitle"])
        drawn_without_it = name in ("lo", "hi", "diff", "before")
        assert re.search("NaN|gap|begin|finite|not drawn|not run", said) or drawn_without_it


def test_a_missing_column_is_refused_by_name(demo: Any) -> None:
    for name in demo.needs:
        with pytest.raises(ParameterError, match=f"needs a column '{name}'"):
            demo.draw(demo.frame.drop(name))


def test_a_column_of_the_wrong_type_is_refused_by_name(demo: Any) -> None:
    # Categories of the heat map may be text or numbers, but no flags.
    wrong = demo.frame.with_columns(pl.lit(value=True).alias(demo.needs[-1]))
    if demo.frame.schema[demo.needs[-1]] == pl.Boolean:
        wrong = demo.frame.with_columns(pl.lit("yes").alias(demo.needs[-1]))
    with pytest.raises(ParameterError, match=f"'{demo.needs[-1]}' as "):
        demo.draw(wrong)


def test_4001_rows_are_refused_with_the_way_out(demo: Any) -> None:
    times = 4_001 // demo.frame.height + 1
    with pytest.raises(ParameterError, match=r"at most 4,000 rows, got 4,001; \w+"):
        demo.draw(pl.concat([demo.frame] * times).head(4_001))


def test_something_else_than_a_frame_is_refused(demo: Any) -> None:
    with pytest.raises(ParameterError, match="takes a polars DataFrame, got list"):
        demo.draw([1, 2])


def test_an_empty_frame_gives_a_sentence_not_a_blank_plot(demo: Any) -> None:
    spec = drawn(demo, demo.frame.clear())
    said = [row["text"] for rows in spec["datasets"].values() for row in rows if row.get("text")]
    assert title_of(spec)
    assert any(re.search(r"\bNo\b", text) for text in said)


@pytest.mark.slow
def test_an_empty_frame_is_rendered(demo: Any) -> None:
    picture = ElementTree.fromstring(charts.svg(drawn(demo, demo.frame.clear())))
    assert 0 < float(picture.get("width", "0")) < 1_000


@pytest.mark.slow
def test_a_single_row_is_drawn_at_the_usual_size(demo: Any) -> None:
    spec = drawn(demo, demo.frame.head(1))
    picture = ElementTree.fromstring(charts.svg(spec))
    # A runaway scale once made a picture 48,000 px wide.
    assert 0 < float(picture.get("width", "0")) < 1_000
    assert 0 < float(picture.get("height", "0")) < 700


@pytest.mark.slow
def test_equal_values_are_drawn_and_claim_no_difference(demo: Any) -> None:
    flat = demo.frame.with_columns(
        pl.lit(0.5).alias(name)
        for name, dtype in demo.frame.schema.items()
        if dtype == pl.Float64 and name not in ("value", "x", "y", "age_days", "rank")
    )
    try:
        spec = drawn(demo, flat)
    except ParameterError:
        return  # forms whose numbers are keys refuse repeats
    assert spec["usermeta"]["recalltune"]["finding"]["verdict"] not in ("gains", "costs")


def test_the_order_of_rows_changes_neither_title_nor_marks(demo: Any, spec: dict[str, Any]) -> None:
    again = drawn(demo, demo.frame.sample(fraction=1.0, shuffle=True, seed=3))
    assert title_of(spec) == title_of(again)
    if "rank_flow" not in str(demo.draw):  # its columns keep the order they come in
        assert spec["datasets"] == again["datasets"]


def test_renaming_ids_changes_no_title(demo: Any, spec: dict[str, Any]) -> None:
    ids = [name for name in ("case_id", "memory_id") if name in demo.frame.columns]
    renamed = demo.frame.with_columns(("z" + pl.col(name).str.reverse()) for name in ids)
    assert title_of(drawn(demo, renamed)) == title_of(spec)


def test_fields_are_snake_case_names_of_the_chart_itself(spec: dict[str, Any]) -> None:
    fields = [part["field"] for _, part in encodings(spec) if "field" in part]
    assert fields
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", field) for field in fields)


def test_no_channel_turns_data_into_a_link_an_image_or_an_expression(spec: dict[str, Any]) -> None:
    assert not CHANNELS_NEVER_FED_BY_DATA & {channel for channel, _ in encodings(spec)}
    marks = {node["mark"]["type"] for node in walk(spec) if isinstance(node.get("mark"), dict)}
    assert "image" not in marks
    titles = [part.get("title") for channel, part in encodings(spec) if channel == "tooltip"]
    # vega-tooltip draws fields of these two names as heading and as <img src>.
    assert not {"title", "image"} & {str(title) for title in titles}
    fields = [p.get("field") for c, p in encodings(spec) if c == "tooltip" and not p.get("title")]
    assert not {"title", "image"} & set(fields)


def test_times_are_drawn_on_a_utc_scale(spec: dict[str, Any]) -> None:
    for channel, part in encodings(spec):
        if part.get("type") == "temporal" and channel in ("x", "y"):
            assert part["scale"]["type"] == "utc"


def test_axes_with_fixed_ticks_say_how_many_there_are(spec: dict[str, Any]) -> None:
    # Without tickCount Vega drops every second value of a short axis.
    for _, part in encodings(spec):
        axis = part.get("axis") or {}
        if "values" in axis:
            assert axis["tickCount"] > len(axis["values"])


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_are_those_of_the_theme(demo: Any, colours: Palette) -> None:
    with charts.using(colours.name):
        spec = drawn(demo, demo.frame)
    assert spec["config"]["background"] == colours.paper
    allowed = {
        colours.ink, colours.paper, colours.muted, colours.grid, "#FFFFFF", "#202124",
        *colours.layer.values(), *colours.layer_text.values(), *colours.family.values(),
        *colours.family_text.values(), *colours.outcome.values(), *colours.outcome_text.values(),
    }  # fmt: skip
    used = {
        row[name]
        for rows in spec["datasets"].values()
        for row in rows
        for name in ("colour", "text_colour", "number_colour", "filled")
        if name in row
    }
    for node in walk(spec):
        mark = node.get("mark")
        if isinstance(mark, dict):
            used |= {mark[name] for name in ("color", "fill", "stroke") if name in mark}
    assert used <= allowed


def test_the_picture_is_small_has_a_role_and_says_what_it_shows(spec: dict[str, Any]) -> None:
    picture = charts.svg(spec)
    assert len(picture.encode()) <= 200_000
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    assert root.get("aria-label") == spec["description"]
    assert 0 < float(root.get("width", "0")) < 1_000


def test_an_unknown_option_is_refused_with_the_nearest(demo: Any) -> None:
    with pytest.raises((ParameterError, TypeError), match="findng"):
        demo.draw(demo.frame, findng="x")


def test_a_typed_title_with_a_number_is_refused(demo: Any) -> None:
    with pytest.raises(ParameterError, match="must hold no digit"):
        demo.draw(demo.frame, finding="Gains 0.011")
    spec = drawn(demo, demo.frame, finding="What stands here")
    assert title_of(spec) == "What stands here"


def test_hostile_text_is_data_only_and_visible_only(demo: Any) -> None:
    bad = "\u202e'];alert(1)//</script><img src=x onerror=y>\u200b\n\x00备"
    names = {"role", "kind", "metric", "status", "outcome"}
    hostile = demo.frame.with_columns(
        pl.when(pl.col(name).is_not_null()).then(pl.col(name) + bad).alias(name)
        for name, dtype in demo.frame.schema.items()
        if dtype == pl.String and name not in names
    )
    spec = drawn(demo, hostile)
    text = json.dumps(spec, ensure_ascii=False)
    assert not re.search("[\u202e\u200b\\x00\u2028]", text.replace("\\\\", ""))
    for node in walk(spec):
        for name in ("labelExpr", "calculate", "filter", "test", "expr"):
            # Only escapes of the text, never the text itself, may stand in an expression.
            assert not re.search(r"alert\(|'\];|<", str(node.get(name, "")).replace(" < ", ""))
    picture = charts.svg(spec)
    assert "<script" not in picture
    assert "<img" not in picture
    ElementTree.fromstring(picture)
