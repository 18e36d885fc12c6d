"""Strict verdict of a case: everything it expects, within the places it names.

A case passes iff every target stands in the first ``expectTopK`` places (``multi_evidence``:
within its list length), no hard negative does, the expected order holds, at least one expected
term and no forbidden one occurs in the shown texts, and a case of the kind ``nothing_to_find``
is shown nothing. Each part comes as an array, so a whole sweep is judged at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recalltune.evaluate.labels import CaseLabels, case_of_label, per_case_sum
from recalltune.evaluate.metrics import order_pairs, recall_all

__all__ = ["CaseVerdict", "StrictParts", "strict_parts", "strict_verdict", "terms_found"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
DEFAULT_EXPECT_TOP_K = 3


@dataclass(frozen=True, eq=False)
class StrictParts:
    """What holds, per case and part; a part a case does not declare holds."""

    targets: Bools
    hard_negatives: Bools
    order: Bools
    content: Bools
    forbidden: Bools
    nothing: Bools

    @property
    def passed(self) -> Bools:
        """Every part holds, shape (..., N)."""
        return (
            self.targets
            & self.hard_negatives
            & self.order
            & self.content
            & self.forbidden
            & self.nothing
        )


def strict_parts(
    ranks: Floats,
    labels: CaseLabels,
    *,
    target_depth: ArrayLike,
    top_depth: ArrayLike,
    shown: ArrayLike,
    nothing_to_find: ArrayLike = False,
    content_ok: ArrayLike = True,
    forbidden_ok: ArrayLike = True,
) -> StrictParts:
    """Judge every case on every part.

    Parameters
    ----------
    ranks
        shape (..., L), places in the shown list from 1, NaN = not shown.
    labels
        What N cases expect.
    target_depth
        shape (N,), places within which every target must stand.
    top_depth
        shape (N,), places in which no hard negative may stand.
    shown
        shape (..., N), length of each shown list.
    nothing_to_find
        shape (N,), bool. The right answer is an empty list.
    content_ok
        shape (..., N), bool. An expected term was found, or none is expected.
    forbidden_ok
        shape (..., N), bool. No forbidden term was found.

    Returns
    -------
    StrictParts
        shape (..., N) each.
    """
    shape = (*ranks.shape[:-1], labels.n_cases)
    per_label = np.diff(labels.offsets)
    deep_enough = ranks <= np.repeat(np.broadcast_to(target_depth, labels.n_cases), per_label)
    in_top = ranks <= np.repeat(np.broadcast_to(top_depth, labels.n_cases), per_label)
    # Only whether a target is within its depth matters here, so rank 1 stands for "yes".
    found = recall_all(
        np.where(deep_enough, 1.0, np.nan), labels.gains, labels.offsets, groups=labels.groups
    )
    wrong = per_case_sum((in_top & labels.hard_negative).astype(np.float64), labels.offsets)
    empty = np.asarray(shown) == 0
    return StrictParts(
        targets=~(found == 0),
        hard_negatives=wrong == 0,
        order=_order_holds(ranks, labels),
        content=np.broadcast_to(np.asarray(content_ok, dtype=bool), shape),
        forbidden=np.broadcast_to(np.asarray(forbidden_ok, dtype=bool), shape),
        nothing=np.broadcast_to(empty | ~np.asarray(nothing_to_find, dtype=bool), shape),
    )


def _order_holds(ranks: Floats, labels: CaseLabels) -> Bools:
    """The earlier of each pair is shown, and stands strictly above the later if that is shown."""
    earlier, later = order_pairs(labels.order, labels.offsets)
    first = ranks[..., earlier]
    broken = np.isnan(first) | (first >= ranks[..., later])
    case = case_of_label(labels.offsets, len(labels.order))
    pairs_before = np.searchsorted(case[earlier], np.arange(labels.n_cases + 1))
    holds: Bools = per_case_sum(broken.astype(np.float64), pairs_before.astype(np.intp)) == 0
    return holds


def terms_found(terms: Sequence[str], texts: Sequence[str]) -> list[bool]:
    """Whether each term occurs in any of the texts, letter case ignored.

    Examples
    --------
    >>> terms_found(["Tea", "coffee"], ["She drinks tea."])
    [True, False]
    """
    folded = [text.casefold() for text in texts]
    return [any(term.casefold() in text for text in folded) for term in terms]


@dataclass(frozen=True)
class CaseVerdict:
    """Whether one case passes, and every reason why not."""

    passed: bool | None
    """None if the case expects nothing that could be judged."""
    reasons: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The reasons in one line; empty for a pass."""
        return "; ".join(self.reasons)


