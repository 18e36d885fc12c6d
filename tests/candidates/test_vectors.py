"""The dense arm: exact scores, zero vectors abstain, cuts settle ties by id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.candidates.build import candidates
from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from recalltune.rank.nearest import cosine_pairs, pad_lanes
from recalltune.rank.walk import first_rows
from small_lab import Ask, Note, WordEncoder, make_lab

DENSE = checked(RankingConfig, {"arms": {"dense": {}}, "stages": [{"kind": "weighted"}]})


class Table(WordEncoder):
    """An encoder that knows its texts by heart."""

    encoder_id = "table@1"
    dim = 2
    known: ClassVar = {"q": (1, 0), "d0": (1, 0), "d1": (0.5, 0.5), "d2": (0, 0)}

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        rows = np.array([self.known[text] for text in texts], dtype=np.float64)
        norm = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, norm, out=np.zeros_like(rows), where=norm > 0).astype(np.float32)


def test_a_zero_vector_is_absent_and_counted_and_never_nan(tmp_path: Path) -> None:
    notes = [Note(name, name, 0.0) for name in ("d0", "d1", "d2")]
    lab = make_lab(tmp_path / "l.duckdb", notes, [Ask("a", "q", 1.0)])
    made = candidates(lab, "s", DENSE, encoder=Table())
    shown = {made.memory_id(0, c): made.feature("dense_score")[0, c] for c in range(2)}
    assert shown == {"d0": pytest.approx(1.0), "d1": pytest.approx(0.707107, abs=1e-6)}
    assert made.valid.sum() == 2
    assert made.notices["zero_vectors"] == 1


@given(st.integers(1, 40), st.integers(1, 70), st.integers(0, 10_000))
def test_a_score_has_the_same_bits_alone_and_among_others(n: int, dim: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(n + 1, dim)).astype(np.float32)
    query, vectors = np.split(pad_lanes(drawn / np.linalg.norm(drawn, axis=1)[:, None]), [1])
    only, rows = np.zeros(n, np.int64), np.arange(n)
    together = cosine_pairs(query, vectors, only, rows)
    alone = [cosine_pairs(query, vectors[[row]], only[:1], only[:1])[0] for row in rows]
    np.testing.assert_array_equal(together, alone)
    exact = (vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    np.testing.assert_allclose(together, exact, rtol=1e-10, atol=1e-10)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.integers(1, 10),
    st.integers(0, 10_000),
)
def test_the_cut_of_an_arm_settles_ties_by_row(grades: list[int], width: int, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=len(grades)) * 1e-15
    score = np.array(grades, dtype=np.float64) + 1 + noise
    allowed = np.arange(len(grades)) % 5 != 3
    rows = [row for row in range(len(grades)) if allowed[row]]
    expected = sorted(rows, key=lambda row: (-grades[row], row))[:width]
    row_of = np.arange(len(grades))
    rows, _ = first_rows(row_of, np.where(allowed, row_of, -1)[None], score[None], width)
    assert rows[0][rows[0] >= 0].tolist() == expected
