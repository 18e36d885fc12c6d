"""Where a config starts to read use: the stages before it are run once, for all queries."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import profile_groups, start, with_profile
from recalltune.pipeline.stage import Affine, Places, ScoreStage, Stage, State
from recalltune.replay.reinforcing.rule import AccessRule

__all__ = ["Part", "Prefixes", "advance", "row_of", "stage_key", "still_list"]

USE = frozenset({"access_count", "days_since_access"})
_HISTORY = "uses"
STATES = 32
"""States kept: a walk over sorted configs needs those of one chain."""


@dataclass(frozen=True, eq=False)
class Part:
    """The queries of one profile, ranked up to the first stage that reads use."""

    rows: NDArray[np.intp]
    """Rows of the whole table, rising."""
    candidates: Candidates
    """The same rows."""
    before: State
    """After the last stage that does not depend on use."""
    rest: tuple[Stage, ...]
    """The stages from there on; empty where nothing reads use."""
    key: tuple[str, ...]
    """Profile and stages that made ``before``; configs with equal keys share the state."""


class Prefixes:
    """The stages before use is read, run once however many configs share them.

    Parameters
    ----------
    candidates
        The table at the start of a walk; what stages read of it is watched.
    more
        Further features that change with use, such as ``tier``.
    """

    def __init__(self, candidates: Candidates, more: frozenset[str] = frozenset()) -> None:
        self.candidates = candidates
        self._changing = USE | more | {_HISTORY}
        self._parts: dict[tuple[int, ...], Candidates] = {}
        self._after: OrderedDict[tuple[str, ...], State | None] = OrderedDict()

    def parts(self, config: RankingConfig) -> list[Part]:
        """Return the parts of the table, one a profile of the config."""
        found = []
        for profile, rows in profile_groups(self.candidates, config).items():
            mine = self._take(rows)
            stages = with_profile(config, profile).stages
            state, done = start(mine), 0
            key: tuple[str, ...] = (profile if config.profiles else "",)
            for stage in stages:
                after = self._advanced(stage, state, mine, (*key, stage_key(stage)))
                if after is None:
                    break
                state, done, key = after, done + 1, (*key, stage_key(stage))
            found.append(Part(np.asarray(rows, dtype=np.intp), mine, state, stages[done:], key))
        return found

    def reads_use(self, stage: Stage, part: Part) -> bool:
        """Whether a stage after the split reads use too."""
        key = ("alone", *part.key[:1], stage_key(stage))
        return self._advanced(stage, part.before, part.candidates, key) is None

    def counters(self, parts: Sequence[Part], rule: AccessRule) -> frozenset[int]:
        """Return which counters the stages of a config read."""
        return frozenset(
            rule.counter_of(stage)
            for part in parts
            for at, stage in enumerate(part.rest)
            if at == 0 or self.reads_use(stage, part)
        )

    def _take(self, rows: list[int]) -> Candidates:
        if len(rows) == self.candidates.queries.height:
            return self.candidates
        key = tuple(rows)
        if key not in self._parts:
            self._parts[key] = self.candidates.take(rows)
        return self._parts[key]

    def _advanced(
        self, stage: Stage, state: State, candidates: Candidates, key: tuple[str, ...]
    ) -> State | None:
        """The state after a stage, or None where it reads use."""
        if key in self._after:
            self._after.move_to_end(key)
            return self._after[key]
        seen: set[str] = set()
        after = advance(stage, state, _watched(candidates, seen))
        self._after[key] = None if seen & self._changing else after
        if len(self._after) > STATES:
            self._after.popitem(last=False)
        return self._after[key]


def stage_key(stage: Stage, without: Iterable[str] = ()) -> str:
    """Return the text that equal stages share, whatever they are called."""
    fields: dict[str, Any] = {**stage.canonical(), "name": ""}
    kept = {name: value for name, value in fields.items() if name not in set(without)}
    return json.dumps(kept, sort_keys=True)


def advance(stage: Stage, state: State, candidates: Candidates) -> State:
    """Return the state after one stage, by the code of any other run."""
    operands: Affine | None = None
    if isinstance(stage, ScoreStage):
        operands = stage.affine(candidates)
    with np.errstate(all="raise", under="ignore"):
        return stage.apply(state, candidates, operands)


def still_list(parts: Sequence[Part]) -> NDArray[np.int32]:
    """Return shape (Q, K), the lists of all queries with use as the tables of the parts have it."""
    found = []
    for part in parts:
        state = part.before
        for stage in part.rest:
            state = advance(stage, state, part.candidates)
        found.append(state.listed())
    queries = sum(part.rows.size for part in parts)
    order = np.full((queries, max((one.shape[1] for one in found), default=0)), -1, dtype=np.int32)
    for part, listed in zip(parts, found, strict=True):
        order[part.rows, : listed.shape[1]] = listed
    return order


def row_of(state: State, row: int) -> State:
    """Return the state of one query alone, shape (1, C)."""
    places = state.places
    if places is not None:
        places = Places(places.top_k, places.layer[[row]], places.floors, places.caps)
    order = None if state.order is None else state.order[[row]]
    return State(state.score[[row]], state.alive[[row]], order, places)


class _Watched(Mapping[str, NDArray[Any]]):
    """Features that note which of them are read."""

    def __init__(self, features: Mapping[str, NDArray[Any]], seen: set[str]) -> None:
        self._features, self._seen = features, seen

    def __getitem__(self, name: str) -> NDArray[Any]:
        self._seen.add(name)
        return self._features[name]

    def __contains__(self, name: object) -> bool:
        return name in self._features

    def __iter__(self) -> Iterator[str]:
        return iter(self._features)

    def __len__(self) -> int:
        return len(self._features)


class _WatchedUses(Sequence[Any]):
    """Histories of use that note whether one is read."""

    def __init__(self, uses: Sequence[NDArray[np.int64]], seen: set[str]) -> None:
        self._uses, self._seen = uses, seen

    def __getitem__(self, row: Any) -> Any:
        self._seen.add(_HISTORY)
        return self._uses[row]

    def __len__(self) -> int:
        return len(self._uses)


def _watched(candidates: Candidates, seen: set[str]) -> Candidates:
    uses = candidates.uses
    watched = replace(
        candidates,
        features=_Watched(candidates.features, seen),
        uses=None if uses is None else _WatchedUses(uses, seen),
    )
    # The table checks the shape of every feature as it is made, which is no reading.
    seen.clear()
    return watched
