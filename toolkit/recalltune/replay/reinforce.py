"""reinforce: what is shown counts as used, and what is used fades more slowly; many configs.

In: a candidate table, configs, a rule of what counts as a use. Out: the lists each config shows
when its own lists change what it shows later. Nothing is written to a lab.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.evaluate.run import Split, in_split
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import check_setup
from recalltune.rank.compiled import compiled_kernels
from recalltune.replay.reinforcing import reference, views
from recalltune.replay.reinforcing.compiled import Loop, fits
from recalltune.replay.reinforcing.fade import Fade, Fades
from recalltune.replay.reinforcing.lanes import walk_lanes
from recalltune.replay.reinforcing.rule import AccessRule, refuse_unbounded
from recalltune.replay.reinforcing.split import Prefixes, stage_key, still_list
from recalltune.replay.reinforcing.uses import Recorded

__all__ = ["AccessRule", "Path", "Reinforced", "reinforce"]

Path = Literal["auto", "compiled", "lanes", "reference"]
LANE_TABLES = 8
"""Sets of tables of fades that walk in lock step, at most; each takes 50 bytes a candidate."""
_NO_LIST = np.zeros((0, 0), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Walk:
    """One config's walk."""

    shown: NDArray[np.int32]
    still: NDArray[np.int32]
    path: str
    counters: frozenset[int]


@dataclass(frozen=True, eq=False)
class Reinforced:
    """What each config showed."""

    candidates: Candidates
    configs: tuple[RankingConfig, ...]
    labels: tuple[str, ...]
    """One a config, all different: how frames name it."""
    rule: AccessRule
    lists: tuple[NDArray[np.int32], ...]
    """One a config: shape (Q, K), candidate columns best first, -1 after the last."""
    still: tuple[NDArray[np.int32], ...]
    """The same where no list counts as a use: recorded uses before the start alone."""
    walked: tuple[str, ...]
    """By config, which path walked it: compiled, lanes, reference; or recorded."""
    counters: tuple[frozenset[int], ...]
    """By config, which counters its stages read: 0 the tracker's, 1 ``evolution``."""

    def __repr__(self) -> str:
        return (
            f"Reinforced of {', '.join(self.labels)}: hits(), ranks(), uses(), exposure(), drift()"
        )

    def hits(self) -> pl.DataFrame:
        """Return config, query_id, rank, memory_id: every list, best first."""
        return views.hits(self.candidates, self.labels, self.lists)

    def ranks(self) -> pl.DataFrame:
        """Return config, query_id, memory_id, rank, still_rank, first_need: every target.

        A rank is null where the target is not shown. ``first_need`` marks the first query, in
        time, that needs the memory.
        """
        return views.ranks(self.candidates, self.labels, self.lists, self.still)

    def uses(self) -> pl.DataFrame:
        """Return config, memory_id, used_at (microseconds): the uses the lists made, in time order.

        As an access log of the walk would hold them: by the tracker's counter, or by the second
        one where a config reads no other. None where recorded uses were read.
        """
        return views.uses(self.candidates, self.labels, self.lists, self.rule, self.counters)

    def counts(self) -> pl.DataFrame:
        """Return config, memory_id, recorded, simulated: uses at the end, of memories with any."""
        return views.counts(self.candidates, self.labels, self.lists, self.rule, self.counters)

    def exposure(self, *, points: int = 40) -> pl.DataFrame:
        """Return config, step, asked_at, shown, distinct, gini, top_1_share, top_10_share.

        Parameters
        ----------
        points
            >= 1. How many steps are looked at; the last is always among them.
        """
        return views.exposure(self.candidates, self.labels, self.lists, self.rule, points=points)

    def drift(self, *, windows: int = 10) -> pl.DataFrame:
        """Return config, window, queries, overlap, first_needed, first_recall, still_first_recall.

        Parameters
        ----------
        windows
            >= 1. Equal parts of the queries, in time order.
        """
        return views.drift(self.candidates, self.labels, self.lists, self.still, windows=windows)


