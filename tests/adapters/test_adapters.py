"""Readers of evaluation sets that do not ship: what their sources say of them, counted again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from adapters import beam, memorybank, precisionmembench, proactivemembench
from recalltune import store
from recalltune.candidates.build import candidates
from recalltune.evaluate.run import evaluate
from recalltune.pipeline.config import RankingConfig

US_PER_HOUR = 3600 * 10**6


def tables(lab: store.Lab, case_set: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    with lab.reading() as con:
        spans, cases = store.read_spans(con), store.read_cases(con, case_set)
        return spans, cases, store.read_labels(con, case_set)


def targets_of(labels: pl.DataFrame) -> Counter[str]:
    return Counter(labels.filter(pl.col("role") == "target")["case_id"].to_list())


# --- PrecisionMemBench ----------------------------------------------------------------------


@pytest.fixture
def precise(lab: store.Lab, shared: Path) -> store.Lab:
    precisionmembench.fill(lab, shared / "data" / "precisionmembench")
    return lab


@pytest.mark.shared
def test_beliefs_have_their_kinds_pins_successors_and_owners(precise):
    with precise.reading() as con:
        memories = store.read_memories(con)
    seed = memories.filter(pl.col("memory_id") != "b-ci-parallel-decision")
    assert seed.height == 35
    assert Counter(seed["category"]) == {
        "preference": 19, "entity": 9, "open_question": 4, "decision": 2, "relation": 1,
    }  # fmt: skip
    assert Counter(seed["project"]) == {
        "domain:code": 23, "domain:writing": 7, "user:universal": 5,
    }  # fmt: skip
    assert Counter(seed["scope"]) == {"test-user": 34, "other-user": 1}
    assert seed["pinned"].sum() == 11
    superseded = seed.filter(pl.col("status") == "superseded")
    assert superseded.height == 4
    assert set(superseded["superseded_by"]) <= set(seed["memory_id"])


@pytest.mark.shared
def test_queries_expect_their_beliefs_and_nearly_half_of_them_nothing(precise):
    spans, cases, labels = tables(precise, "precisionmembench")
    queries = cases.filter(pl.col("session").is_null())
    wanted = targets_of(labels)
    sizes = Counter(wanted[case_id] for case_id in queries["case_id"])
    assert sizes == {0: 34, 1: 32, 2: 8, 6: 2, 7: 1}
    # Two of the 34 do not say that nothing may come: they only exclude, or judge other tiers.
    assert (queries["kind"] == "nothing_to_find").sum() == 32
    known = set(spans["memory_id"])
    assert set(labels["memory_id"]) <= known
    # Excluded are 3 from the relevant, 9 from the pinned beliefs and 5 from the open questions;
    # three of these beliefs are excluded from two tiers of one case.
    mine = labels.filter(pl.col("case_id").is_in(queries["case_id"].to_list()))
    assert (mine["role"] == "hard_negative").sum() == 3 + 9 + 5 - 3
    assert sorted(queries["top_k"].value_counts().rows()) == [(1, 2), (2, 1), (8, 74)]
    assert queries.filter(pl.col("scope") == "brand-new-user").height == 1


@pytest.mark.shared
def test_session_turns_are_asked_in_order_and_learn_what_a_turn_taught(precise):
    spans, cases, labels = tables(precise, "precisionmembench")
    turns = cases.filter(pl.col("session").is_not_null()).sort("asked_at")
    assert turns["session"].value_counts(sort=True)["count"].to_list() == [11, 1]
    assert (turns["asked_at"].diff().drop_nulls() == US_PER_HOUR).all()
    asked = turns["asked_at"].to_list()
    created = spans.filter(pl.col("memory_id") == "b-ci-parallel-decision")
    assert created["enters_at"].to_list() == [asked[4] + 1]
    redis = spans.filter(pl.col("memory_id") == "b-redis-code").sort("version")
    assert redis["enters_at"].to_list()[1] == redis["leaves_at"].to_list()[0] == asked[9] + 1
    assert "allkeys-lru" not in redis["text"][0]
    assert "allkeys-lru" in redis["text"][1]
    assert (turns["kind"] == "nothing_to_find").sum() == 1
    assert targets_of(labels)[turns["case_id"][10]] == 1


# --- ProactiveMemBench ----------------------------------------------------------------------


@pytest.mark.shared
def test_turns_and_hints_of_the_travel_topic(lab, shared):
    proactivemembench.fill(lab, shared / "data" / "proactivemembench")
    spans, cases, labels = tables(lab, "proactive")
    assert (spans.height, spans["session"].n_unique(), cases.height) == (400, 20, 100)
    wanted = targets_of(labels)
    assert len(wanted) == 94
    assert labels.height / 100 == pytest.approx(2.3, abs=0.05)
    # 2024-03-01T20:15:00 and a time of 2024-08-01, in UTC as they stand.
    assert spans["event_at"].min() == 1_709_324_100 * 10**6
    assert 1_722_470_400 * 10**6 <= spans["event_at"].max() < 1_722_556_800 * 10**6
    assert set(labels["memory_id"]) <= set(spans["memory_id"])


# --- BEAM -----------------------------------------------------------------------------------


@pytest.mark.shared
def test_messages_lose_their_mark_and_questions_have_their_evidence(lab, shared):
    beam.fill(lab, shared / "data" / "beam_100k")
    spans, cases, labels = tables(lab, "beam")
    assert Counter(spans["scope"]) == {"beam:1": 188, "beam:6": 258, "beam:8": 268}
    assert not spans["text"].str.contains("->->", literal=True).any()
    assert cases.height == 60
    assert (cases["kind"] == "nothing_to_find").sum() == 6
    assert cases["kind"].n_unique() == 10
    wanted = targets_of(labels)
    assert len(wanted) == 54
    assert (min(wanted.values()), max(wanted.values())) == (1, 11)
    assert set(labels["memory_id"]) <= set(spans["memory_id"])
    nothing = cases.filter(pl.col("kind") == "nothing_to_find")["case_id"]
    assert not set(nothing) & wanted.keys()
    days = (spans["event_at"] // (24 * US_PER_HOUR)).unique()
    assert days.len() == 3 + 5 + 5 - 2  # Every batch has a day; all chats begin on 15 March.
    newest = spans.group_by("scope").agg(pl.col("enters_at").max())
    assert (cases.join(newest, on="scope").select(pl.col("asked_at") - pl.col("enters_at")) == 1)[
        "asked_at"
    ].all()


def test_a_mark_is_cut_off_a_users_message_alone():
    said = {"role": "user", "content": "Use a -> b and c ->-> d ->-> 2,N/A"}
    assert beam.words(said) == "Use a -> b and c ->-> d"
    assert beam.words(said | {"role": "assistant"}) == said["content"]
    assert beam.words({"role": "user", "content": " plain "}) == "plain"


# --- MemoryBank -----------------------------------------------------------------------------


def test_a_memory_bank_has_exchanges_summaries_and_questions(lab, tmp_path):
    bank = {
        "Ida": {
            "name": "Ida",
            "summary": {"2023-04-27": "Ida plants beans."},
            "history": {
                "2023-04-27": [
                    {"query": "I planted beans.", "response": "Which kind?"},
                    {"query": "Runner beans.", "response": "They climb."},
                ],
                "2023-04-28": [["It rains.", "Good for beans."]],
            },
        },
        "Ole": {"name": "Ole", "summary": {}, "history": {"2023-04-27": []}},
        "Pia": {"name": "Pia"},
    }
    (tmp_path / "bank.json").write_text(json.dumps(bank), encoding="utf-8")
    (tmp_path / "asked.jsonl").write_text('{"Ida": ["Which beans?", "And when?"]}\n{"Ole": []}\n')
    memorybank.fill(lab, tmp_path / "bank.json", tmp_path / "asked.jsonl")
    spans, cases, labels = tables(lab, "memorybank")
    midnight = 1_682_553_600 * 10**6  # 2023-04-27T00:00:00Z
    assert spans.select("memory_id", "layer", "enters_at").rows() == [
        ("Ida:2023-04-27#1", "log", midnight),
        ("Ida:2023-04-27#2", "log", midnight + 1),
        ("Ida:2023-04-27#summary", "summary", midnight + 24 * US_PER_HOUR),
        ("Ida:2023-04-28#1", "log", midnight + 24 * US_PER_HOUR),
    ]
    assert spans["text"][1] == "Ida: Runner beans.\nAI: They climb."
    assert (cases.height, labels.height) == (2, 0)
    with lab.reading() as con:
        turns = store.read_turns(con)
    assert turns["role"].to_list() == ["user", "assistant"] * 3


# --- figures --------------------------------------------------------------------------------

PLAIN_BM25 = RankingConfig.model_validate(
    {
        "name": "plain BM25",
        "arms": {"lexical": {"tokeniser": "plain", "width": 1000}},
        "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 1000}],
    }
)
"""idf ln(1 + (N - df + 0.5) / (df + 0.5)), k1 1.2, b 0.75 over the scope of the question."""


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "folder", "case_set", "figures"),
    [
        (
            proactivemembench,
            "proactivemembench",
            "proactive",
            {"map": 0.368, "ndcg@10": 0.420, "mrr@10": 0.484, "recall@5": 0.416,
             "recall@10": 0.500, "recall_any@1": 0.383},
        ),
        (
            beam,
            "beam_100k",
            "beam",
            {"map": 0.244, "ndcg@10": 0.308, "mrr@10": 0.331, "recall@5": 0.368,
             "recall@10": 0.450, "recall_any@1": 0.204},
        ),
    ],
)  # fmt: skip
def test_plain_bm25_has_its_known_figures(lab, shared, adapter, folder, case_set, figures):
    # Unit: the turn (message) with its text alone; means over the questions with a target.
    adapter.fill(lab, shared / "data" / folder)
    table = candidates(lab, case_set, PLAIN_BM25)
    found = evaluate(table, PLAIN_BM25, metrics=tuple(figures), split="all")
    assert {name: found.value(name) for name in figures} == pytest.approx(figures, abs=0.003)
    assert found.counts["cases_without_target"] == 6
