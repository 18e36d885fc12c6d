"""What each arm sees for one query: every row it could have proposed, not only the first ones.

In: a candidate table that keeps what was searched, one of its queries. Out: a view an arm. The
rows proposed are those of the table; here is what lies behind the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.corpus import Corpus
from recalltune.candidates.expand import expanded
from recalltune.candidates.settings import Arms, LexicalArm
from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError
from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.nearest import cosine_pairs
from recalltune.rank.order import rank_order
from recalltune.rank.substring import substring_terms

__all__ = ["ArmView", "arm_views"]


@dataclass(frozen=True, eq=False)
class ArmView:
    """One arm over the whole world of a query."""

    score: NDArray[np.float64]
    """shape (S,), one per span; NaN where it gives none."""
    ranked: NDArray[np.intp]
    """Rows it could propose, best first."""
    proposed: int
    """How many of them it proposes."""
    touched: int
    """How many rows it gave a score."""
    abstained: bool
    """Whether it could score nothing: the query has no direction, no word, or no model ran."""
    silent: NDArray[np.bool_]
    """shape (S,); rows it cannot score whatever is asked: they have no direction."""
    reaching: int
    """How many of the ranked reach the arm's minimum; all of them where it asks for none."""

    @property
    def cut(self) -> float | None:
        """Score of the last row proposed; None where it proposes every row it ranks."""
        if not self.proposed or self.proposed == self.ranked.size:
            return None
        return float(self.score[self.ranked[self.proposed - 1]])

    def rank_of(self, row: int) -> int | None:
        """Rank of a row among all the arm could propose, from 1; None where it is none of them."""
        at = np.flatnonzero(self.ranked == row)
        return int(at[0]) + 1 if at.size else None

    def why(self, row: int, rank: int | None) -> str | None:
        """Why the arm does not propose a row; None where only its width is in the way."""
        if rank is not None:
            return None if rank <= self.reaching else "below_minimum"
        return "abstained" if self.abstained or self.silent[row] else "no_match"


def arm_views(candidates: Candidates, arms: Arms, query: int) -> dict[str, ArmView]:
    """Return arm -> what it sees for one query, in the order of `Arms.names`.

    Parameters
    ----------
    candidates
        A table made with ``arms``.
    arms
        The arms that are on.
    query
        Row of the query.

    Raises
    ------
    ContractError
        If the table keeps nothing of what was searched.
    """
    if candidates.corpus is None:
        raise ContractError("candidates keep nothing of what was searched; candidates(...) does")
    corpus, asked = candidates.corpus, candidates.queries.row(query, named=True)
    at, worlds = int(asked["asked_at"]), candidates.corpus.worlds
    world = worlds.world(at, asked["scope"])
    held = candidates.in_prompt[query] if candidates.in_prompt else None
    allowed = worlds.proposable(at, world, held)
    counted = world if worlds.admit.statistics == "world" else worlds.alive(at)
    text = {arm: expanded(asked["text"], arms.expansions, arm=arm) for arm in arms.names}
    views: dict[str, ArmView] = {}
    if arms.dense is not None:
        vector = None if candidates.asked is None else candidates.asked[query]
        views["dense"] = _dense(corpus, arms, vector, allowed)
    if arms.lexical is not None:
        views["lexical"] = _lexical(corpus, arms, text["lexical"], allowed, counted)
    if arms.substring is not None:
        views["substring"] = _substring(corpus, arms, text["substring"], allowed, counted)
    return views


def _dense(
    corpus: Corpus, arms: Arms, vector: NDArray[np.float32] | None, allowed: NDArray[np.bool_]
) -> ArmView:
    assert arms.dense is not None
    score = np.full(allowed.size, np.nan)
    if vector is None or corpus.vectors is None or not vector.any():
        return _nothing(score)
    silent = ~corpus.directed
    rows = np.flatnonzero(allowed & ~silent)
    score[rows] = cosine_pairs(vector[None], corpus.vectors, np.zeros(rows.size, np.int64), rows)
    ranked = _best_first(score, allowed & ~silent)
    near = int((score[ranked] >= arms.dense.min_cosine).sum())
    proposed = min(near, arms.dense.proposed())
    return ArmView(score, ranked, proposed, rows.size, False, silent, near)


def _lexical(
    corpus: Corpus,
    arms: Arms,
    text: str,
    allowed: NDArray[np.bool_],
    counted: NDArray[np.bool_],
) -> ArmView:
    assert arms.lexical is not None
    score = np.full(allowed.size, np.nan)
    if corpus.index is None:
        return _nothing(score)
    postings, words = corpus.index.asked(text)
    if not words:
        return _nothing(score)
    found = postings.scores(words, k1=arms.lexical.k1, b=arms.lexical.b, world=counted)
    some = allowed & (found > 0)
    score[some] = found[some]
    ranked = _best_first(found, _matching(postings, words, some, arms.lexical, world=counted))
    proposed = min(arms.lexical.width, ranked.size)
    silent = np.zeros_like(some)
    return ArmView(score, ranked, proposed, int(some.sum()), False, silent, ranked.size)


def _matching(
    postings: PostingIndex,
    words: Sequence[str],
    some: NDArray[np.bool_],
    arm: LexicalArm,
    *,
    world: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which of the rows that hold ``some`` token of the query the arm may propose."""
    if arm.match == "any":
        return some
    rows, every = np.flatnonzero(some), np.zeros_like(some)
    held = postings.term_frequencies(words, rows, world=world)
    if len(held.terms) == len(set(words)):
        every[rows] = (held.tf > 0).all(axis=0)
    few = int(every.sum()) < arm.width
    return some if arm.match == "all_then_any" and few else every


def _best_first(score: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Rows of ``allowed``, best first; rows stand in memory_id order, so the row settles ties."""
    return rank_order(score, allowed)[: int(allowed.sum())]


def _substring(
    corpus: Corpus,
    arms: Arms,
    text: str,
    allowed: NDArray[np.bool_],
    counted: NDArray[np.bool_],
) -> ArmView:
    assert arms.substring is not None
    score = np.full(allowed.size, np.nan)
    if corpus.substrings is None:
        return _nothing(score)
    hits = corpus.substrings.search(text, world=counted, allowed=allowed)
    score[hits.rows] = hits.occurrences
    proposed = min(arms.substring.width, hits.rows.size)
    abstained = not substring_terms(text).segments
    silent = np.zeros(allowed.size, dtype=np.bool_)
    found = hits.rows.size
    return ArmView(score, hits.rows, proposed, found, abstained, silent, found)


def _nothing(score: NDArray[np.float64]) -> ArmView:
    none = np.array([], dtype=np.intp)
    return ArmView(score, none, 0, 0, True, np.zeros(score.shape, dtype=np.bool_), 0)
