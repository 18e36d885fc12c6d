"""Rows and frames at the door: what is accepted, what is refused, and how it says so."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from recalltune import store
from recalltune.errors import ContractError
from recalltune.store.schema import ORDER_KEYS

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
ROW_MODELS = (
    store.Turn,
    store.Memory,
    store.MemorySpan,
    store.Job,
    store.Event,
    store.Sharing,
    store.Access,
    store.SearchLogEntry,
    store.EvalCaseRow,
    store.Label,
    store.Run,
    store.Sweep,
    store.IngestFile,
)


@pytest.mark.parametrize("model", ROW_MODELS)
def test_every_row_model_has_exactly_the_columns_of_its_table(con, model):
    assert list(model.model_fields) == list(store.table_schema(con, model.table))


def test_every_table_is_listed_with_an_order(con):
    rows = con.sql("select table_name from duckdb_tables()").fetchall()
    assert {name for (name,) in rows} - {"schema_number"} == set(ORDER_KEYS)


@pytest.mark.parametrize("number", [7, np.int64(7), 7.0])
def test_an_integer_id_is_refused_by_name(number):
    with pytest.raises(ContractError, match=r"memory_id must be text, got the number 7"):
        store.Memory(memory_id=number, text_hash="0" * 64)


def test_a_naive_instant_is_refused():
    with pytest.raises(ValidationError, match="timezone"):
        store.Access(memory_id="m", used_at=datetime(2026, 1, 1), kind="cited")  # noqa: DTZ001


def test_bug_117_numpy_scalars_are_accepted(con):
    """O117. Kind: ragged or numpy values into DuckDB."""
    row = store.Memory(
        memory_id="m",
        text_hash="0" * 64,
        salience=np.float32(0.25),
        pinned=np.bool_(True),
        tags=np.array(["a", "b"]),
    )
    assert store.insert_rows(con, [row]) == 1
    stored = store.read_table(con, "memory").row(0, named=True)
    assert (stored["salience"], stored["pinned"], stored["tags"]) == (0.25, True, ["a", "b"])


def test_bug_117_no_rows_are_no_operation(con):
    """O117. Kind: ragged or numpy values into DuckDB."""
    assert store.insert_rows(con, []) == 0
    assert store.insert_frame(con, "hit", pl.DataFrame(schema={"run_id": pl.String})) == 0
    assert store.put_texts(con, []) == []
    assert store.put_vectors(con, "e", [], np.zeros((0, 3), dtype=np.float32)) == 0


def test_a_lone_surrogate_in_any_text_is_refused_with_the_table(con):
    with pytest.raises(ContractError, match=r"memory: text must be valid Unicode.*ud83d"):
        store.insert_rows(con, [store.Memory(memory_id="half \ud83d", text_hash="0" * 64)])


def test_rows_of_several_tables_may_come_mixed(con):
    rows = [
        store.Access(memory_id="m", used_at=MOMENT, kind="shown"),
        store.Memory(memory_id="m", text_hash="0" * 64),
        store.Access(memory_id="m", used_at=MOMENT, kind="cited"),
    ]
    assert store.insert_rows(con, rows) == 3
    assert store.read_accesses(con)["kind"].to_list() == ["cited", "shown"]


def test_a_second_row_with_the_same_key_is_refused_with_the_key(con):
    row = store.Memory(memory_id="twice", text_hash="0" * 64)
    with pytest.raises(ContractError, match=r"memory refuses the rows.*duplicate key .*twice"):
        store.insert_rows(con, [row, row])


def test_a_check_of_the_table_is_reported_as_a_contract(con):
    frame = pl.DataFrame({"run_id": ["r"], "query_id": ["q"], "rank": [0], "memory_id": ["m"]})
    with pytest.raises(ContractError, match=r"hit refuses the rows.*CHECK"):
        store.insert_frame(con, "hit", frame)


def test_an_unknown_column_names_the_nearest(con):
    with pytest.raises(ContractError, match=r"hit has no column \['memoryid'\]; nearest: 'memory_"):
        store.insert_frame(con, "hit", pl.DataFrame({"memoryid": ["m"]}))


def test_an_unknown_table_names_the_nearest(con):
    with pytest.raises(ContractError, match="nearest: 'metric'"):
        store.insert_frame(con, "metrics", pl.DataFrame())


def test_a_number_where_an_id_belongs_names_the_column_and_both_types(con):
    frame = pl.DataFrame({"run_id": ["r"], "query_id": [3], "metric": ["mrr"], "value": [0.5]})
    with pytest.raises(ContractError, match="query_id must be String, got Int64"):
        store.insert_frame(con, "metric", frame)


def test_narrow_numbers_widen_and_too_large_ones_are_refused(con):
    hits = pl.DataFrame(
        {"run_id": ["r"], "query_id": ["q"], "rank": [1], "memory_id": ["m"], "score": [1]},
        schema_overrides={"rank": pl.UInt32, "score": pl.Float32},
    )
    assert store.insert_frame(con, "hit", hits) == 1
    with pytest.raises(ContractError, match="does not fit"):
        store.insert_frame(con, "hit", hits.with_columns(rank=pl.lit(2**40)))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_refused_and_null_is_kept(con, value: float):
    frame = pl.DataFrame({"run_id": ["r"], "query_id": ["q"], "metric": ["mrr"], "value": [value]})
    with pytest.raises(ContractError, match=r"metric\.value must be finite or null"):
        store.insert_frame(con, "metric", frame)
    empty = frame.with_columns(value=pl.lit(None), reason=pl.lit("no relevant memory"))
    store.insert_frame(con, "metric", empty)
    assert store.read_table(con, "metric")["value"].to_list() == [None]


def test_bug_93_a_late_fraction_is_not_cut_to_an_integer(con):
    """N93. Kind: silent integer cast."""
    scores = [1] * 150 + [0.5]
    rows = [
        store.SearchLogEntry(query_id=f"{number:03}", query="q", shown=["m"], scores=[score])
        for number, score in enumerate(scores)
    ]
    store.insert_rows(con, rows)
    assert store.read_search_log(con)["scores"].to_list()[-1] == [0.5]


def test_a_run_is_written_with_its_frames_and_its_ledger(con):
    run = store.Run(
        run_id="r1",
        kind="evaluate",
        config="{}",
        config_fingerprint="c",
        data_digest="d",
        code_version="0",
    )
    hits = pl.DataFrame({"query_id": ["q", "q"], "rank": [2, 1], "memory_id": ["b", "a"]})
    hops = pl.DataFrame(
        {"hop": ["no_dense", "empty"], "reason": ["no encoder", "no word"], "query_id": [None, "q"]}
    ).with_columns(asked_at=pl.Series([None, MOMENT]))
    store.write_run(con, run, hits=hits, ledger=hops)
    store.write_ledger(con, "r1", hops)
    kept = store.read_table(con, "ledger", run_id="r1")
    assert kept.select("seq", "hop", "query_id", "asked_at").rows() == [
        (1, "no_dense", None, None),
        (2, "empty", "q", MOMENT),
    ]
    assert store.read_table(con, "hit", run_id="r1")["memory_id"].to_list() == ["a", "b"]
    assert store.read_table(con, "hit", run_id="other").is_empty()


def test_a_sweep_takes_points_as_they_arrive(con):
    head = store.Sweep(
        sweep_id="s",
        config="{}",
        space="{}",
        config_fingerprint="c",
        data_digest="d",
        code_version="0",
        case_set="set",
        case_ids=["c1", "c2"],
    )
    for point in ("p2", "p1"):
        points = pl.DataFrame(
            {
                "point_id": [point],
                "metric": ["ndcg@10"],
                "setting": ["{}"],
                "value": [0.5],
                "case_values": [[1.0, None]],
            }
        )
        store.write_sweep(con, head, points)
    read, points = store.read_sweep(con, "s")
    assert read["case_ids"] == ["c1", "c2"]
    assert points["point_id"].to_list() == ["p1", "p2"]
    assert points["case_values"].to_list()[0] == [1.0, None]
    with pytest.raises(ContractError, match="known: s"):
        store.read_sweep(con, "t")


def test_an_unknown_case_set_lists_those_there_are(con):
    store.insert_rows(con, [store.EvalCaseRow(case_set="golden", case_id="c", query="q")])
    with pytest.raises(ContractError, match="nearest: 'golden'"):
        store.read_cases(con, "goldn")
    assert store.read_labels(con, "golden").is_empty()
