"""Which parameters bind: each one moved over its range, the returned lists compared.

In: a candidate table or a lab, and a config. Out: one row a parameter, with what its stage can
make of a score, the share of queries whose list changes, and a verdict. Nothing is known about
any parameter beforehand: what is found is what the config does on these data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.encode import Encoder
from recalltune.errors import ParameterError
from recalltune.pipeline.address import value_text
from recalltune.pipeline.attainable import row_bounds
from recalltune.pipeline.bounds import Bounds
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import profile_groups, with_profile
from recalltune.pipeline.scales import scale_notices
from recalltune.store import Lab, read_spans
from recalltune.sweep.moves import Moved, moved_stages, of_stage
from recalltune.sweep.moves_of_arms import moved_arms, thinned
from recalltune.sweep.probes import Probe, place_of, probes_of
from recalltune.sweep.sample import heavy, representative

__all__ = ["BINDING", "VERDICTS", "bind"]

VERDICTS = (
    "binds",
    "always saturates",
    "binds above",
    "never binds",
    "not seen to bind",
    "not tried",
)

BINDING = {
    "address": pl.String,
    "value": pl.String,
    "tried": pl.String,
    "refused": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
    "lists": pl.Float64,
    "lists_below": pl.Float64,
    "lists_above": pl.Float64,
    "scores": pl.Float64,
    "reach": pl.Float64,
    "queries": pl.Int64,
    "verdict": pl.String,
    "reason": pl.String,
}


def bind(
    source: Candidates | Lab,
    config: RankingConfig,
    *,
    cases: str | None = None,
    encoder: Encoder | str | None = None,
    most_queries: int | None = None,
) -> pl.DataFrame:
    """Move every parameter over its range and say whether any list changes.

    Parameters
    ----------
    source
        A candidate table; or a lab, which also tries the parameters of admit and arms, since
        those need candidates of their own.
    config
        The config in question. A case's profile is honoured: a parameter that the profile sets
        does not move for it.
    cases
        With a lab: the name of the case set. Only its questions are read, no label.
    encoder
        With a lab: an encoder or its name; None takes the best one installed.
    most_queries
        Evenly spaced queries stand for all where there are more. None takes all of them for the
        parameters of stages, unless stages that compare many candidates with one another would
        take minutes; at most 32 for those of admit and arms, which ask the memory again.

    Returns
    -------
    pl.DataFrame
        One row a parameter, in the order of the config:

        - ``address``, ``value``: the parameter and its present value; ``tried``: the range it was
          moved over; ``refused``: values beside these that the config or the data do not allow;
        - ``low``, ``high``: the lowest and highest score that a row of these data can have behind
          the parameter's stage, whatever it matches; of an arm, its raw score;
        - ``lists``: share of queries whose list changes at some value; ``lists_below`` and
          ``lists_above``: the same for lower and for higher values, null where there are none;
        - ``scores``: share of queries in which some score changes; ``reach``: share of candidates
          whose score or survival the stage itself changes; ``queries``: of how many all of these
          are shares;
        - ``verdict``: *binds*: some list changes at some value tried, on each side where there
          are values. *always saturates*, *binds above*: only lower (only higher) values change some
          list, those tried on the other side none. *never binds*: no list of any query changes at
          any value tried. *not seen to bind*: the same of a sample, ``queries`` of all. *not
          tried*: there is no other value, it needs the lab, or no question has a candidate;
        - ``reason``: why it does not bind, or not on one side, and at which values that was seen.

    Raises
    ------
    ParameterError
        If a lab comes without the name of a case set.
    ContractError
        If the candidates were made with other admit or arms models.
    """
    names: dict[str, list[str]] = {}
    if isinstance(source, Candidates):
        table = source
    elif cases is None:
        raise ParameterError("bind on a lab needs cases, the name of a case set, got None")
    else:
        table = candidates(source, cases, config, encoder=encoder)
        with source.reading() as con:
            names["admit.audience"] = read_spans(con)["audience"].drop_nulls().unique().to_list()
    probed = [thinned(probe, config) for probe in probes_of(table, config, names)]
    if heavy(table, config, _settings(probed)):
        probed = [probe.thinned() for probe in probed]
    few = representative(table, config, _settings(probed), most=most_queries)
    moved = moved_stages(table.take(few), config, probed)
    if isinstance(source, Lab):
        moved |= moved_arms(source, config, table, probed, most=most_queries, encoder=encoder)
    return _frame(table, config, probed, moved)


def _settings(probed: Sequence[Probe]) -> int:
    return sum(len(probe.others) for probe in probed)


def _frame(
    table: Candidates, config: RankingConfig, probed: list[Probe], moved: Mapping[str, Moved]
) -> pl.DataFrame:
    bounds = _bounds(table, config)
    why = {
        notice.address: notice.message
        for notice in scale_notices(config)
        if notice.kind in ("unreachable", "slack")
    }
    rows = []
    for probe in probed:
        change = moved.get(probe.address)
        seen = probe.without(change.refused) if change else probe
        low, high = bounds.get(_owner(probe), (None, None))
        row = {
            "address": probe.address,
            "value": value_text(probe.value),
            "tried": seen.told,
            "low": low,
            "high": high,
        }
        untried = _untried(probe, change)
        if change is None or untried:
            rows.append({**row, "verdict": "not tried", "reason": untried})
        else:
            sampled = change.scores.size < table.queries.height
            told = _told(probe, change, config, why.get(probe.address), sampled=sampled)
            rows.append({**row, **told})
    return pl.DataFrame(rows, schema=BINDING)


def _untried(probe: Probe, moved: Moved | None) -> str:
    """Why a parameter has no verdict; empty where it has one."""
    if moved is None:
        return "needs the lab"
    if not probe.others:
        return "there is no other value"
    if moved.refused.all():
        return "every other value is refused"
    return "" if moved.candidates else "no question has a candidate"


def _owner(probe: Probe) -> str:
    """The stage or the arm a parameter belongs to."""
    root, path, *_ = probe.address.split(".")
    return f"arms.{path}" if root == "arms" else root


def _bounds(table: Candidates, config: RankingConfig) -> dict[str, Bounds]:
    """Name of a stage or an arm -> the lowest and highest score of any row of the table."""
    found = {f"arms.{name}": getattr(config.arms, name).attainable() for name in config.arms.names}
    for profile, rows in profile_groups(table, config).items():
        part = table.take(rows)
        for bounds in row_bounds(part, with_profile(config, profile)):
            low, high = bounds.low[part.valid], bounds.high[part.valid]
            if low.size and not bounds.stage.gates:
                name = bounds.stage.name
                before = found.get(name, (np.inf, -np.inf))
                found[name] = min(before[0], float(low.min())), max(before[1], float(high.max()))
    return found


def _told(
    probe: Probe, moved: Moved, config: RankingConfig, why: str | None, *, sampled: bool
) -> dict[str, Any]:
    sides = np.array([probe.side(value) for value in probe.others])
    tried = ~moved.refused
    lists = float(moved.lists.any(axis=0).mean())
    below, above = _share(moved, tried & (sides < 0)), _share(moved, tried & (sides > 0))
    verdict = _verdict(lists, below, above, sampled=sampled)
    return {
        "refused": int(moved.refused.sum()),
        "lists": lists,
        "lists_below": below,
        "lists_above": above,
        "scores": float(moved.scores.mean()),
        "reach": moved.reach,
        "queries": moved.scores.size,
        "verdict": verdict,
        "reason": "; ".join(_reasons(probe, moved, config, verdict, why)),
    }


def _share(moved: Moved, values: NDArray[np.bool_]) -> float | None:
    """Share of queries whose list changes at one of these values; None without a value."""
    if not values.any():
        return None
    return float(moved.lists[values].any(axis=0).mean())


def _verdict(lists: float, below: float | None, above: float | None, *, sampled: bool) -> str:
    if lists == 0:
        return "not seen to bind" if sampled else "never binds"
    if above == 0:
        return "always saturates"
    return "binds above" if below == 0 else "binds"


def _reasons(
    probe: Probe, moved: Moved, config: RankingConfig, verdict: str, why: str | None
) -> Iterator[str]:
    if verdict != "binds":
        yield from filter(None, (why, _why_not(probe, moved, config)))
    for side, word in ((-1, "lower"), (1, "higher")):
        marks = zip(probe.others, moved.refused, strict=True)
        refused = [mark for value, mark in marks if probe.side(value) == side]
        if refused and all(refused):
            yield f"every {word} value is refused"
    if moved.fixed.any():
        yield f"{int(moved.fixed.sum())} cases have a profile that sets it"


def _why_not(probe: Probe, moved: Moved, config: RankingConfig) -> str:
    root, name, *_ = probe.address.split(".")
    changing = [
        value for value, lists in zip(probe.others, moved.lists, strict=True) if lists.any()
    ]
    if changing:
        nearest = min(changing, key=lambda value: abs(place_of(value) - place_of(probe.value)))
        side = -probe.side(nearest)
        return (
            f"no list changed at the values tried {'below' if side < 0 else 'above'}: "
            f"{probe.without(moved.refused).on(side)}; one does at {value_text(nearest)}"
        )
    if of_stage(probe) and name in config.stage(root).unread():
        return f"not read, as the other values of {root} stand"
    if moved.scores.any():
        return "moves scores, but no list"
    return "changes no list" if moved.reached.any() else "reaches no candidate"
