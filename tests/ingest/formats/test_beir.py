"""A retrieval collection in a folder: documents, queries, judgements, each file read alone."""

from __future__ import annotations

from typing import Any

import pytest

from recalltune import store
from recalltune.candidates.build import candidates
from recalltune.errors import SourceError
from recalltune.evaluate.run import evaluate
from recalltune.ingest import ingest
from recalltune.pipeline.config import RankingConfig

CONFIG = RankingConfig.model_validate(
    {
        "name": "words",
        "arms": {"lexical": {"tokeniser": "plain", "width": 50}},
        "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 10}],
    }
)
HEADER = "query-id\tcorpus-id\tscore\n"
DOCUMENTS = [
    {"_id": "7", "title": "Bees", "text": "keep bees in hives", "metadata": {}},
    {"_id": "07", "title": "", "text": "rye bread"},
    {"_id": "8", "title": "Hives", "text": ""},
]
QUERIES = [{"_id": "1", "text": "bees hives"}, {"_id": "2", "text": "bread"}]


@pytest.fixture
def collection(write: Any) -> Any:
    write("bees/corpus.jsonl", DOCUMENTS)
    write("bees/queries.jsonl", QUERIES)
    return write("bees/qrels/test.tsv", HEADER + "1\t7\t2\n1\t8\t1\n2\t07\t1\n").parent.parent


def rows(lab: store.Lab, case_set: str = "bees") -> tuple[Any, Any, Any]:
    with lab.reading() as con:
        return (
            store.read_spans(con),
            store.read_cases(con, case_set),
            store.read_labels(con, case_set),
        )


def test_a_folder_becomes_memories_cases_and_graded_labels(lab, collection):
    report = ingest(lab, collection)
    assert report.frame.select("file", "format", "confidence", "read", "kept").rows() == [
        ("bees/corpus.jsonl", "beir", 1.0, 3, 3),
        ("bees/queries.jsonl", "beir", 1.0, 2, 2),
        ("bees/qrels/test.tsv", "beir", 1.0, 4, 3),
    ]
    spans, cases, labels = rows(lab)
    assert sorted(spans.select("memory_id", "text", "scope").rows()) == [
        ("07", "rye bread", "beir:bees"),
        ("7", "Bees keep bees in hives", "beir:bees"),
        ("8", "Hives", "beir:bees"),
    ]
    assert spans["event_at"].null_count() == 3
    assert cases.select("case_id", "query", "scope").rows() == [
        ("1", "bees hives", "beir:bees"),
        ("2", "bread", "beir:bees"),
    ]
    assert labels.select("case_id", "memory_id", "grade").rows() == [
        ("1", "7", 2),
        ("1", "8", 1),
        ("2", "07", 1),
    ]
    found = evaluate(candidates(lab, "bees", CONFIG), CONFIG, metrics=("map",), split="all")
    assert found.value("map") == 1.0


@pytest.mark.parametrize("alone", ["bees/qrels/test.tsv", "bees/corpus.jsonl"])
def test_a_file_named_alone_knows_its_collection(lab, collection, src, alone):
    ingest(lab, src / alone)
    with lab.reading() as con:
        sets = store.read_table(con, "label")["case_set"].to_list()
        scopes = store.read_spans(con)["scope"].to_list()
    assert {*sets, *scopes} <= {"bees", "beir:bees"}
    assert sets or scopes


