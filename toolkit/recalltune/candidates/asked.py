"""Queries as the arms see them: what each asks with, when, where, and what must not be proposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.world import Worlds
from recalltune.rank.timeline import Instants

__all__ = ["Asked"]


@dataclass(frozen=True, eq=False)
class Asked:
    """Q queries as the arms see them."""

    texts: Mapping[str, Sequence[str]]
    """Arm -> Q texts it searches with."""
    at: NDArray[np.int64]
    """shape (Q,), microseconds since 1970 UTC."""
    scopes: Sequence[NDArray[np.int64] | None]
    """Q arrays of scope numbers; None searches every scope."""
    instants: Instants
    """The same as the timeline counts it."""
    withheld: Sequence[NDArray[np.intp]]
    """Q arrays of rows that must not be proposed: later copies, and what the prompt holds."""
    vectors: NDArray[np.float32] | None
    """shape (Q, d), unit or zero rows."""

    @classmethod
    def of(
        cls,
        worlds: Worlds,
        queries: pl.DataFrame,
        texts: Mapping[str, Sequence[str]],
        in_prompt: Sequence[NDArray[np.intp]],
        vectors: NDArray[np.float32] | None,
    ) -> Self:
        """Look up what is known of each query before any arm runs.

        Parameters
        ----------
        worlds
            What the queries may see.
        queries
            Q rows with ``asked_at`` and ``scope``.
        texts
            Arm -> Q texts it searches with.
        in_prompt
            Q arrays, rows that the prompt of each query holds already.
        vectors
            shape (Q, d), unit or zero rows; None where no query has one.
        """
        at, names = queries["asked_at"].to_numpy().astype(np.int64), queries["scope"].to_list()
        sets = {name: worlds.searched(name) for name in set(names)}
        return cls(
            texts=texts,
            at=at,
            scopes=[sets[name] for name in names],
            instants=worlds.timeline.instants(at),
            withheld=[
                worlds.withheld(int(when), sets[name], rows)
                for when, name, rows in zip(at, names, in_prompt, strict=True)
            ],
            vectors=vectors,
        )

    def take(self, query: NDArray[np.intp]) -> Self:
        """The same for some of the queries."""
        rows = query.tolist()
        return type(self)(
            {arm: [texts[one] for one in rows] for arm, texts in self.texts.items()},
            self.at[query],
            [self.scopes[one] for one in rows],
            Instants(self.instants.entered[query], self.instants.left[query]),
            [self.withheld[one] for one in rows],
            None if self.vectors is None else self.vectors[query],
        )
