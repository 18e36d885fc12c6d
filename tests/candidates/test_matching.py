"""Which rows the lexical arm may propose, and what the tables tell of a memory's file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError, checked
from recalltune.evaluate.run import evaluate
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.report.terminal import evaluation_lines
from recalltune.store import Lab, Memory, MemorySpan, insert_rows, put_texts
from small_lab import START, Ask, Note, WordEncoder, instant, make_lab

pytestmark = pytest.mark.slow

NOTES = [
    Note("both", "tea server backup", 1.0),
    Note("one", "tea garden", 1.0),
    Note("other", "server sensor", 1.0),
    Note("zh", "备份服务器", 1.0),
    Note("hidden", "tea server", 1.0, scope="home"),
]


def lexical(match: str, width: int = 200) -> RankingConfig:
    arm = {"match": match, "width": width}
    stages = [{"kind": "weighted"}]
    return checked(RankingConfig, {"arms": {"lexical": arm}, "stages": stages})


def proposed(lab: Lab, config: RankingConfig) -> list[set[str]]:
    table = candidates(lab, "s", config)
    return [
        {table.memory_id(row, int(column)) for column in np.flatnonzero(table.valid[row])}
        for row in range(table.queries.height)
    ]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    queries = ("tea server", "tea tea", "tea penguin", "服务器备份")
    asks = [Ask(f"q{n}", query, 9.0) for n, query in enumerate(queries)]
    return make_lab(tmp_path / "lab.duckdb", NOTES, asks)


def test_any_word_is_enough_unless_all_are_asked_for(lab: Lab) -> None:
    some = [{"both", "one", "other"}, {"both", "one"}, {"both", "one"}, {"zh"}]
    assert proposed(lab, lexical("any")) == some
    # Bug bank: nobody holds every pair of characters of the last query.
    assert proposed(lab, lexical("all")) == [{"both"}, {"both", "one"}, set(), set()]


def test_any_word_is_the_fallback_where_rows_with_all_are_few(lab: Lab) -> None:
    """Issues 15226, 20730, 92728: asking for all words finds nothing, and nothing Chinese."""
    assert proposed(lab, lexical("all_then_any")) == proposed(lab, lexical("any"))
    # One row holds every word of the first query and fills the width: no other is asked for.
    assert proposed(lab, lexical("all_then_any", width=1))[0] == {"both"}
    scores = candidates(lab, "s", lexical("all_then_any")).feature("lexical_score")
    assert (scores[3][:1] > 0).all()


def test_a_word_only_a_hidden_memory_holds_changes_nothing(tmp_path: Path) -> None:
    asks = [Ask("q", "tea penguin", 9.0)]
    secret = Note("secret", "tea penguin", 1.0, scope="home")
    for number, notes in enumerate((NOTES, [*NOTES, secret])):
        lab = make_lab(tmp_path / f"{number}.duckdb", notes, asks)
        assert proposed(lab, lexical("all")) == [set()]


def test_another_way_of_matching_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ParameterError, match=r"match cannot be 'every'; known: all, all_then_any, any"
    ):
        lexical("every")


# --- files and projects -------------------------------------------------------------------------


def filed(folder: Path, files: Mapping[str, str]) -> Lab:
    """A lab of memories with a source each, and one of a project."""
    lab = make_lab(folder / "lab.duckdb", [], [Ask("q", "tea", 213.0, scope=None)])
    with lab.writing() as con:
        [digest] = put_texts(con, ["tea"])
        rows: list[Memory | MemorySpan] = []
        for memory_id, source in files.items():
            project = "garden" if memory_id == "a" else None
            rows.append(
                Memory(memory_id=memory_id, text_hash=digest, source=source, project=project)
            )
            rows.append(MemorySpan(memory_id=memory_id, text_hash=digest, known_at=START))
        insert_rows(con, rows)
    return lab


def texts_of(table: Candidates, name: str) -> list[str]:
    return [table.codes[name][int(code)] for code in table.feature(name)[0]]


def test_a_memory_brings_its_file_and_its_project_along(tmp_path: Path) -> None:
    files = {"a": "memory/2026-05-14.md", "b": "claude_code", "md:memory/x#2": "markdown_folder"}
    table = candidates(filed(tmp_path, files), "s", lexical("any"))
    assert texts_of(table, "path") == ["memory/2026-05-14.md", "", "memory/x.md"]
    assert texts_of(table, "project") == ["garden", "", ""]


def test_what_never_fades_is_printed_with_its_share(tmp_path: Path) -> None:
    """Bug bank F40, from the tables to the report."""
    paths = ["memory/2026-05-14.md", "memory/a/b/2026-05-14.md", "memory/2026-05-14-notes.md"]
    paths += ["memory/2026-05-14-1530.md", "MEMORY.md", "memory/topic.md", "memory/2026-13-40.md"]
    lab = filed(tmp_path, {f"m{n}": path for n, path in enumerate(paths)})
    config = preset("openclaw")
    table = candidates(lab, "s", config, encoder=WordEncoder())
    assert table.queries["asked_at"][0] == int(instant(213.0).timestamp()) * 1_000_000  # 2026-08-02
    found = evaluate(table, config, metrics=("recall@10",), split="all")
    scale = config.stage("openclaw_decay").affine(table).scale[0]
    np.testing.assert_allclose(scale, [2 ** (-80 / 30)] * 4 + [1.0] * 3, rtol=1e-12)
    assert found.counts["impossible_path_dates"] == 1
    assert found.counts["evergreen_memories"] == 2
    assert found.counts["percent_of_memories_evergreen"] == 29
    assert "percent_of_memories_evergreen 29" in evaluation_lines(found)[-1]
