"""The named tokeniser of the lexical arm: for memories, questions and token sets alike."""

from __future__ import annotations

from typing import get_args

import pytest

import recalltune as rt
from recalltune.candidates.settings import LexicalArm
from recalltune.errors import RecalltuneError, checked
from recalltune.rank import TOKENIZERS
from small_lab import Ask, Note, make_lab

TEXTS = {"a": "The cats were indexed", "b": "GitHub备份 of the cat", "c": "to be or not to be"}


def config(tokeniser: str) -> rt.RankingConfig:
    return checked(
        rt.RankingConfig,
        {
            "arms": {"lexical": {"tokeniser": tokeniser}},
            "stages": [{"kind": "weighted"}, {"kind": "select"}],
        },
    )


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> rt.Lab:
    asks = [Ask("cat", "cat", 9.0), Ask("github", "github", 9.0), Ask("stop", "to be", 9.0)]
    notes = [Note(name, text) for name, text in TEXTS.items()]
    return make_lab(tmp_path_factory.mktemp("lab") / "lab.duckdb", notes, asks)


def test_the_arm_takes_every_tokeniser_there_is_and_no_other() -> None:
    assert get_args(LexicalArm.model_fields["tokeniser"].annotation) == tuple(TOKENIZERS)
    with pytest.raises(RecalltuneError, match="openclaw_main"):
        config("openclaw")


@pytest.mark.parametrize(
    ("tokeniser", "found"),
    [
        ("words_cjk_bigrams", {"cat": "b", "github": "b", "stop": "c"}),
        ("openclaw_release", {"cat": "b", "github": "b", "stop": "c"}),
        ("openclaw_main", {"cat": "b", "github": "", "stop": "c"}),
        ("porter", {"cat": "ab", "github": "b", "stop": "c"}),
    ],
)
def test_memories_questions_and_token_sets_are_cut_by_the_named_tokeniser(
    lab: rt.Lab, tokeniser: str, found: dict[str, str]
) -> None:
    table = rt.candidates(lab, "s", config(tokeniser))
    for row, query in enumerate(table.queries["query_id"].to_list()):
        columns = table.valid[row].nonzero()[0]
        assert "".join(table.memory_id(row, int(one)) for one in columns) == found[query], query
    sets = [frozenset(TOKENIZERS[tokeniser](text)) for text in TEXTS.values()]
    assert table.token_sets == sets
