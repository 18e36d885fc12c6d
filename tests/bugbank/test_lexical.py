"""Bug bank B14 to B22: what a lexical arm must find, must not find, and how it scores.

Expected scores are BM25 with k1 1.2, b 0.75 and idf ln(1 + (N - n + 0.5) / (n + 0.5)).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recalltune as rt
from recalltune.errors import checked
from recalltune.rank import TOKENIZERS, TextIndex, WithoutStopWords, text_index, tokenize_plain
from recalltune.store import Lab
from small_lab import Ask, Note, WordEncoder, make_lab

LEXICAL = checked(
    rt.RankingConfig,
    {"arms": {"lexical": {}}, "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 3}]},
)
every_tokeniser = pytest.mark.parametrize("tokeniser", TOKENIZERS)


def scores(texts: list[str], query: str, tokeniser: str = "words_cjk_bigrams") -> list[float]:
    index, tokens = TextIndex.build(texts, tokeniser).asked(query)
    return index.scores(tokens).tolist()


def table(folder: Path, texts: list[str], query: str, **options: Any) -> rt.Candidates:
    """Memories m0, m1, ... and one question asked after them."""
    notes = [Note(f"m{number}", text) for number, text in enumerate(texts)]
    lab = make_lab(folder / "lab.duckdb", notes, [Ask("q", query, 9.0)])
    return rt.candidates(lab, "s", options.pop("config", LEXICAL), **options)


def proposed(found: rt.Candidates) -> list[str]:
    return [found.memory_id(0, int(column)) for column in np.flatnonzero(found.valid[0])]


@every_tokeniser
def test_b14_a_word_in_one_of_two_texts_has_its_full_rarity(tokeniser: str) -> None:
    """Kind: idf collapses on tiny corpora."""
    # A text of average length: k1 and b cancel, ln(1 + 1.5 / 1.5) is left.
    found = scores(["rust wins", "go wins"], "rust", tokeniser)
    assert found == pytest.approx([math.log(2), 0], rel=1e-15)
    assert found[0] == pytest.approx(0.693147, abs=1e-6)


@every_tokeniser
def test_b15_a_word_in_half_of_the_texts_still_counts(tokeniser: str) -> None:
    """Kind: term in exactly half of the docs scores 0."""
    found = scores(["kiwi tea", "kiwi cup", "plum tea", "plum cup"], "kiwi", tokeniser)
    assert found == pytest.approx([math.log(2), math.log(2), 0, 0], rel=1e-15)


@every_tokeniser
def test_b16_a_word_in_every_text_is_worth_something_and_more_of_it_more(tokeniser: str) -> None:
    """Kind: negative score for a common term."""
    texts = ["pink pink pink pink", "blue pink blue sky", "red red pink sea"]
    # ln(1 + 0.5 / 3.5), times 2.2 * tf / (tf + 1.2).
    expected = [math.log(8 / 7) * 2.2 * 4 / 5.2, math.log(8 / 7), math.log(8 / 7)]
    assert scores(texts, "pink", tokeniser) == pytest.approx(expected, rel=1e-15)
    assert expected == pytest.approx([0.225976, 0.133531, 0.133531], abs=1e-6)
    more = [scores(["ash " * times + "elm " * (6 - times), "oak"], "ash")[0] for times in range(7)]
    assert more == sorted(more)
    assert more[1] > 0


@every_tokeniser
def test_b17_empty_texts_and_an_empty_corpus_give_an_empty_list(tokeniser: str) -> None:
    """Kind: empty documents or an empty corpus crash."""
    # Average length 1, length 2: 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2)) = 2.2 / 3.1.
    expected = [math.log(1 + 2.5 / 1.5) * 2.2 / 3.1, 0, 0]
    found = scores(["alpha beta", "", "beta"], "alpha", tokeniser)
    assert found == pytest.approx(expected, rel=1e-15)
    assert expected[0] == pytest.approx(0.696072, abs=1e-6)
    assert scores([], "alpha", tokeniser) == []
    assert scores(["", ""], "alpha", tokeniser) == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("texts", [[], ["", ""], ["alpha beta", "", "beta"]])
def test_b17_a_lab_of_empty_memories_is_asked_without_an_exception(
    tmp_path: Path, texts: list[str]
) -> None:
    """Kind: empty documents or an empty corpus crash."""
    found = table(tmp_path, texts, "alpha")
    assert proposed(found) == ["m0"][: texts.count("alpha beta")]
    assert rt.evaluate(found, LEXICAL).hits.height == texts.count("alpha beta")


def test_b18_a_question_of_stop_words_alone_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kind: query made of stop words returns nothing."""
    band = WithoutStopWords(tokenize_plain, frozenset({"the", "who"}))
    monkeypatch.setattr(text_index, "TOKENIZERS", {"band": band})
    texts = ["the who played leeds", "who moved my cheese", "nothing here"]
    first, second, third = scores(texts, "the who", "band")
    assert first > second > third == 0
    # Beside another word they are left out again, on both sides.
    assert scores(texts, "who moved", "band") == scores(texts, "moved", "band")
    found = scores(["the cat", "cat the the"], "the cat", "band")
    assert found == pytest.approx([math.log(1.2)] * 2, rel=1e-12)


