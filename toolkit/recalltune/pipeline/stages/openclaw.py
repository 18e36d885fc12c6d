"""OpenClaw's content score: the weighted sum of its two arms, with named paths ahead.

In: candidates. Out: the score every factor then multiplies. The same module says what the other
stages of OpenClaw read: which row a query names by its path, and what each arm said of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from recalltune.candidates.table import DEGRADED, NO_DENSE_ARM, Candidates
from recalltune.pipeline.bounds import ArmBounds, affine_bounds
from recalltune.pipeline.stage import Affine, ScoreStage
from recalltune.rank.exact_path import exact_tie, path_exactness
from recalltune.rank.keyword import (
    fts_rank_score,
    lexical_boost,
    search_words,
    words_in_path,
)

__all__ = [
    "UNSURE",
    "OpenClawFuse",
    "OpenClawLegacyFuse",
    "exact_tier",
    "found_by",
    "hybrid",
    "like_rank",
    "raised_score",
    "text_score",
    "vector_score",
]

Floats = NDArray[np.float64]

UNSURE = 1e-150
"""Weight of a hit without confidence: among rows of score 0 it decides, against any other it
vanishes."""


def hybrid(candidates: Candidates) -> bool:
    """Whether both arms ran; where one is off or has no encoder, production ranks by the other."""
    no_encoder = candidates.stamp.encoder in (NO_DENSE_ARM, DEGRADED)
    return {"dense_rank", "lexical_rank"} <= set(candidates.features) and not no_encoder


def found_by(candidates: Candidates, arm: str) -> NDArray[np.bool_]:
    """Return shape (Q, C): whether the arm proposed the row."""
    return ~np.isnan(candidates.optional(f"{arm}_rank"))


def vector_score(candidates: Candidates) -> Floats:
    """Return shape (Q, C): the cosine; 0 where the dense arm did not propose the row."""
    score = candidates.optional("dense_score")
    return np.where(found_by(candidates, "dense"), score, 0.0)


def text_score(candidates: Candidates) -> Floats:
    """Return shape (Q, C), in [0, 1): BM25 as production calibrates it; 0 without a match."""
    bm25 = np.where(found_by(candidates, "lexical"), candidates.optional("lexical_score"), 0.0)
    return np.where(bm25 > 0, fts_rank_score(-bm25), 0.0)


def exact_tier(candidates: Candidates) -> NDArray[np.int64]:
    """Return shape (Q, C): how exactly the query names the row's path, 0 to 3.

    A table that has the feature `exact_tier` is believed; of another, path and query are read.
    Without a keyword arm production looks for no names, and every tier is 0.
    """
    if "exact_tier" in candidates.features:
        return candidates.feature("exact_tier").astype(np.int64)
    return candidates.kept("openclaw tier", lambda: _tiers(candidates))


def _tiers(candidates: Candidates) -> NDArray[np.int64]:
    if not {"path", "lexical_rank"} <= set(candidates.features):
        return np.zeros(candidates.span.shape, dtype=np.int64)
    paths = candidates.codes["path"]
    named = [
        # Padding has code -1 and so reads the last element.
        np.array([*path_exactness(text or "", paths), 0], dtype=np.int64)
        for text in candidates.queries["text"].to_list()
    ]
    code = candidates.feature("path").astype(np.int64)
    return np.take_along_axis(np.stack(named), code % (len(paths) + 1), axis=1)


def like_rank(candidates: Candidates) -> Floats:
    """Return shape (Q, C): strength of a match without a score; it only decides between equals."""
    return _or_zero(candidates, "like_score")


def _or_zero(candidates: Candidates, name: str) -> Floats:
    return np.nan_to_num(candidates.optional(name), nan=0.0)


class OpenClawFuse(ScoreStage):
    """Set the score to that of the content; where the query names the path, to that of the tie.

    Content is vector_weight · cosine + text_weight · keyword score, divided by nothing. The keyword
    score is BM25 / (1 + BM25), raised by words in common with text and path; of a table without
    texts it is not raised. Where only one arm ran, its score alone is the content.

    Read where a table has them: `ranking_score` (the raised keyword score), `path_score` (of a row
    found by a part of its path), `like_score` (of a row found without a score).
    """

    fuses: ClassVar[bool] = True

    kind: Literal["openclaw_fuse"] = "openclaw_fuse"
    vector_weight: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]."""
    text_weight: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. The two weights need not sum to 1, and scores then reach their sum."""
    exact_tie: Literal["halved", "content"] = "halved"
    """What a row scores whose path the query names. halved: (1 + content) / 2, content clipped to
    [0, 1]; production takes it when decay is on. content: the content, rows without any behind."""

    def keyword_score(self, candidates: Candidates) -> Floats:
        """Return shape (Q, C): what of the text decides, in [0, 1]."""
        text = text_score(candidates)
        told = candidates.optional("ranking_score")
        ranking = np.where(np.isnan(told), raised_score(candidates), told)
        partly_named = np.where(exact_tier(candidates) > 0, 0.0, _or_zero(candidates, "path_score"))
        return np.where(text > 0, ranking, partly_named)

    def content(self, candidates: Candidates) -> Floats:
        """Return shape (Q, C): the weighted sum of what the arms say."""
        vector, keyword = vector_score(candidates), self.keyword_score(candidates)
        if hybrid(candidates):
            return self.vector_weight * vector + self.text_weight * keyword
        return vector if "lexical_rank" not in candidates.features else keyword

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score."""
        content, like = self.content(candidates), like_rank(candidates)
        if self.exact_tie == "halved":
            named = exact_tie(content)
        else:
            named = np.where(content > 0, content, np.where(like > 0, 1.0, UNSURE))
        other = np.where(content == 0, like * UNSURE, content)
        return Affine(0.0, np.where(exact_tier(candidates) > 0, named, other))

    def fused(self, arms: Mapping[str, ArmBounds], only: str | None = None) -> tuple[float, float]:
        """Return the bounds of a row that ``arms`` propose: of its content, or of its name."""
        low, high = _content_bounds(arms, only, self.vector_weight, self.text_weight)
        return low, max(high, 1.0)

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds whatever arms are on; what was scored before is not read."""
        del low, high
        return -1.0, max(self.vector_weight + self.text_weight, 1.0)


def raised_score(candidates: Candidates) -> Floats:
    """Return shape (Q, C), in [0, 1]: keyword scores raised by the words in common.

    Of a table without texts they are the keyword scores as they are.
    """
    if "text" not in candidates.spans.columns:
        return text_score(candidates)
    counts = candidates.kept("openclaw words", lambda: _words_in_common(candidates))
    asked, matched, distinct, in_path = counts
    return lexical_boost(
        text_score(candidates),
        asked=asked,
        matched=matched,
        distinct=distinct,
        in_path=in_path,
        length_chars=np.maximum(candidates.feature("utf16_chars"), 0),
    )


def _words_in_common(candidates: Candidates) -> Floats:
    """Shape (4, Q, C): words asked, matched, distinct in the text, found in the path."""
    wanted = found_by(candidates, "lexical")
    texts = candidates.spans["text"].to_list()
    words = cache(lambda span: frozenset(search_words(texts[span])))
    paths = candidates.codes.get("path", ("",))
    path = candidates.features.get("path", np.zeros(candidates.span.shape)).astype(np.int64)
    counts = np.zeros((4, *candidates.span.shape))
    for row, query in enumerate(candidates.queries["text"].to_list()):
        asked, columns = frozenset(search_words(query or "")), np.flatnonzero(wanted[row])
        in_path = {code: words_in_path(asked, paths[code]) for code in set(path[row, columns])}
        for column in columns:
            here = words(int(candidates.span[row, column]))
            found = in_path[path[row, column]]
            counts[:, row, column] = len(asked), len(asked & here), len(here), found
    return counts


class OpenClawLegacyFuse(ScoreStage):
    """Set the score to (vector_weight · cosine + text_weight · keyword) / (sum of the weights).

    As OpenClaw did until its weights became constants: no named paths, no raised keyword score.
    Where only one arm ran, its score alone counts.
    """

    fuses: ClassVar[bool] = True

    kind: Literal["openclaw_legacy_fuse"] = "openclaw_legacy_fuse"
    vector_weight: float = Field(default=0.7, ge=0, le=1)
    """[0, 1]. Only its ratio to the other one counts."""
    text_weight: float = Field(default=0.3, ge=0, le=1)
    """[0, 1]. Not both may be 0; production would take its defaults without a word."""

    @model_validator(mode="after")
    def _some_weight(self) -> OpenClawLegacyFuse:
        if self.vector_weight + self.text_weight == 0:
            message = "vector_weight and text_weight must not both be 0"
            raise ValueError(message)
        return self

    def shares(self) -> tuple[float, float]:
        """Return the weights of vector and text, of sum 1."""
        whole = self.vector_weight + self.text_weight
        return self.vector_weight / whole, self.text_weight / whole

    def affine(self, candidates: Candidates) -> Affine:
        """Set the score."""
        vector, text = vector_score(candidates), text_score(candidates)
        if not hybrid(candidates):
            return Affine(0.0, vector if "lexical_rank" not in candidates.features else text)
        of_vector, of_text = self.shares()
        return Affine(0.0, of_vector * vector + of_text * text)

    def fused(self, arms: Mapping[str, ArmBounds], only: str | None = None) -> tuple[float, float]:
        """Return the bounds of a row that ``arms`` propose."""
        return _content_bounds(arms, only, *self.shares())

    def attainable(self, low: float, high: float) -> tuple[float, float]:
        """Return the bounds whatever arms are on; what was scored before is not read."""
        del low, high
        return -1.0, 1.0


def _content_bounds(
    arms: Mapping[str, ArmBounds], only: str | None, vector_weight: float, text_weight: float
) -> tuple[float, float]:
    """Bounds of the weighted sum; of an arm alone, whose weight is not read."""
    dense = arms["dense"].score if "dense" in arms and only in (None, "dense") else (0.0, 0.0)
    text = 1.0 if "lexical" in arms and only in (None, "lexical") else 0.0
    if not {"dense", "lexical"} <= set(arms):
        vector_weight = text_weight = 1.0
    low, high = affine_bounds(dense, scale=(vector_weight, vector_weight))
    return min(low, 0.0), max(high, 0.0) + text_weight * text
