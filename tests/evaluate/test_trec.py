"""Judgements and runs written for trec_eval: read back they are the same, and so are figures."""

from __future__ import annotations

import math
import stat
from operator import itemgetter
from pathlib import Path

import ir_measures
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, nDCG

from recalltune import store
from recalltune.candidates.build import candidates
from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.run import evaluate
from recalltune.evaluate.trec import write_qrels, write_run
from recalltune.ingest import FORMATS, Source, detect, ingest
from recalltune.ingest.parsed import Parsed
from recalltune.pipeline.config import RankingConfig

IDS = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=5
)  # fmt: skip


def filled(lab: store.Lab, labels: list[store.Label], file: str = "") -> None:
    cases = sorted({label.case_id for label in labels})
    with lab.writing() as con:
        store.insert_rows(
            con,
            [store.EvalCaseRow(case_set="set", case_id=one, query=one, file=file) for one in cases],
        )
        store.insert_rows(con, labels)


def hits(lists: dict[str, list[tuple[str, float | None]]]) -> pl.DataFrame:
    rows = [
        (query, place, memory, score)
        for query, shown in lists.items()
        for place, (memory, score) in enumerate(shown, start=1)
    ]
    schema = {"query_id": pl.String, "rank": pl.Int64, "memory_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def label(case: str, memory: str, **said) -> store.Label:
    return store.Label(case_set="set", case_id=case, memory_id=memory, **said)


def test_judgements_are_written_in_order_hard_negatives_as_0(lab, tmp_path):
    filled(
        lab,
        [
            label("q2", "b", grade=3),
            label("q2", "a"),
            label("q10", "c", role="hard_negative", grade=0),
            label("q10", "b", role="expected_order", grade=0, place=1),
        ],
    )
    path = write_qrels(lab, "set", tmp_path / "x.qrels")
    assert path.read_text("utf-8") == "q10 0 c 0\nq2 0 a 1\nq2 0 b 3\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_scores_are_written_where_they_give_the_list_that_was_shown(tmp_path):
    found = hits({"q": [("b", 2.5), ("a", 0.1)], "p": [("a", 1.0)]})
    path = write_run(found.sample(fraction=1.0, shuffle=True, seed=1), tmp_path / "x.run")
    assert path.read_text("utf-8") == (
        "p Q0 a 1 1.0 recalltune\nq Q0 b 1 2.5 recalltune\nq Q0 a 2 0.1 recalltune\n"
    )


@pytest.mark.parametrize(
    "shown",
    [
        [("a", 1.0), ("b", 2.0)],  # A stage reordered them.
        [("a", 1.0), ("b", 1.0)],  # trec_eval would show b first.
        [("a", 1.0 + 1e-12), ("b", 1.0)],  # Equal as 32-bit floats.
        [("a", None), ("b", None)],
        [("a", math.nan), ("b", 1.0)],
    ],
)
def test_where_scores_would_give_another_list_places_are_written(tmp_path, shown):
    path = write_run(hits({"q": shown, "r": [("c", 9.0)]}), tmp_path / "x.run", tag="mine")
    assert path.read_text("utf-8") == "q Q0 a 1 2 mine\nq Q0 b 2 1 mine\nr Q0 c 1 1 mine\n"


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    judged=st.dictionaries(st.tuples(IDS, IDS), st.integers(0, 9), min_size=1, max_size=6),
    lists=st.dictionaries(
        IDS,
        st.lists(
            st.tuples(IDS, st.floats(-1e6, 1e6)), min_size=1, max_size=5, unique_by=itemgetter(0)
        ),
        min_size=1,
        max_size=4,
    ),
    falling=st.booleans(),
)  # fmt: skip
def test_what_is_written_is_read_back(lab, tmp_path, judged, lists, falling):
    if falling:
        lists = {query: sorted(shown, key=lambda one: -one[1]) for query, shown in lists.items()}
    with lab.writing() as con:
        store.forget_file(con, "f")
    filled(
        lab,
        [label(case, memory, grade=grade, file="f") for (case, memory), grade in judged.items()],
        file="f",
    )
    qrels = read(write_qrels(lab, "set", tmp_path / "a.qrels"), "trec_qrels")
    assert {(row.case_id, row.memory_id): row.grade for row in qrels.others} == judged
    run = read(write_run(hits(lists), tmp_path / "a.run", tag="t"), "trec_run")
    shown = {row.query_id.removeprefix("t:"): list(row.shown) for row in run.searches}
    assert shown == {query: [name for name, _ in several] for query, several in lists.items()}