def reinforce(
    candidates: Candidates,
    configs: Sequence[RankingConfig] | RankingConfig,
    rule: AccessRule | None = None,
    *,
    labels: Sequence[str] | None = None,
    split: Split = "tune",
    path: Path = "auto",
) -> Reinforced:
    """Walk the queries in time order; each list changes the uses that later queries see.

    Parameters
    ----------
    candidates
        The table of the queries; each has a time.
    configs
        One or many; their admit and arms are those of the table.
    rule
        What counts as a use; the default is RecallNest's.
    labels
        One text a config, all different; by default the names, or fingerprints where names repeat.
    split
        Which queries are walked: those that are not held out, held_out, or all, as `evaluate` has
        it. The others neither see a use nor make one.
    path
        ``reference``: every query through the stages of any other run. ``lanes``: NumPy, many
        configs in lock step. ``compiled``: numba. The last two take configs in which use moves
        one fade (`decay`, `half_floor_decay`) and nothing else; all three show the same lists.
        ``auto``: the fastest that can walk a config.

    Raises
    ------
    ContractError
        If the table was made with other admit or arms, holds no history of use, or has a query
        without a time.
    ParameterError
        If there is no config, labels repeat, a config lets use raise scores without limit, or the
        path named cannot walk a config.
    """
    rule = rule or AccessRule()
    many = (configs,) if isinstance(configs, RankingConfig) else tuple(configs)
    named = _labels(many, labels)
    candidates = in_split(candidates, split)
    if path not in get_args(Path):
        message = f"path must be one of {', '.join(get_args(Path))}, got {path!r}"
        raise ParameterError(message)
    for config in many:
        check_setup(candidates, config)
        refuse_unbounded(config)
    if rule.accesses == "recorded":
        told = Prefixes(candidates)
        shown = tuple(_trimmed(still_list(told.parts(config))) for config in many)
        unread: tuple[frozenset[int], ...] = (frozenset(),) * len(many)
        paths = ("recorded",) * len(many)
        return Reinforced(candidates, many, named, rule, shown, shown, paths, unread)
    walks = _Walks(Recorded.of(candidates, rule), rule, path)
    for number in sorted(range(len(many)), key=lambda one: _chain(many[one])):
        walks.add(number, many[number])
    walks.finish()
    done = [walks.walks[number] for number in range(len(many))]
    return Reinforced(
        candidates=candidates,
        configs=many,
        labels=named,
        rule=rule,
        lists=tuple(_trimmed(one.shown) for one in done),
        still=tuple(_trimmed(one.still) for one in done),
        walked=tuple(one.path for one in done),
        counters=tuple(one.counters for one in done),
    )


def _labels(configs: Sequence[RankingConfig], labels: Sequence[str] | None) -> tuple[str, ...]:
    if not configs:
        raise ParameterError("configs must hold at least one config, got none")
    names = [config.name for config in configs]
    if labels is None:
        labels = names if len(set(names)) == len(names) else [c.fingerprint for c in configs]
    if len(labels) != len(configs) or len(set(labels)) != len(labels):
        message = f"labels must be {len(configs)} different texts, got {list(labels)!r:.200}"
        raise ParameterError(message)
    return tuple(labels)


class _Walks:
    """All configs over one table; those that share stages share what these made."""

    def __init__(self, recorded: Recorded, rule: AccessRule, path: Path) -> None:
        self._recorded, self._rule, self._path = recorded, rule, path
        more = frozenset({"tier"} if rule.tier_moves else ())
        self._prefixes = Prefixes(recorded.candidates, more)
        self._fades = Fades(self._prefixes)
        self._loop: Loop | None = None
        self._waiting: dict[int, Fade] = {}
        self.walks: dict[int, Walk] = {}

    def add(self, number: int, config: RankingConfig) -> None:
        """Walk one config, or let it wait for others that can walk in lock step with it."""
        parts = self._prefixes.parts(config)
        counters = self._prefixes.counters(parts, self._rule)
        fade = None if self._path == "reference" else self._fades.of(parts)
        chosen = self._chosen(fade, config)
        if fade is None or chosen == "reference":
            shown = reference.walk(self._recorded, parts, self._rule, counters)
            self.walks[number] = Walk(shown, still_list(parts), chosen, counters)
            return
        self.walks[number] = Walk(_NO_LIST, fade.tables.still(fade.top_k), chosen, counters)
        if chosen == "lanes":
            self._waiting[number] = fade
            if len({id(one.tables) for one in self._waiting.values()}) == LANE_TABLES:
                self.finish()
            return
        self._loop = self._loop or Loop(self._recorded, self._rule)
        self._told(number, self._loop.walk(fade))

    def finish(self) -> None:
        """Let those that wait walk: in one step all that read one counter in one way."""
        alike: dict[tuple[int, str], list[int]] = {}
        for number, fade in self._waiting.items():
            way = (self._rule.counter_of(fade.stage), fade.stretch.fade)
            alike.setdefault(way, []).append(number)
        for numbers in alike.values():
            fades = [self._waiting[number] for number in numbers]
            found = walk_lanes(self._recorded, fades, self._rule)
            for number, shown in zip(numbers, found, strict=True):
                self._told(number, shown)
        self._waiting.clear()

    def _told(self, number: int, shown: NDArray[np.int32]) -> None:
        self.walks[number] = replace(self.walks[number], shown=shown)

    def _chosen(self, fade: Fade | None, config: RankingConfig) -> Path:
        fast = fade is not None and fits(fade)
        if self._path == "reference" or (self._path == "auto" and fade is None):
            return "reference"
        if fade is None or (self._path == "compiled" and not fast):
            message = (
                f"path {self._path!r} cannot walk {config.name!r}: in it use moves more than one "
                "decay or half_floor_decay before plain places; use 'auto'"
            )
            raise ParameterError(message)
        if self._path == "compiled" and not compiled_kernels():
            raise ParameterError("path 'compiled' needs numba: pip install recalltune[fast]")
        if self._path == "lanes" or not fast or not compiled_kernels():
            return "lanes"
        return "compiled"


def _chain(config: RankingConfig) -> tuple[str, ...]:
    """What to sort configs by, so that those which share stages come together."""
    return (str(config.profiles), *(stage_key(stage) for stage in config.stages))


def _trimmed(lists: NDArray[np.int32]) -> NDArray[np.int32]:
    """Without the places that no list fills."""
    longest = int((lists >= 0).sum(axis=1).max(initial=0))
    return np.ascontiguousarray(lists[:, :longest])
