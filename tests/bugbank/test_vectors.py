"""Bug bank D29-D32, O104, O105: vectors that are zero, mixed, stale, cut or missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import recalltune as rt
from recalltune.encode import Lengths, coverage, identity, unit_rows, vectors_for
from recalltune.errors import ContractError, SourceError, checked
from recalltune.pipeline.config import RankingConfig
from recalltune.report.terminal import evaluation_lines
from recalltune.store import Lab
from small_lab import Ask, Note, make_lab

pytestmark = pytest.mark.slow


def config(*arms: str, top_k: int = 10) -> RankingConfig:
    stages = [{"kind": "rrf"}, {"kind": "select", "top_k": top_k}]
    return checked(RankingConfig, {"arms": {arm: {} for arm in arms}, "stages": stages})


DENSE = config("dense")


@dataclass
class Letters:
    """Counts letters into ``dim`` places, reads ``limit`` words, remembers what it was asked."""

    model: str = "letters"
    dim: int = 26
    limit: int | None = None
    silent: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)

    @property
    def encoder_id(self) -> str:
        return identity(self.model, "r1", prompt="", dim=self.dim)

    def id_of(self, kind: str) -> str:
        return self.encoder_id

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        self.asked += texts
        rows = np.zeros((len(texts), self.dim))
        for row, text in zip(rows, texts, strict=True):
            read = "" if text in self.silent else " ".join(text.split()[: self.limit])
            for character in read:
                row[ord(character) % self.dim] += 1.0
        return unit_rows(rows, texts, dim=self.dim, encoder_id=self.encoder_id)

    def lengths(self, texts: Sequence[str], kind: str) -> Lengths | None:
        if self.limit is None:
            return None
        whole = np.array([len(text.split()) for text in texts], dtype=np.int64)
        return Lengths(whole=whole, kept=np.minimum(whole, self.limit))


@dataclass
class ByHeart(Letters):
    """An encoder that knows the vectors of its texts by heart."""

    known: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        rows = np.array([self.known[text] for text in texts], dtype=np.float64)
        return unit_rows(rows, texts, dim=self.dim, encoder_id=self.encoder_id)


def hundred(path: Path) -> Lab:
    """A hundred memories of different words and one question."""
    notes = [Note(f"m{n:03d}", f"memory number {n}", 0.0) for n in range(100)]
    return make_lab(path / "lab.duckdb", notes, [Ask("q", "number seven", 1.0, ("m007",))])


def test_a_zero_vector_is_never_shown_and_never_nan_and_is_counted(tmp_path: Path) -> None:
    """D29. Kind: zero vector gives NaN and NaN ranks first."""
    known = {"q": (1.0, 0.0), "d0": (1.0, 0.0), "d1": (0.5, 0.5), "d2": (0.0, 0.0)}
    notes = [Note(name, name, 0.0) for name in ("d2", "d1", "d0")]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [Ask("a", "q", 1.0, ("d0",))])
    setting = checked(
        RankingConfig,
        {"arms": {"dense": {}}, "stages": [{"kind": "weighted"}, {"kind": "select", "top_k": 2}]},
    )
    run = rt.evaluate(
        rt.candidates(lab, "s", setting, encoder=ByHeart(dim=2, known=known)), setting
    )
    assert run.hits["memory_id"].to_list() == ["d0", "d1"]
    # cos((1, 0), (.5, .5)) = .5 / sqrt(.5)
    assert run.hits["score"].to_list() == pytest.approx([1.0, 0.707107], abs=1e-6)
    assert run.counts["zero_vectors"] == 1
    assert "zero_vectors 1" in evaluation_lines(run)[-1]


def test_another_width_under_one_name_is_refused_with_both_widths(tmp_path: Path) -> None:
    """D30. Kind: dimension mismatch scored as 0."""
    lab = hundred(tmp_path)
    rt.candidates(lab, "s", DENSE, encoder=Letters(dim=4))

    class Shrunk(Letters):
        encoder_id = Letters(dim=4).encoder_id

    with pytest.raises(ContractError, match=r"letters@r1.* 4 values .* promises 3"):
        rt.candidates(lab, "s", DENSE, encoder=Shrunk(dim=3))


def test_a_memory_longer_than_the_model_reads_is_counted_with_the_share_unread(
    tmp_path: Path,
) -> None:
    """D32. Kind: long text cut silently."""
    # 3,000 words, the model reads 256 of them; the short memory and the question have 2 each.
    long = " ".join(["filler"] * 2_999 + ["quokka"])
    notes = [Note("long", long, 0.0), Note("short", "two words", 0.0)]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [Ask("q", "a quokka", 1.0, ("long",))])
    encoder = Letters(limit=256)
    run = rt.evaluate(rt.candidates(lab, "s", DENSE, encoder=encoder), DENSE)
    assert run.counts["memories_cut_by_the_model"] == 1
    # 2,744 of 3,002 words are unread: 91.4 %, rounded up.
    assert run.counts["percent_of_tokens_unread"] == 92
    told = " ".join(evaluation_lines(run))
    assert "memories_cut_by_the_model 1, percent_of_tokens_unread 92" in told
    cut = vectors_for(lab, encoder, [long, long.removesuffix(" quokka")], "passage")
    np.testing.assert_array_equal(cut.vectors[0], cut.vectors[1])
    assert cut.truncated == 2


def test_vectors_of_another_model_of_equal_width_are_neither_searched_nor_reused(
    tmp_path: Path,
) -> None:
    """O104. Kind: mixed models of equal width."""
    lab = hundred(tmp_path)
    texts = [f"memory number {n}" for n in range(100)]
    first, second = Letters("A"), Letters("B")
    vectors_for(lab, first, [*texts[:80], "number seven"], "passage")
    vectors_for(lab, second, texts[80:], "passage")
    assert coverage(lab, second, texts).present == 20
    second.asked.clear()
    made = rt.candidates(lab, "s", DENSE, encoder=second)
    # The eighty that only A knew, and the question that A had cached, are computed by B.
    assert sorted(second.asked) == sorted([*texts[:80], "number seven"])
    assert made.stamp.encoder == second.encoder_id


def parquet(path: Path, vectors: pl.Series) -> str:
    texts = ["number seven", *(f"memory number {n}" for n in range(len(vectors) - 1))]
    ids = ["question", *(f"m{n:03d}" for n in range(len(vectors) - 1))]
    pl.DataFrame({"id": ids, "text": texts}).with_columns(vector=vectors).write_parquet(path)
    return f"precomputed:{path}"


def test_a_file_that_lacks_vectors_of_some_memories_is_refused_with_their_number(
    tmp_path: Path,
) -> None:
    """O105. Kind: vectors missing for some rows, run degrades silently."""
    lab = hundred(tmp_path)
    whole = np.random.default_rng(3).normal(size=(101, 4)).astype(np.float32)
    encoder = parquet(tmp_path / "seventy.parquet", pl.Series(whole[:71]))
    with pytest.raises(ContractError, match=r"30 of 100 have no vector, first 'memory number 70'"):
        rt.candidates(lab, "s", DENSE, encoder=encoder)
    for kind in (pl.Array(pl.Float32, 4), pl.List(pl.Float32)):
        holed = pl.Series([*whole[:71].tolist(), *[None] * 30], dtype=kind)
        with pytest.raises(SourceError, match=r"null\.parquet:72: .*"):
            rt.candidates(lab, "s", DENSE, encoder=parquet(tmp_path / "null.parquet", holed))


def test_a_run_in_which_memories_lost_their_vectors_is_counted_and_not_compared(
    tmp_path: Path,
) -> None:
    """O105. Kind: vectors missing for some rows, run degrades silently."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    lost = frozenset(f"memory number {n}" for n in range(70, 100))
    runs = [
        rt.evaluate(rt.candidates(hundred(folder), "s", DENSE, encoder=encoder), DENSE)
        for folder, encoder in (
            (tmp_path / "a", Letters()),
            (tmp_path / "b", Letters(silent=lost)),
        )
    ]
    assert [run.counts["zero_vectors"] for run in runs] == [0, 30]
    with pytest.raises(ContractError, match="the vectors differ"):
        rt.difference(*runs, "ndcg@10")


def test_a_run_without_its_encoder_is_marked_and_not_compared_with_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O105. Kind: vectors missing for some rows, run degrades silently."""
    from recalltune.candidates import build

    lab, both = hundred(tmp_path), config("dense", "lexical")
    whole = rt.evaluate(rt.candidates(lab, "s", both, encoder=Letters()), both)
    monkeypatch.setattr(build, "resolve", lambda name: (None, "nothing is installed"))
    lexical = rt.evaluate(rt.candidates(lab, "s", both), both)
    assert lexical.counts["dense_arm_missing"] == 1
    assert "dense_arm_missing 1" in evaluation_lines(lexical)[-1]
    with pytest.raises(ContractError, match="degraded to lexical only"):
        rt.difference(whole, lexical, "ndcg@10")


def test_a_ragged_file_of_vectors_names_the_first_memory_that_is_out_of_line(
    tmp_path: Path,
) -> None:
    """O117. Kind: ragged or numpy values into DuckDB."""
    ragged = pl.Series([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0]], dtype=pl.List(pl.Float32))
    with pytest.raises(SourceError, match=r"v\.parquet:3: .*one width, got \[2, 3\], first m001"):
        rt.encoder(parquet(tmp_path / "v.parquet", ragged))