def read(path: Path, format: str) -> Parsed:
    source = Source(path, path.name, f"src/{path.name}")
    found = detect(source)
    assert (found and found.format, found and found.confidence) == (format, 1.0)
    parsed = Parsed(format, source.file)
    FORMATS[format].read(source, parsed)
    assert parsed.dropped == 0
    return parsed


@pytest.mark.parametrize("bad", ["a b", "a\tb", "a\n", "\ufeffa", "a\u2028", "a\u00a0b", ""])
def test_an_id_that_cannot_be_a_field_is_refused_by_name(lab, tmp_path, bad):
    if bad:
        filled(lab, [label("q", bad)])
        with pytest.raises(ContractError, match="memory_id must be one word"):
            write_qrels(lab, "set", tmp_path / "x.qrels")
    for found, column in ((hits({bad: [("m", 1.0)]}), "query"), (hits({"q": [(bad, 1.0)]}), "mem")):
        with pytest.raises(ContractError, match=f"{column}.*_id must be one word"):
            write_run(found, tmp_path / "x.run")
    with pytest.raises(ParameterError, match="tag must be one word"):
        write_run(hits({"q": [("m", 1.0)]}), tmp_path / "x.run", tag=bad)
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (hits({"q": [("a", 1.0), ("a", 0.5)]}), "shows memory 'a' twice"),
        (hits({"q": [("a", 1.0), ("b", 0.5)]}).filter(pl.col("rank") == 2), "must run from 1 to 1"),
        (hits({}).drop("score"), "none called score"),
    ],
)
def test_hits_that_are_no_lists_are_refused(tmp_path, found, told):
    with pytest.raises(ContractError, match=told):
        write_run(found, tmp_path / "x.run")


def test_an_unknown_case_set_and_a_link_are_refused(lab, tmp_path):
    filled(lab, [label("q", "m")])
    with pytest.raises(ContractError, match="case_set must exist, got 'sets'; nearest: 'set'"):
        write_qrels(lab, "sets", tmp_path / "x.qrels")
    (tmp_path / "link").symlink_to(tmp_path / "x.qrels")
    with pytest.raises(ParameterError, match="plain file or a new one"):
        write_qrels(lab, "set", tmp_path / "link")


# --- real collections -----------------------------------------------------------------------

THEIRS = {
    "map": AP, "reciprocal_rank": RR, "ndcg@10": nDCG @ 10, "ndcg": nDCG, "precision@10": P @ 10,
    "recall@10": R @ 10, "recall@100": R @ 100,
}  # fmt: skip
STEMMED = RankingConfig.model_validate(
    {
        "name": "stems",
        "arms": {"lexical": {"tokeniser": "porter", "k1": 0.9, "b": 0.4, "width": 200}},
        "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 200}],
    }
)


@pytest.mark.shared
@pytest.mark.slow
def test_ir_measures_has_our_figures_case_by_case_on_cacm(lab, shared: Path, tmp_path):
    ingest(lab, shared / "data" / "cacm")
    ours = evaluate(candidates(lab, "cacm", STEMMED), STEMMED, metrics=tuple(THEIRS), split="all")
    qrels = list(ir_measures.read_trec_qrels(str(write_qrels(lab, "cacm", tmp_path / "a.qrels"))))
    run = list(ir_measures.read_trec_run(str(write_run(ours, tmp_path / "a.run"))))
    assert (len(qrels), len({one.query_id for one in run})) == (796, 64)
    for name, measure in THEIRS.items():
        theirs = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, run)}
        mine = dict(ours.cases.select("query_id", name).drop_nulls().iter_rows())
        assert len(mine) == 52
        assert mine == pytest.approx({query: theirs[query] for query in mine}, abs=1e-9), name