@pytest.mark.parametrize(
    ("name", "content", "reasons"),
    [
        (
            "corpus.jsonl",
            [*DOCUMENTS, {"_id": "9", "title": " "}, {"_id": "7", "text": "x"}, {"text": "x"}],
            {"empty document": 1, "_id repeated": 1, "_id missing or not text": 1},
        ),
        (
            "queries.jsonl",
            [*QUERIES, {"_id": "3", "text": " "}, {"_id": True, "text": "x"}],
            {"query without a text": 1, "_id missing or not text": 1},
        ),
        (
            "qrels.tsv",
            HEADER
            + "1\t7\t1\n1\t7\t1\n1\t7\t2\n1\t8\tyes\n1\t8\n\t8\t1\n1\t8\t1.5\n1\t8\t99999999\n",
            {
                "header": 1,
                "judgement repeated": 1,
                "judged again with another grade": 1,
                "grade is not a whole number from -1,000,000 to 1,000,000": 3,
                "not three fields between tabs": 1,
                "judgement without a query or a document": 1,
            },
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_dropped_with_a_reason(lab, write, name, content, reasons):
    report = ingest(lab, write(f"bees/{name}", content))
    assert dict(report.reasons().select("reason", "count").iter_rows()) == reasons
    assert report.frame["read"].item() == report.frame["kept"].item() + sum(reasons.values())


def test_grades_of_0_and_below_are_kept_as_not_relevant(lab, write, collection):
    report = ingest(lab, write("bees/qrels/test.tsv", HEADER + "1\t7\t-1\n1\t8\t0\n2\t07\t3\n"))
    ingest(lab, collection)
    _, _, labels = rows(lab)
    assert labels.select("memory_id", "grade").rows() == [("7", 0), ("8", 0), ("07", 3)]
    assert "grade below 0, kept as 0 (not relevant): 1" in report.notices
    found = evaluate(candidates(lab, "bees", CONFIG), CONFIG, metrics=("map",), split="all")
    assert found.counts["cases_without_target"] == 1


def test_an_id_that_is_a_number_is_a_text(lab, write):
    ingest(lab, write("bees/corpus.jsonl", [{"_id": 7, "text": "bees"}]))
    with lab.reading() as con:
        assert store.read_spans(con)["memory_id"].to_list() == ["7"]


def test_judgements_of_what_is_not_there_are_counted_and_judge_nothing(lab, write, collection):
    write("bees/qrels/test.tsv", HEADER + "1\t7\t1\n1\t99\t1\n5\t7\t1\n")
    ingest(lab, collection)
    table = candidates(lab, "bees", CONFIG)
    found = evaluate(table, CONFIG, metrics=("recall@10",), split="all")
    assert (table.notices["labels_of_no_memory"], table.notices["labels_of_no_case"]) == (1, 1)
    assert found.value("recall@10") == 1.0
    assert found.counts["cases_without_target"] == 1  # Query 2 has no judgement.


def test_queries_that_are_read_again_keep_their_judgements(lab, write, collection):
    ingest(lab, collection)
    write("bees/queries.jsonl", [QUERIES[0] | {"text": "hives, bees"}, QUERIES[1]])
    ingest(lab, collection)
    _, cases, labels = rows(lab)
    assert (cases["query"][0], labels.height) == ("hives, bees", 3)


def test_judgements_of_several_files_of_a_folder_are_of_one_set_each_once(lab, write, collection):
    write("bees/qrels/train.tsv", HEADER + "1\t7\t2\n1\t07\t0\n")
    report = ingest(lab, collection)
    _, _, labels = rows(lab)
    assert labels.height == 4
    assert dict(report.reasons().select("reason", "count").iter_rows()) == {
        "header": 2,
        "judgement another file holds": 1,
    }


def test_a_walked_folder_gives_one_kind_of_judgements_and_any_that_are_named(lab, write):
    write("bees/qrels.tsv", HEADER + "1\t7\t1\n")
    other = write("bees/qrels.other.tsv", HEADER + "1\t8\t1\n")
    write("bees/numbers.tsv", "a\tb\n")
    assert ingest(lab, other.parent).frame["file"].to_list() == ["bees/qrels.tsv"]
    assert ingest(lab, other).frame["kept"].to_list() == [1]


def test_documents_of_two_collections_with_one_id_are_not_mixed_up(lab, write, src):
    write("a/corpus.jsonl", [{"_id": "1", "text": "bees"}, {"_id": "2", "text": "rye"}])
    write("b/corpus.jsonl", [{"_id": "1", "text": "tea"}, {"_id": "3", "text": "oats"}])
    report = ingest(lab, src)
    with lab.reading() as con:
        spans = store.read_spans(con)
    assert spans.height == 3
    assert sorted(spans["scope"].to_list()) == ["beir:a", "beir:a", "beir:b"]
    [(reason, count)] = report.reasons().select("reason", "count").iter_rows()
    assert (count, "id " in reason and "another" in reason) == (1, True)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("qrels.tsv", "1\t7\t1\n", "must start with query-id, corpus-id, score"),
        ("papers.jsonl", '{"_id": "1", "text": "x"}\n', "must be called"),
    ],
)
def test_a_file_that_does_not_say_what_it_is_is_refused_by_name(lab, write, name, content, told):
    path = write(f"bees/{name}", content)
    with pytest.raises(SourceError, match="format not recognised"):
        ingest(lab, path)
    with pytest.raises(SourceError, match=rf"^bees/{name}:1: .*{told}"):
        ingest(lab, path, format="beir")
