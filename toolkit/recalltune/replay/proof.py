"""The proof that no score knows the future: the same questions over labs with other futures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.build import candidates_for
from recalltune.candidates.table import Candidates
from recalltune.encode import Encoder
from recalltune.errors import ParameterError
from recalltune.evaluate.shown import Shown, rank
from recalltune.pipeline.config import RankingConfig
from recalltune.replay.future import WAYS, another_future, without_time
from recalltune.store import Lab

__all__ = ["Proof", "prove_no_leak"]


@dataclass(frozen=True, eq=False)
class Proof:
    """What became of the scores up to an instant when all that lies behind it was changed."""

    at: int
    """Microseconds since 1970 UTC."""
    rows: pl.DataFrame
    """One row a way: way, births, ends, uses, turns (how many were changed), steps (questions
    asked at the instant or before), memories (candidates of them), numbers (compared to the bit),
    differing (numbers), lists_differing (steps whose list is another)."""
    control: int
    """Numbers that differ where everything is known from the beginning: what a leak looks like."""

    @property
    def holds(self) -> bool:
        """Whether something was changed and compared, a leak would have shown, and none did."""
        changed = self.rows.select(pl.sum_horizontal("births", "ends", "uses", "turns") > 0)
        return bool(
            self.control > 0
            and changed.to_series().all()
            and (self.rows["numbers"] > 0).all()
            and (self.rows["differing"] == 0).all()
            and (self.rows["lists_differing"] == 0).all()
        )


def prove_no_leak(
    lab: Lab,
    candidates: Candidates,
    config: RankingConfig,
    *,
    at: int,
    ways: Sequence[str] = WAYS,
    encoder: Encoder | str | None = None,
    seed: int = 0,
) -> Proof:
    """Rank every question up to an instant again, over labs whose later events are others.

    Compared are, of each question: which memories are candidates, every feature of each (scores
    and ranks of the arms, ages, uses, status), its final score, to the bit, and the list. As a
    control, the same is done over a lab that knows everything from the beginning: there it must
    differ.

    Parameters
    ----------
    lab
        The lab that ``candidates`` were made from.
    candidates
        Made for ``config``.
    config
        The ranking.
    at
        Microseconds since 1970 UTC. Questions asked at it or before take part.
    ways
        Of `WAYS`.
    encoder
        As in `candidates`; the same as for them.
    seed
        Of the shuffle.

    Raises
    ------
    ParameterError
        If no question is asked by then, or a way is unknown.
    """
    if isinstance(at, bool) or not isinstance(at, int | np.integer):
        message = f"at must be whole microseconds since 1970 UTC, as `asked_at` is, got {at!r:.60}"
        raise ParameterError(message)
    early = np.flatnonzero(candidates.queries["asked_at"].to_numpy() <= at).tolist()
    if not early:
        message = f"at must not lie before the first question, got {at}"
        raise ParameterError(message)
    before = candidates.take(early)
    listed = rank(before, config)
    rows = []
    for way in ways:
        with another_future(lab, at, way, seed=seed) as other:
            after = candidates_for(other.lab, before.queries, config, encoder=encoder)
        compared = _compared(before, listed, after, rank(after, config))
        counts = {name: getattr(other, name) for name in ("births", "ends", "uses", "turns")}
        rows.append({"way": way, **counts, "steps": len(early), **compared})
    with without_time(lab) as leaking:
        early_known = candidates_for(leaking, before.queries, config, encoder=encoder)
    control = _compared(before, listed, early_known, rank(early_known, config))
    return Proof(at, pl.DataFrame(rows), control["differing"])


def _compared(
    before: Candidates, listed: Shown, after: Candidates, listed_after: Shown
) -> dict[str, int]:
    found = {"memories": 0, "numbers": 0, "differing": 0, "lists_differing": 0}
    names = sorted(before.features.keys() | after.features.keys())
    for row in range(before.queries.height):
        mine, theirs = _ids(before, row), _ids(after, row)
        common, here, there = np.intersect1d(mine, theirs, return_indices=True)
        # The score of each memory, then its features; one that only one side has differs in all.
        differing = (mine.size + theirs.size - 2 * common.size) * (1 + len(names))
        differing += _different(listed.score[row][here], listed_after.score[row][there])
        for name in names:
            differing += _different(
                _values(before, name, row)[here], _values(after, name, row)[there]
            )
        found["memories"] += mine.size
        found["numbers"] += mine.size * (1 + len(names))
        found["differing"] += differing
        found["lists_differing"] += _list(before, listed, row) != _list(after, listed_after, row)
    return found


def _ids(table: Candidates, row: int) -> NDArray[np.str_]:
    rows = table.span[row][table.valid[row]]
    return np.array(table.spans["memory_id"].gather(rows).to_list(), dtype=np.str_)


def _values(table: Candidates, name: str, row: int) -> NDArray[np.generic]:
    """One feature of the candidates of a question; of a coded one, the texts behind the codes."""
    values: NDArray[np.generic] = table.feature(name)[row][table.valid[row]]
    if name in table.codes:
        values = np.array([*table.codes[name], ""], dtype=np.str_)[values.astype(np.int64)]
    return values


def _different(one: NDArray[np.generic], other: NDArray[np.generic]) -> int:
    """Places at which two arrays differ in any bit: NaN equals itself, and -0 is not 0."""
    if one.dtype.kind == "f" and one.dtype == other.dtype:
        whole = np.dtype(f"i{one.dtype.itemsize}")
        one, other = np.ascontiguousarray(one).view(whole), np.ascontiguousarray(other).view(whole)
    return int((one != other).sum())


def _list(table: Candidates, listed: Shown, row: int) -> list[str]:
    shown = listed.order[row]
    return [table.memory_id(row, int(column)) for column in shown[shown >= 0]]
