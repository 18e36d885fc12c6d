"""Tables for readers, and the frames of the notebooks, on hand-made data."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import recalltune as rt
from recalltune.errors import ParameterError
from recalltune.evaluate.views import targets
from recalltune.ingest import ImportReport
from recalltune.pipeline.config import parse_config
from recalltune.widgets import bench as benches
from recalltune.widgets.tables import Table
from small_lab import Ask, Note, make_lab
from widgets.explored import config, table

LEXICAL = """
[arms.lexical]
[[stages]]
kind = "rrf"
[[stages]]
kind = "select"
top_k = 2
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return table(tmp_path_factory.mktemp("looks"))


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """One question; its answer replaced an older note, a second note came too late."""
    notes = [
        Note("a-old", "kettle kettle kettle is red", 1.0, layer="project", superseded=5.0),
        Note("b-new", "the kettle has become blue today", 5.0, layer="project"),
        Note("c-late", "kettle is green", 30.0, layer="log"),
        Note("d-log", "kettle kettle boiled", 4.0, layer="log"),
        Note("e-secret", "kettle of the owner", 1.0, layer="reflection", gated=True),
    ]
    asks = [Ask("q", "kettle kettle", 10.0, ("b-new",), ("a-old",))]
    lab = make_lab(tmp_path_factory.mktemp("story") / "lab.duckdb", notes, asks)
    base = parse_config(LEXICAL, "lexical.toml")
    return rt.candidates(lab, "s", base), base


def test_a_table_escapes_names_texts_and_title():
    shown = Table(pl.DataFrame({"<b>": ["<i>x</i>\u202e"]}), "<script>")._repr_html_()
    for raw in ("<b>x", "<i>", "<script>", "\u202e"):
        assert raw not in shown
    assert "&lt;i&gt;x&lt;/i&gt;" in shown


def test_a_table_prints_numbers_one_way_and_says_what_it_leaves_out():
    frame = pl.DataFrame({"n": range(60), "share": [-0.5] * 60, "yes": [True] * 60})
    told = str(Table(frame))
    assert told.splitlines()[1].split() == ["0", "−0.500", "yes"]
    assert "… 10 more rows" in Table(frame)._repr_html_()


def test_a_moment_counts_what_was_known_then_and_no_untold_memory(story):
    cases, base = story
    looked = rt.widgets.moment(cases, base, "q", gloss={"q": "in English"})
    counts = {row["layer"]: row for row in looked.frame.to_dicts()}
    # a-old and b-new are known at day 10, a-old was superseded on day 5; c-late comes on day 30.
    assert counts["project"] == {
        "layer": "project", "known_then": 2, "superseded_by_then": 1, "proposed": 2,
    }  # fmt: skip
    assert counts["log"]["known_then"] == 1
    assert "reflection" not in counts
    assert looked.title.startswith("kettle kettle (in English), asked 2026-01-11 00:00 UTC")


def test_an_answer_lists_what_is_shown_and_then_the_targets_that_are_not(story):
    cases, base = story
    run = rt.evaluate(cases, base)
    rows = rt.widgets.answer(cases, run, "q").frame.to_dicts()
    assert [row["rank"] for row in rows] == [1, 2, None]
    assert rows[-1]["role"] == "target, not shown"
    assert rows[-1]["memory"] == "the kettle has become blue today"
    assert {row["role"] for row in rows[:2]} == {"superseded", "other"}
    assert [row["age_days"] for row in rows if row["role"] == "superseded"] == [9.0]


def test_the_import_table_adds_up_or_says_that_it_does_not():
    frame = pl.DataFrame(
        {"file": ["a", "b"], "format": ["x", "y"], "read": [3, 3], "kept": [2, 2],
         "dropped": [1, 0], "turns": [0, 0], "memories": [2, 2], "already": [0, 0]}
    )  # fmt: skip
    empty = pl.DataFrame(schema={"file": pl.String, "reason": pl.String, "count": pl.Int64})
    report = ImportReport(frame, empty, pl.DataFrame(), pl.DataFrame(), ())
    assert rt.widgets.import_table(report).frame["adds_up"].to_list() == [True, False]


def test_three_half_lives_keep_what_their_formulas_say():
    looked, curves = rt.widgets.half_life_names(60.0)
    kept = dict(looked.frame.select("name", "weight_at_half_life").iter_rows())
    # 2^-1, e^-1, .5 + .5 e^-1
    assert kept["half-life"] == pytest.approx(0.5)
    assert kept["mean life"] == pytest.approx(np.exp(-1))
    assert kept["half floor"] == pytest.approx(0.5 + 0.5 * np.exp(-1))
    assert curves["curve"].unique().len() == 3


def test_shape_curves_meet_at_the_half_life():
    curves = rt.widgets.shape_curves(60.0, (0.5, 1.0, 1.5))
    near = curves.with_columns((pl.col("age_days") - 60).abs().alias("off"))
    at = near.sort("off").group_by("curve", maintain_order=True).first()["weight"]
    assert at.to_list() == pytest.approx([0.5] * 3, abs=0.03)


def test_tier_curves_end_at_their_floors():
    base = rt.preset("recallnest")
    last = rt.widgets.tier_curves(base).group_by("curve").agg(pl.col("weight").min())
    for tier, weight in last.iter_rows():
        assert weight == pytest.approx(rt.get(base, f"tier_decay.{tier}_floor"), abs=0.02)


