"""Ids in a case file: unique beginnings of memory ids, written out or refused.

Copying eight characters of an id is how people write cases; two memories that begin alike, or
none, must stop the load and not pick one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from recalltune.errors import ParameterError
from recalltune.evaluate.case_file import EvalCase

__all__ = ["flat_targets", "resolve_id", "with_full_ids"]

SHOWN = 3


def resolve_id(
    prefix: str, memory_ids: Sequence[str], *, unnamed: Collection[str] = frozenset()
) -> str:
    """Full id that equals, or alone begins with, the given text.

    Parameters
    ----------
    prefix
        An id or the beginning of one.
    memory_ids
        All ids, rising.
    unnamed
        Ids that resolve but that no message may name: memories nobody was told of.

    Returns
    -------
    str
        The id.

    Raises
    ------
    ParameterError
        If no id or several begin like this; the message names candidates.

    Examples
    --------
    >>> resolve_id("ab1", ["ab12", "ab34"])
    'ab12'
    """
    start = bisect_left(memory_ids, prefix)
    matches = [m for m in memory_ids[start : start + SHOWN + 1] if m.startswith(prefix)]
    if matches and (matches[0] == prefix or len(matches) == 1):
        return matches[0]
    if matches:
        told = [match for match in matches if match not in unnamed]
        more = ", ..." if len(matches) > min(len(told), SHOWN) else ""
        msg = f"id {prefix!r} is ambiguous: {', '.join(told[:SHOWN])}{more}"
    else:
        around = [m for m in memory_ids[max(0, start - 1) : start + 2] if m not in unnamed]
        msg = f"id {prefix!r} names no memory; nearest: {', '.join(around) or 'none, no memories'}"
    raise ParameterError(msg)


def with_full_ids(
    case: EvalCase, memory_ids: Sequence[str], *, unnamed: Collection[str] = frozenset()
) -> EvalCase:
    """The case with every id written out.

    Raises
    ------
    ParameterError
        If an id cannot be resolved, a list names one memory twice, a memory is both target and
        hard negative, or a grade is given to a memory that is no target.
    """
    written: dict[str, str] = {}

    def full(prefix: str) -> str:
        memory_id = resolve_id(prefix, memory_ids, unnamed=unnamed)
        written.setdefault(memory_id, prefix)
        return memory_id

    def named(memory_id: str) -> str:
        return written[memory_id] if memory_id in unnamed else memory_id

    targets = tuple(
        full(target) if isinstance(target, str) else tuple(map(full, target))
        for target in case.targets
    )
    resolved = case.with_(
        targets=targets,
        hard_negatives=tuple(map(full, case.hard_negatives)),
        expect_order=tuple(map(full, case.expect_order)),
        grades={full(prefix): grade for prefix, grade in case.grades.items()},
    )
    flat = list(flat_targets(resolved))
    for name, ids in (
        ("targets", flat),
        ("hardNegatives", resolved.hard_negatives),
        ("expectOrder", resolved.expect_order),
    ):
        repeated = [memory for memory, times in Counter(ids).items() if times > 1]
        if repeated:
            msg = f"{name} must name each memory once, got {named(repeated[0])!r} twice"
            raise ParameterError(msg)
    if both := sorted(set(flat) & set(resolved.hard_negatives)):
        msg = f"{named(both[0])!r} must not be both a target and a hard negative"
        raise ParameterError(msg)
    if stray := sorted(set(resolved.grades) - set(flat)):
        msg = f"grades must name targets only, got {named(stray[0])!r}"
        raise ParameterError(msg)
    return resolved


def flat_targets(case: EvalCase) -> Iterator[str]:
    """Every target, alternatives included."""
    for target in case.targets:
        yield from (target,) if isinstance(target, str) else target
