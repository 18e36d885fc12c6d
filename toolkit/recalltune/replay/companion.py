"""What a companion does with its memory, at one instant: search, remember in a block, read again.

In: a lab that holds a companion's memory. Out: lists, blocks, jobs. It is the loop of the HEL-847
plan around the ranking: find, leave out what can no longer be reached, take the first few, pack a
block, and note that these were recalled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.build import ask
from recalltune.candidates.table import Candidates
from recalltune.ingest.companion import GIST
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.pipeline.run import start
from recalltune.pipeline.stage import Stage
from recalltune.pipeline.stages.hel847 import Block
from recalltune.rank.accessibility import LEAST_ACCESSIBLE, accessibility
from recalltune.replay.reread import Rereading, reread
from recalltune.replay.reread_gain import block_of
from recalltune.store import (
    Access,
    Job,
    Lab,
    claim_job,
    expire_leases,
    finish_job,
    insert_rows,
    open,
    put_gist,
    read_accesses,
    read_spans,
)

__all__ = ["LEASE", "CompanionMemory", "Found"]

LEASE = timedelta(seconds=40)
"""How long a worker keeps a job."""


@dataclass(frozen=True, eq=False)
class Found:
    """What one search gave."""

    mode: str
    """How the substring arm found it: none, phrase, trigram or like."""
    ids: tuple[str, ...]
    """Memories, best first."""
    table: Candidates = field(repr=False)
    order: NDArray[np.intp] = field(repr=False)
    """shape (1, K)."""


@dataclass(frozen=True, eq=False)
class CompanionMemory:
    """One lab seen by a companion at one instant."""

    lab: Lab
    now: datetime
    config: RankingConfig = field(default_factory=lambda: preset("hel847-baseline"))
    faded: Mapping[str, float] = field(default_factory=dict)
    """memory_id -> accessibility in [0, 1] it had come down to before any use; 1 for others."""

    @property
    def at(self) -> int:
        """Microseconds since 1970 UTC."""
        return round(self.now.timestamp() * 1_000_000)

    def later(self, seconds: float) -> CompanionMemory:
        """Return the same memory some seconds later."""
        return replace(self, now=self.now + timedelta(seconds=seconds))

    def reopened(self) -> CompanionMemory:
        """Return another handle on the same file: nothing but the file is carried over."""
        return replace(self, lab=open(self.lab.path))

    def search(self, query: str) -> Found:
        """Return the first few that may be shown and can still be reached, not yet packed."""
        return self._found(query, [stage for stage in self.config.stages if stage.kind != "block"])

    def candidates(self, query: str) -> list[str]:
        """Return everything the substring arm found, in its order."""
        table = ask(self.lab, query, self.config, at=self.at)
        places = table.features["substring_rank"][0]
        return _ids(table, np.argsort(places)[: np.count_nonzero(places > 0)])

    def remember(self, query: str, *, header: str | None = None) -> tuple[str, list[str]]:
        """Return the block for the prompt and what is in it; these are noted as recalled now."""
        found, block = self._packed(query, header)
        with self.lab.writing() as con:
            insert_rows(
                con,
                [Access(memory_id=one, used_at=self.now, kind="recalled") for one in found.ids],
            )
        return block.framed(block.lines(found.table, found.order, 0)), list(found.ids)

    def reread(self, query: str, *, budget_chars: int | None = None) -> Rereading:
        """Return the block of a query with originals where gists stood; nothing is noted."""
        found, block = self._packed(query, None)
        return reread(self.lab, found.table, found.order, 0, block, budget_chars=budget_chars)

    def recalled(self) -> Counter[str]:
        """Return how often each memory was recalled before now."""
        with self.lab.reading() as con:
            accesses = read_accesses(con)
        before = (pl.col("kind") == "recalled") & (pl.col("used_at") < self.at)
        return Counter(accesses.filter(before)["memory_id"].to_list())

    def accessibility(self, memory_ids: Sequence[str]) -> NDArray[np.float64]:
        """Return how well memories can be reached now, shape (n,), in [0, 1]."""
        times = self.recalled()
        uses = np.array([times[one] for one in memory_ids], dtype=np.int64)
        stood = np.array([self.faded.get(one, 1.0) for one in memory_ids])
        return accessibility(uses, stood)

    def passes_gate(self, memory_id: str) -> bool:
        """Return whether a memory may be shown now."""
        with self.lab.reading() as con:
            mine = read_spans(con).filter(pl.col("memory_id") == memory_id)
        return bool((mine["enters_at"] < self.at).any())

    def claim(self, owner: str) -> Job | None:
        """Take a gist that is still to be made; None where there is none."""
        with self.lab.writing() as con:
            return claim_job(con, GIST, owner=owner, now=self.now, lease=LEASE)

    def recover(self) -> int:
        """Take the jobs back whose lease has ended; return how many."""
        with self.lab.writing() as con:
            return expire_leases(con, now=self.now)

    def complete(self, job: Job, gist: str) -> None:
        """Write the gist of a job that is still held.

        Raises
        ------
        ContractError
            If it is not held any more; nothing is written.
        """
        with self.lab.writing() as con:
            put_gist(con, job.ref, gist, at=self.now)
            finish_job(con, job, now=self.now)

    def _packed(self, query: str, header: str | None) -> tuple[Found, Block]:
        block = block_of(self.config)
        if header is not None:
            block = block.with_(header=header)
        return self._found(query, [*self.config.stages[:-1], block]), block

    def _found(self, query: str, stages: Sequence[Stage]) -> Found:
        table = ask(self.lab, query, self.config, at=self.at)
        known = _ids(table, range(table.span.shape[1]))
        state = start(table)
        reachable = self.accessibility(known) >= LEAST_ACCESSIBLE
        state = state.then(alive=state.alive & reachable[None, :])
        for stage in stages:
            state = stage.apply(state, table)
        order = state.listed()
        modes = table.features["substring_mode"][0]
        mode = table.codes["substring_mode"][int(modes[0]) if modes.size else 0]
        return Found(mode, tuple(_ids(table, order[0].tolist())), table, order)


def _ids(table: Candidates, columns: Sequence[int] | NDArray[np.intp]) -> list[str]:
    return [table.memory_id(0, int(column)) for column in columns if column >= 0]