def test_the_worst_loss_is_the_largest_fall_of_one_over_rank():
    flips = pl.DataFrame(
        {"case_id": ["a", "b", "c"], "rank_a": [1, 2, None], "rank_b": [2, None, 1]}
    )
    # a: 1/2 - 1 = -0.5; b: 0 - 1/2 = -0.5, c gains. Ties go to the first name.
    assert rt.widgets.worst_loss(flips) == "a"
    assert rt.widgets.worst_loss(flips.filter(pl.col("case_id") == "c")) is None


def test_shares_of_places_and_targets_each_sum_to_one(cases):
    run = rt.evaluate(cases, config())
    shares, told = rt.widgets.layer_shares(cases, run)
    for role in ("places", "targets"):
        assert shares.filter(pl.col("role") == role)["value"].sum() == pytest.approx(1)
    wide = shares.pivot(on="role", index="layer", values="value")
    far = wide.sort((pl.col("places") - pl.col("targets")).abs()).row(-1, named=True)
    assert str(told).startswith(f"{far['layer']} takes")


def test_two_runs_swapped_swap_the_columns_of_the_layer_table(cases):
    one, two = (
        rt.evaluate(cases, c) for c in (config(), rt.set_many(config(), {"select.top_k": 8}))
    )
    forth = rt.widgets.layer_verdicts(cases, one, two).frame
    back = rt.widgets.layer_verdicts(cases, two, one).frame
    for what in ("shown", "places", "empty"):
        assert forth[f"{what}_default"].to_list() == back[f"{what}_other"].to_list()
    assert forth["targets"].sum() == targets(cases).height


def test_a_sweep_by_target_layer_slices_by_that_layer(cases):
    from recalltune.sweep.views import line

    result = rt.sweep(cases, config(), rt.Space({"select.top_k": [2, 4, 8]}))
    frame = line(rt.widgets.by_target_layer(result), "select.top_k", "ndcg@10", by="kind")
    assert set(frame["slice"].to_list()) == {"all cases", "project", "log", "user"}


def test_readiness_stops_where_an_answer_was_not_known(story, cases, tmp_path):
    report = ImportReport(
        pl.DataFrame(schema=dict.fromkeys(("read", "kept", "dropped"), pl.Int64)),
        pl.DataFrame(), pl.DataFrame(), pl.DataFrame(), (),
    )  # fmt: skip
    assert rt.widgets.readiness(cases, report, budget_tokens=400).verdict == "keep"
    early = [Note("a", "kettle", 20.0)]
    asks = [Ask("q", "kettle", 10.0, ("a",))]
    lab = make_lab(tmp_path / "early.duckdb", early, asks)
    table = rt.candidates(lab, "s", story[1])
    ready = rt.widgets.readiness(table, report, budget_tokens=400)
    assert ready.verdict == "cannot decide"
    assert "not known when asked" in ready.claim


def test_the_reading_list_puts_what_moves_most_first(cases):
    space = rt.Space({"decay.half_life_days": [1, 30, 365], "mmr.pool": [10, 50]})
    result = rt.sweep(cases, config(), space)
    names = {"decay.half_life_days": "03", "mmr.pool": "06"}
    reading = rt.widgets.reading_list(result, "ndcg@10", names).frame
    assert reading["notebook"].to_list()[0] == "03"
    assert reading["largest_difference"].is_sorted(descending=True)


def test_the_bench_is_built_once_and_again_when_a_file_changes(root, tmp_path, monkeypatch):
    built = []
    monkeypatch.setattr(benches, "_build", lambda corpus, folder: built.append(1) or fake(folder))
    shutil.copytree(root / "data", tmp_path / "data")
    first = rt.widgets.demo_bench(tmp_path / "data", tmp_path / "out")
    rt.widgets.demo_bench(tmp_path / "data", tmp_path / "out")
    assert len(built) == 1
    (tmp_path / "data/memory/MEMORY.md").write_text("- changed\n", encoding="utf-8")
    rt.widgets.demo_bench(tmp_path / "data", tmp_path / "out")
    assert len(built) == 2
    assert first.cases_told == "told"
    assert first.gloss


def test_a_bench_note_that_cannot_be_read_is_made_anew(root, tmp_path, monkeypatch):
    monkeypatch.setattr(benches, "_build", lambda corpus, folder: fake(folder))
    (tmp_path / "out/notebooks").mkdir(parents=True)
    (tmp_path / "out/notebooks/demo.json").write_text("not json", encoding="utf-8")
    rt.widgets.demo_bench(root / "data", tmp_path / "out")
    assert json.loads((tmp_path / "out/notebooks/demo.json").read_text(encoding="utf-8"))["key"]


def test_without_the_corpus_the_bench_says_what_it_needs(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"demo\.json"):
        rt.widgets.demo_bench(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="give data="):
        rt.widgets.demo_bench()


def fake(folder: Path) -> dict[str, object]:
    rt.open(folder / "demo.duckdb")
    tables = {name: [{"file": "a"}] for name in ("files", "dropped", "parts", "redacted")}
    return {**tables, "notices": [], "cases": "told"}