def strict_verdict(
    *,
    kind: str | None,
    expectations: Mapping[str, Any],
    top_k: int,
    ranks: Mapping[str, float],
    gains: ArrayLike,
    hard_negative: ArrayLike,
    order: ArrayLike,
    shown_texts: Sequence[str],
) -> CaseVerdict:
    """Verdict of one case with the reasons spelt out.

    Parameters
    ----------
    kind
        Kind of the case; ``multi_evidence`` and ``nothing_to_find`` have rules of their own.
    expectations
        As stored with the case: expectTopK, expectContentAny, forbid, alternatives.
    top_k
        places, >= 1. Length of the list asked for.
    ranks
        Place of each labelled memory, NaN = not shown; L entries.
    gains
        shape (L,), in the order of ``ranks``; 0 is no target.
    hard_negative
        shape (L,), bool.
    order
        shape (L,), position in the expected order, -1 outside.
    shown_texts
        The texts shown, best first.

    Returns
    -------
    CaseVerdict
        Passed or not, with reasons that name memories and places.
    """
    ids = list(ranks)
    places = np.array(list(ranks.values()), dtype=np.float64)
    labels = CaseLabels.build(
        np.zeros(len(ids), dtype=np.int64),
        n_cases=1,
        gains=gains,
        hard_negative=hard_negative,
        order=order,
        groups=_groups(ids, expectations.get("alternatives", [])),
    )
    top = int(expectations.get("expectTopK", DEFAULT_EXPECT_TOP_K))
    depth = top_k if kind == "multi_evidence" else top
    wanted = list(expectations.get("expectContentAny", []))
    banned = list(expectations.get("forbid", []))
    said = [term for term, hit in zip(banned, terms_found(banned, shown_texts), strict=True) if hit]
    parts = strict_parts(
        places,
        labels,
        target_depth=[depth],
        top_depth=[top],
        shown=[len(shown_texts)],
        nothing_to_find=[kind == "nothing_to_find"],
        content_ok=[not wanted or any(terms_found(wanted, shown_texts))],
        forbidden_ok=[not said],
    )
    if not (ids or wanted or banned or kind == "nothing_to_find"):
        return CaseVerdict(None, ("expects nothing that exists at its time",))
    reasons = [
        *_target_reasons(parts, ids, places, labels, depth),
        *_hard_negative_reasons(ids, places, labels, top),
        *([] if parts.order[0] else [f"expected order broken: {_order_seen(ids, places, labels)}"]),
        # Not which: the case may expect the words of a memory that nobody was told.
        *([] if parts.content[0] else ["no expected term shown"]),
        *(f"forbidden term shown: {term}" for term in said),
        *([] if parts.nothing[0] else [f"{len(shown_texts)} shown, none expected"]),
    ]
    return CaseVerdict(bool(parts.passed[0]), tuple(reasons))


def _groups(ids: Sequence[str], alternatives: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    group = {memory: -1 - n for n, several in enumerate(alternatives) for memory in several}
    return np.array([group.get(memory, n) for n, memory in enumerate(ids)], dtype=np.int64)


def _target_reasons(
    parts: StrictParts, ids: Sequence[str], places: Floats, labels: CaseLabels, depth: int
) -> list[str]:
    if parts.targets[0]:
        return []
    groups = labels.groups if labels.groups is not None else np.arange(len(ids))
    deep = places <= depth
    answered = set(groups[deep & (labels.gains > 0)].tolist())
    return [
        f"target {ids[n]} {_at(places[n])}, expected within {depth}"
        for n in np.flatnonzero(labels.gains > 0).tolist()
        if groups[n] not in answered
    ]


def _hard_negative_reasons(
    ids: Sequence[str], places: Floats, labels: CaseLabels, top: int
) -> list[str]:
    wrong = np.flatnonzero(labels.hard_negative & (places <= top)).tolist()
    return [f"hard negative {ids[n]} {_at(places[n])}" for n in wrong]


def _order_seen(ids: Sequence[str], places: Floats, labels: CaseLabels) -> str:
    expected = sorted(
        np.flatnonzero(labels.order >= 0).tolist(), key=lambda n: int(labels.order[n])
    )
    return ", ".join(f"{ids[n]} {_at(places[n])}" for n in expected)


def _at(place: float) -> str:
    return "not shown" if np.isnan(place) else f"at {int(place)}"
