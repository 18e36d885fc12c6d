"""The chart of an explorer: compiled once, then only its data and title change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.charts import (
    Drawing,
    case_flips,
    case_flips_drawing,
    decay_curves,
    decay_curves_drawing,
    quota_account,
    quota_account_drawing,
)
from recalltune.errors import ParameterError, nearest
from recalltune.evaluate.views import targets
from recalltune.widgets.reading import chart_stamp
from recalltune.widgets.scoring import Scored

__all__ = ["CHARTS", "LIST_LENGTH", "Moved", "Picture", "picture"]

ROUNDS = 40
LIST_LENGTH = 20
"""Ranks beyond it count as *none*, in the chart and in the table beside it."""
_AGES = np.geomspace(0.25, 730.0, 120)


@dataclass(frozen=True)
class Moved:
    """Default and present setting, as a chart needs them."""

    default: Scored
    now: Scored
    flips: pl.DataFrame


class Picture(Protocol):
    """One form of chart over the explorer's state."""

    name: ClassVar[str]

    def chart(self, moved: Moved) -> Any:
        """The whole chart, with domains that fit every setting."""
        ...

    def drawing(self, moved: Moved) -> Drawing:
        """What changes when the setting does."""
        ...


@dataclass(frozen=True)
class _Flips:
    candidates: Candidates
    name: ClassVar[str] = "case_flips"

    def chart(self, moved: Moved) -> Any:
        return case_flips(moved.flips, fixed_rows=True, **self._options(moved))

    def drawing(self, moved: Moved) -> Drawing:
        return case_flips_drawing(moved.flips, **self._options(moved))

    def _options(self, moved: Moved) -> dict[str, Any]:
        return {
            "names": ("current default", "setting now"),
            "cutoff": 10,
            "list_length": LIST_LENGTH,
            "top": 12,
            "detail": "In sample: tuning cases.",
            "stamp": chart_stamp(self.candidates, moved.now.config),
        }


@dataclass(frozen=True)
class _Curves:
    candidates: Candidates
    name: ClassVar[str] = "decay_curves"

    def chart(self, moved: Moved) -> Any:
        return decay_curves(self._frame(moved), enlarge=False, **self._options(moved))

    def drawing(self, moved: Moved) -> Drawing:
        return decay_curves_drawing(self._frame(moved), **self._options(moved))

    def _frame(self, moved: Moved) -> pl.DataFrame:
        parts = {"current default": moved.default, "setting now": moved.now}
        return pl.concat(
            pl.DataFrame(
                {"curve": [name] * _AGES.size, "age_days": _AGES, "weight": _weights(scored)}
            )
            for name, scored in parts.items()
        )

    def _options(self, moved: Moved) -> dict[str, Any]:
        return {
            "evidence": targets(self.candidates).select(pl.col("age_days").drop_nulls()),
            "stamp": chart_stamp(self.candidates, moved.now.config),
        }


@dataclass(frozen=True)
class _Account:
    candidates: Candidates
    name: ClassVar[str] = "quota_account"

    def chart(self, moved: Moved) -> Any:
        return quota_account(self._frame(moved), **self._options(moved))

    def drawing(self, moved: Moved) -> Drawing:
        return quota_account_drawing(self._frame(moved), **self._options(moved))

    def _frame(self, moved: Moved) -> pl.DataFrame:
        """Picked and dropped of each layer in every n-th case by time."""
        queries = self.candidates.queries.with_row_index("row").sort("asked_at", "query_id")
        rows = queries["row"].to_numpy()[:: -(-queries.height // ROUNDS)]
        order, layer = moved.now.order[rows], self.candidates.feature("layer")[rows]
        valid = self.candidates.valid[rows]
        shown = np.zeros_like(valid)
        at, place = np.nonzero(order >= 0)
        shown[at, order[at, place]] = True
        return pl.concat(
            pl.DataFrame(
                {
                    "round": np.arange(1, rows.size + 1),
                    "layer": [name] * rows.size,
                    "picked": (shown & (layer == code)).sum(axis=1),
                    "dropped": (valid & ~shown & (layer == code)).sum(axis=1),
                }
            )
            for code, name in enumerate(self.candidates.codes["layer"])
        )

    def _options(self, moved: Moved) -> dict[str, Any]:
        return {"round_name": "case", "stamp": chart_stamp(self.candidates, moved.now.config)}


CHARTS: dict[str, Callable[[Candidates], Picture]] = {
    part.name: part for part in (_Flips, _Curves, _Account)
}


def picture(name: str, candidates: Candidates) -> Picture:
    """Return the chart of that name over these cases.

    Raises
    ------
    ParameterError
        If an explorer has no such chart.
    """
    if name not in CHARTS:
        message = f"an explorer has no chart {name!r}; {nearest(name, CHARTS)}"
        raise ParameterError(message)
    return CHARTS[name](candidates)


def _weights(scored: Scored) -> np.ndarray[Any, np.dtype[np.float64]]:
    decay = next((stage for stage in scored.config.stages if stage.kind == "decay"), None)
    return np.ones_like(_AGES) if decay is None else decay.weight(_AGES)
