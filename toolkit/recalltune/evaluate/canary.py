"""Scores of RecallNest's own evaluation harness, to the digit.

They are kept apart from the strict verdict because they forgive much: any one target suffices,
``expectTopK`` decides nothing, and a hard negative costs a pass even at the last place. Use them
to compare with what production reports.

References
----------
RecallNest, ``src/eval.ts``: scoreCanaryCase, scoreRetrievalCase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["CanaryScore", "RetrievalScore", "canary_score", "retrieval_score"]

PASS = 0.7
PENALTY = 0.3


@dataclass(frozen=True)
class CanaryScore:
    """Outcome of a canary case."""

    score: float
    """in [0, 1]."""
    passed: bool
    target_ranks: tuple[int, ...]
    """Places of the targets that were found, in the order of the case."""
    top1: bool
    top3: bool
    """Best target within the smaller of 3 and ``expectTopK``."""
    order_ok: bool | None
    """None if fewer than two ids are expected in order."""
    forbidden_ids: int
    """Hard negatives within the list length."""
    forbidden_terms: int


def canary_score(
    result_ids: Sequence[str],
    result_texts: Sequence[str],
    *,
    targets: Sequence[str] = (),
    hard_negatives: Sequence[str] = (),
    expect_order: Sequence[str] = (),
    expect_content_any: Sequence[str] = (),
    forbid: Sequence[str] = (),
    expect_top_k: int = 3,
    limit: int | None = None,
) -> CanaryScore:
    """Score a canary case: a weighted mean of what it declares, minus penalties.

    Targets weigh .5 (1 at place 1, .7 to place 3, .4 deeper, 0 missing), order .2, content .3
    (share of terms found). Nothing declared: .5 if anything was returned. A hard negative within
    ``limit`` costs .3, a forbidden term another .3. Passed: at least .7 and neither of these.

    Parameters
    ----------
    result_ids
        Full ids as returned, best first.
    result_texts
        What each result is searched in; upstream joins scope, text and metadata with newlines.
    targets
        Ids or beginnings of ids, any of which suffices.
    hard_negatives
        Ids or beginnings of ids that must not be returned.
    expect_order
        Ids or beginnings of ids; neighbours must stand in this order, the later may be missing.
    expect_content_any
        Terms, letter case ignored.
    forbid
        Terms, letter case ignored.
    expect_top_k
        places; read by ``top3`` only.
    limit
        places for hard negatives; the number of results if left out.

    Returns
    -------
    CanaryScore
        Score, verdict and what they rest on.

    Examples
    --------
    >>> canary_score(["b-1", "a-1"], ["", ""], targets=["a"]).score
    0.7
    """
    haystack = "\n".join(result_texts).lower()
    ranks = [rank for target in targets if (rank := _rank(target, result_ids))]
    order_ok = _order_ok(expect_order, result_ids) if len(expect_order) >= 2 else None
    parts: list[tuple[float, float]] = []
    if targets:
        parts.append((0.5, _target_value(min(ranks, default=0))))
    if order_ok is not None:
        parts.append((0.2, float(order_ok)))
    if expect_content_any:
        parts.append((0.3, _share(expect_content_any, haystack)))
    depth = len(result_ids) if limit is None else limit
    wrong = sum(0 < _rank(memory, result_ids) <= depth for memory in hard_negatives)
    said = sum(term.lower() in haystack for term in forbid)
    base = _weighted(parts) if parts else (0.5 if result_ids else 0.0)
    score = _clamp(base - PENALTY * (wrong > 0) - PENALTY * (said > 0))
    best = min(ranks, default=0)
    return CanaryScore(
        score=score,
        passed=score >= PASS and not wrong and not said,
        target_ranks=tuple(ranks),
        top1=best == 1,
        top3=0 < best <= min(3, expect_top_k),
        order_ok=order_ok,
        forbidden_ids=wrong,
        forbidden_terms=said,
    )


@dataclass(frozen=True)
class RetrievalScore:
    """Outcome of a retrieval case."""

    score: float
    """in [0, 1]."""
    passed: bool


def retrieval_score(
    result_texts: Sequence[str],
    result_scopes: Sequence[str],
    *,
    expect_any: Sequence[str] = (),
    expect_all: Sequence[str] = (),
    expect_scope_prefixes: Sequence[str] = (),
    forbid: Sequence[str] = (),
) -> RetrievalScore:
    """Score a retrieval case: .9 of the weighted share of terms found, .1 for any result.

    Weights: any .4, all .3, scope prefixes .2, over those declared; ``expect_any`` counts as a
    share too. A forbidden term costs .3. Passed: at least .7 and none forbidden.
    """
    haystack = "\n".join(result_texts).lower()
    parts: list[tuple[float, float]] = []
    if expect_any:
        parts.append((0.4, _share(expect_any, haystack)))
    if expect_all:
        parts.append((0.3, _share(expect_all, haystack)))
    if expect_scope_prefixes:
        met = [any(s.startswith(prefix) for s in result_scopes) for prefix in expect_scope_prefixes]
        parts.append((0.2, sum(met) / len(met)))
    said = any(term.lower() in haystack for term in forbid)
    base = 0.9 * (_weighted(parts) if parts else 0.0) + (0.1 if result_texts else 0.0)
    score = _clamp(base - PENALTY * said)
    return RetrievalScore(score=score, passed=score >= PASS and not said)


def _rank(prefix: str, result_ids: Sequence[str]) -> int:
    """Place of the first result whose id starts like this, from 1; 0 if there is none."""
    return next((n for n, full in enumerate(result_ids, 1) if full.startswith(prefix)), 0)


def _order_ok(expected: Sequence[str], result_ids: Sequence[str]) -> bool:
    ranks = [_rank(memory, result_ids) for memory in expected]
    return all(first and (not then or first < then) for first, then in pairwise(ranks))


def _target_value(best: int) -> float:
    if best == 0:
        return 0.0
    return 1.0 if best == 1 else 0.7 if best <= 3 else 0.4


def _share(terms: Sequence[str], haystack: str) -> float:
    return sum(term.lower() in haystack for term in terms) / len(terms)


def _weighted(parts: Sequence[tuple[float, float]]) -> float:
    return sum(w * value for w, value in parts) / sum(w for w, _ in parts)


def _clamp(score: float) -> float:
    return min(1.0, max(0.0, score))
