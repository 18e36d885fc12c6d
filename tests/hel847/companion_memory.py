"""What a companion does with its memory, on our tables: search, remember in a block, read again.

The product does the searching, ranking, packing and gating; this is the loop around it, in the
order the HEL-847 probe has it: find, keep what is still accessible, take four, pack 600 characters,
and note that these were recalled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from recalltune.candidates.build import ask
from recalltune.candidates.table import Candidates
from recalltune.ingest.companion import GIST
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.run import start
from recalltune.pipeline.stage import State
from recalltune.store import (
    Access,
    Job,
    Lab,
    claim_job,
    expire_leases,
    finish_job,
    insert_rows,
    open,
    read_accesses,
    read_exchange,
    read_spans,
)

LEAST_ACCESSIBLE, STEP = 0.05, 0.25
LEASE = timedelta(seconds=40)


@dataclass(frozen=True)
class Found:
    """What one search gave."""

    mode: str
    ids: tuple[int, ...]
    table: Candidates
    order: np.ndarray


@dataclass(frozen=True)
class CompanionMemory:
    """One lab seen by a companion at one instant."""

    lab: Lab
    now: datetime
    config: RankingConfig = field(default_factory=lambda: preset("hel847-baseline"))
    faded: Mapping[int, float] = field(default_factory=dict)
    """Accessibility of memories that had begun to fade; 1 for all others."""

    @property
    def at(self) -> int:
        return round(self.now.timestamp() * 1_000_000)

    def later(self, **passed: float) -> CompanionMemory:
        return replace(self, now=self.now + timedelta(**passed))

    def reopened(self) -> CompanionMemory:
        """Another handle on the same file: nothing but the file is carried over."""
        return replace(self, lab=open(self.lab.path))

    # Searching.

    def search(self, query: str) -> Found:
        """The first four that may be shown and can still be reached."""
        stages = [stage for stage in self.config.stages if stage.kind != "block"]
        return self._found(query, stages)

    def candidates(self, query: str) -> list[int]:
        """Everything the arm found, in its order."""
        table = self._table(query)
        places = table.features["substring_rank"][0]
        return self._ids(table, np.argsort(places)[: np.count_nonzero(places > 0)])

    def _found(self, query: str, stages: Sequence[Any]) -> Found:
        table = self._table(query)
        reachable = np.array([*map(self.accessibility(), self._ids(table))])
        state = start(table)
        state = state.then(alive=state.alive & (reachable >= LEAST_ACCESSIBLE)[None, :])
        order = self._run(state, table, stages).listed()
        modes = table.features["substring_mode"][0]
        mode = table.codes["substring_mode"][int(modes[0]) if modes.size else 0]
        return Found(mode, tuple(self._ids(table, order[0])), table, order)

    def _table(self, query: str) -> Candidates:
        return ask(self.lab, query, self.config, at=self.at)

    @staticmethod
    def _run(state: State, table: Candidates, stages: Sequence[Any]) -> State:
        for stage in stages:
            state = stage.apply(state, table)
        return state

    @staticmethod
    def _ids(table: Candidates, columns: Sequence[int] | np.ndarray | None = None) -> list[int]:
        shown = range(table.span.shape[1]) if columns is None else columns
        return [int(table.memory_id(0, int(column))[1:]) for column in shown if column >= 0]

    # Remembering.

    def remember(self, query: str, *, header: str | None = None) -> tuple[str, list[int]]:
        """The block for the prompt and what is in it; these are noted as recalled now."""
        block = self.config.stages[-1]
        if header is not None:
            block = block.with_(header=header)
        found = self._found(query, [*self.config.stages[:-1], block])
        with self.lab.writing() as con:
            insert_rows(con, [
                Access(memory_id=f"m{one:03d}", used_at=self.now, kind="recalled")
                for one in found.ids
            ])  # fmt: skip
        return block.text(found.table, found.order, 0), list(found.ids)

    def recalled(self) -> Counter[int]:
        """How often each memory was recalled before now."""
        with self.lab.reading() as con:
            accesses = read_accesses(con)
        before = (pl.col("kind") == "recalled") & (pl.col("used_at") < self.at)
        return Counter(int(one[1:]) for one in accesses.filter(before)["memory_id"])

    def accessibility(self) -> Callable[[int], float]:
        """From memory to how well it can be reached, in [0, 1]."""
        times = self.recalled()
        return lambda one: min(1.0, self.faded.get(one, 1.0) + STEP * times[one])

    # Reading again.

    def reread(self, turn_id: str) -> pl.DataFrame:
        with self.lab.reading() as con:
            return read_exchange(con, turn_id, at=self.at)

    def spans(self) -> pl.DataFrame:
        with self.lab.reading() as con:
            return read_spans(con)

    def passes_gate(self, number: int) -> bool:
        mine = self.spans().filter(pl.col("memory_id") == f"m{number:03d}")
        opens = mine["enters_at"][0]
        return opens is not None and opens < self.at

    # Work in the background.

    def claim(self, owner: str) -> Job | None:
        with self.lab.writing() as con:
            return claim_job(con, GIST, owner=owner, now=self.now, lease=LEASE)

    def recover(self) -> int:
        with self.lab.writing() as con:
            return expire_leases(con, now=self.now)

    def complete(self, job: Job, gist: str) -> None:
        with self.lab.writing() as con:
            con.execute("update memory set gist = ? where memory_id = ?", [gist, job.ref])
            finish_job(con, job, now=self.now)
