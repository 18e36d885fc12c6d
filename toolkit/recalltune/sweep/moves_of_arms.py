"""Moves of admit and the arms: other values give other candidates, so tables are made for them.

In: a lab, a case set, a config and its probes. Out: per parameter of admit and the arms, which
queries get another list. How many rows an arm proposes is read off one wide table; everything
else asks the memory again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.build import candidates_for
from recalltune.candidates.narrow import narrowed, narrows, widest
from recalltune.candidates.table import Candidates
from recalltune.encode import Encoder
from recalltune.errors import RecalltuneError
from recalltune.evaluate.shown import Shown, rank
from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab
from recalltune.sweep.moves import SAME, Moved, of_stage
from recalltune.sweep.probes import Probe
from recalltune.sweep.sample import representative

__all__ = ["moved_arms", "thinned"]

_ASKED = 32
"""Queries that are asked again at every value."""


def moved_arms(
    lab: Lab,
    config: RankingConfig,
    table: Candidates,
    probed: Sequence[Probe],
    *,
    most: int | None = None,
    encoder: Encoder | str | None = None,
) -> dict[str, Moved]:
    """Return address -> what moving it changes, for every parameter of admit and the arms.

    Parameters
    ----------
    lab, encoder
        What ``table`` was made of.
    config
        The config in question.
    table
        Its candidates; some of its queries are asked again.
    probed
        Its probes.
    most
        How many queries at most; None decides by the work they are.
    """
    tried = [probe for probe in probed if not of_stage(probe)]
    read = {probe.address for probe in tried if narrows(config.arms, probe.address)}
    rows = max((v for p in tried for v in p.others if p.address in read and v), default=1)
    open_ = config.with_(arms=widest(config.arms, int(rows)))
    table = table.take(representative(table, config, 1, most=most or _ASKED))
    wide = candidates_for(lab, table.queries, open_, encoder=encoder)
    settings = sum(len(probe.others) for probe in tried)
    few = representative(table, config, settings, columns=wide.span.shape[1], most=most)
    table, wide = table.take(few), wide.take(few)
    numbers: dict[str, int] = {}
    base = _Listed(table, rank(table, config), numbers)
    found = {}
    for probe in tried:
        moved = Moved.nothing(probe, table)
        for place, value in enumerate(probe.others):
            try:
                setting = set_many(config, {probe.address: value})
                other = (
                    narrowed(wide, setting)
                    if probe.address in read
                    else candidates_for(lab, table.queries, setting, encoder=encoder)
                )
                base.compare(_Listed(other, rank(other, setting), numbers), place, moved)
            except RecalltuneError:
                moved.refused[place] = True
        found[probe.address] = moved
    return found


def thinned(probe: Probe, config: RankingConfig) -> Probe:
    """Return a probe of admit or an arm with fewer values, since each asks the memory again.

    How many rows an arm proposes goes up to ten times the present number.
    """
    if of_stage(probe) or not probe.ordered:
        return probe
    if not narrows(config.arms, probe.address):
        return probe.thinned()
    most = 10 * probe.value if isinstance(probe.value, int) else np.inf
    return replace(probe, others=tuple(v for v in probe.others if v is None or v <= most))


class _Listed:
    """A ranked table whose rows are told by memory, since another table has other columns."""

    def __init__(self, table: Candidates, shown: Shown, numbers: dict[str, int]) -> None:
        self.table, self.shown = table, shown
        memories = table.spans["memory_id"].to_list()
        number = np.array([numbers.setdefault(m, len(numbers)) for m in memories], dtype=np.int64)
        self.memory = np.where(table.valid, number[table.span], -1)
        """shape (Q, C); one number a memory, whatever table it is in."""

    def listed(self, query: int) -> list[int]:
        order = self.shown.order[query]
        return [int(memory) for memory in self.memory[query, order[order >= 0]]]

    def scores(self, query: int, memories: int) -> NDArray[np.float64]:
        """Shape (memories,), NaN where a memory is no candidate."""
        scores = np.full(memories, np.nan)
        valid = self.table.valid[query]
        scores[self.memory[query, valid]] = self.shown.score[query, valid]
        return scores

    def compare(self, other: _Listed, place: int, moved: Moved) -> None:
        """Enter into ``moved`` what ``other`` has otherwise."""
        known = int(max(self.memory.max(initial=0), other.memory.max(initial=0))) + 1
        for query in range(self.table.queries.height):
            moved.lists[place, query] |= self.listed(query) != other.listed(query)
            mine, theirs = self.scores(query, known), other.scores(query, known)
            same = np.isclose(mine, theirs, rtol=SAME, atol=0.0, equal_nan=True)
            moved.scores[query] |= not same.all()
            valid = self.table.valid[query]
            moved.reached[query, valid] |= ~same[self.memory[query, valid]]
