"""Query expansion: what an arm searches with, and what stays as it was asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from recalltune.candidates.build import ask, candidates
from recalltune.candidates.expand import expanded
from recalltune.candidates.settings import Expansion
from recalltune.errors import ParameterError
from recalltune.evaluate.run import evaluate
from recalltune.pipeline.config import RankingConfig, parse_config, preset
from small_lab import Ask, Note, WordEncoder, make_lab

NOTES = [Note("a", "the garden gate", 1.0), Note("b", "the server rack", 2.0)]
CONFIG = """
[arms.lexical]
{more}
[[stages]]
kind = "rrf"
"""
RULE = """
[[arms.expansions]]
trigger = "{trigger}"
terms = ["garden"]
arms = {arms}
"""


def config(trigger: str = "yard", arms: str = '["lexical"]', dense: str = "") -> RankingConfig:
    more = dense + RULE.format(trigger=trigger, arms=arms)
    return parse_config(CONFIG.format(more=more), "x.toml")


def found(path: Path, setting: RankingConfig, query: str) -> list[str]:
    lab = make_lab(path / "l.duckdb", NOTES, [])
    table = ask(lab, query, setting, encoder=WordEncoder())
    return [table.memory_id(0, at) for at in range(table.span.shape[1]) if table.span[0, at] >= 0]


@pytest.mark.parametrize("query", ["who keeps the yard?", "YARD"])
def test_a_query_that_holds_the_trigger_finds_what_the_terms_find(
    tmp_path: Path, query: str
) -> None:
    assert "a" in found(tmp_path, config(), query)


def test_without_the_trigger_nothing_is_added(tmp_path: Path) -> None:
    assert found(tmp_path, config("orchard"), "yard") == []


def test_an_arm_that_is_not_named_searches_with_the_query_alone(tmp_path: Path) -> None:
    setting = config(arms='["dense"]', dense="[arms.dense]\n")
    table = ask(make_lab(tmp_path / "l.duckdb", NOTES, []), "yard", setting, encoder=WordEncoder())
    assert (
        table.feature("lexical_rank").shape[1] == 0
        or not (table.feature("lexical_rank") >= 1).any()
    )
    best = table.feature("dense_score")[0].argmax()
    assert table.memory_id(0, int(best)) == "a"


def test_a_long_query_is_left_as_it_is_and_terms_are_added_once() -> None:
    rule = Expansion(trigger="db", terms=("database", "store"), longest_query_chars=10)
    twice = (rule, Expansion(trigger="d", terms=("store",)))
    assert expanded("db", twice, arm="lexical") == "db database store"
    assert expanded("a db question", (rule,), arm="lexical") == "a db question"
    assert expanded(
        "caf\u00e9", (Expansion(trigger="CAFE\u0301", terms=("x",)),), arm="lexical"
    ) == ("caf\u00e9 x")


def test_expanded_queries_are_counted_and_the_query_stays_as_asked(tmp_path: Path) -> None:
    asks = [Ask("one", "yard", 5.0, ("a",)), Ask("two", "rack", 5.0, ("b",))]
    table = candidates(make_lab(tmp_path / "l.duckdb", NOTES, asks), "s", config())
    assert evaluate(table, config(), split="all").counts["expanded_queries"] == 1
    assert table.queries["text"].to_list() == ["yard", "rack"]


def test_the_slot_is_part_of_the_fingerprint_only_where_it_is_used() -> None:
    bare = preset("textbook")
    assert "expansions" not in bare.canonical()["arms"]
    assert config().setup != config("orchard").setup
    assert parse_config(config().to_toml(), "again").fingerprint == config().fingerprint


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ('trigger = ""\nterms = ["x"]', "trigger"),
        ('trigger = "x"\nterms = []', "terms"),
        ('trigger = "x"\nterms = [" "]', "1 to 200 characters"),
        ('trigger = "x"\nterms = ["y"]\narms = ["words"]', "arms.0 cannot be 'words'"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(rule: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        parse_config(CONFIG.format(more=f"\n[[arms.expansions]]\n{rule}\n"), "x.toml")