def test_b18_a_stop_word_is_not_found_under_the_stem_of_another_word() -> None:
    """Kind: query made of stop words returns nothing."""
    # "its" has the stem "it", which is a stop word.
    texts = ["to be or not to be", "the bee and its hive"]
    assert scores(texts, "to be or not to be", "porter")[0] > 0
    assert scores(["it is", "its hive"], "its", "porter")[1] > 0
    for tokeniser in TOKENIZERS:
        assert scores(texts, "to be or not", tokeniser)[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "!!!"])
def test_b19_a_question_without_a_word_leaves_the_other_arm_as_it_is(
    tmp_path: Path, query: str
) -> None:
    """Kind: query without any token."""
    config = checked(
        rt.RankingConfig,
        {
            "arms": {"lexical": {}, "dense": {}},
            "stages": [{"kind": "rrf"}, {"kind": "select", "top_k": 3}],
        },
    )
    found = table(
        tmp_path, ["tea time", "server room", "!!!"], query, config=config, encoder=WordEncoder()
    )
    assert found.notices["wordless_queries"] == 1
    shown = rt.evaluate(found, config).hits["memory_id"].to_list()
    ranks = found.feature("dense_rank")[0]
    assert shown == [found.memory_id(0, int(column)) for column in np.argsort(ranks)]
    assert shown[:1] == (["m2"] if query else [])


@every_tokeniser
def test_b20_a_text_needs_not_hold_every_word(tokeniser: str) -> None:
    """Kind: all words required."""
    texts = ["offsite hotel booked", "budget approved"]
    first, second = scores(texts, "offsite hotel budget", tokeniser)
    assert first > second > 0


@pytest.mark.slow
def test_b21_texts_without_a_word_of_the_question_are_no_hits(tmp_path: Path) -> None:
    """Kind: zero-score filler presented as hits."""
    texts = ["tea time", "server room", "garden", "备份", "release notes"]
    found = table(tmp_path, texts, "zebra crossing")
    assert proposed(found) == []
    assert rt.evaluate(found, LEXICAL).hits.is_empty()
    assert found.notices["wordless_queries"] == 0


@pytest.mark.slow
def test_b22_what_was_written_changed_or_deleted_is_so_in_the_next_question(
    tmp_path: Path, lab: Lab
) -> None:
    """Kind: lexical index stale after writes."""
    file = tmp_path / "notes.json"

    def write(**texts: str) -> None:
        records = [
            {"id": name, "text": text, "timestamp": "2026-01-01T00:00:00Z"}
            for name, text in texts.items()
        ]
        head = {"version": "connector-v1", "source": "notes", "scope": "team"}
        whole = {**head, "producedAt": "2026-02-01T00:00:00Z", "records": records}
        file.write_text(json.dumps(whole), encoding="utf-8")
        rt.ingest(lab, file)

    def answer() -> list[str]:
        return [name.split(":")[-1] for name in proposed(rt.ask(lab, "zebra", LEXICAL))]

    write(a="tea time", b="server room")
    assert answer() == []
    write(a="tea time", b="server room", c="zebra crossing")
    assert answer() == ["c"]
    write(a="zebra time", b="server room", c="zebra crossing")
    assert answer() == ["a", "c"]
    write(a="zebra time", b="server room")
    assert answer() == ["a"]
