"""What an explorer is without its widgets: a setting, what it scores, what it changes.

Every move is judged against the default on the tuning cases. Nothing here knows ipywidgets.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.charts import compiled, patch, verdict_of
from recalltune.errors import ParameterError, RecalltuneError, nearest
from recalltune.evaluate.comparing import higher_is_better
from recalltune.evaluate.run import in_split
from recalltune.evaluate.views import label_of, targets
from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig
from recalltune.widgets.controls import Control, controls_for
from recalltune.widgets.drawings import LIST_LENGTH, Moved, picture
from recalltune.widgets.markup import escaped, moves_table, strip_table
from recalltune.widgets.noise import Noise
from recalltune.widgets.scoring import Rescorer, Scored
from recalltune.widgets.snapshot import Snapshot

__all__ = ["EXPLORER_METRICS", "Explorer"]

EXPLORER_METRICS = ("ndcg@10", "recall_any@10", "recall_all@10", "hard_negative_rate@3", "tokens")


class Explorer:
    """A setting that moves, scored on all tuning cases at each step.

    Parameters
    ----------
    candidates
        From `candidates(lab, case_set, config)`; held-out cases in it are left out.
    config
        The current default: every change is measured against it.
    controls
        Addresses that may move, or address -> stops.
    metrics
        Of the strip: names such as ``ndcg@10``, or ``tokens``.
    chart
        ``case_flips``, ``decay_curves`` or ``quota_account``.

    Raises
    ------
    ParameterError
        If an address, metric or chart is unknown, or no case is for tuning.
    ContractError
        If the candidates were made for another admit or arms, or carry no labels.
    """

    def __init__(
        self,
        candidates: Candidates,
        config: RankingConfig,
        controls: Iterable[str] | Mapping[str, Sequence[Any]],
        *,
        metrics: Sequence[str] = EXPLORER_METRICS,
        chart: str = "case_flips",
    ) -> None:
        cases = in_split(candidates, "tune")
        self.candidates = cases
        self.base = config
        self.controls = controls_for(config, controls)
        self.metrics = tuple(metrics)
        self.message = ""
        """The library's message about the last move that was refused; empty after a good one."""
        self.seconds = 0.0
        """Wall time of the last scoring; no part of any result."""
        self._rescorer = Rescorer(cases, config, metrics)
        self._noise = Noise(cases)
        self._default = self._now = self._rescorer.score(config)
        self._seen: set[str] = set()
        self._with_target = set(targets(cases)["query_id"].to_list())
        self._picture = picture(chart, cases)
        self._compiled: dict[str, Any] | None = None

    @property
    def config(self) -> RankingConfig:
        """The setting now."""
        return self._now.config

    @property
    def scored(self) -> Scored:
        """The setting now, case by case."""
        return self._now

    @property
    def settings_seen(self) -> int:
        """Settings looked at besides the default."""
        return len(self._seen)

    def control(self, address: str) -> Control:
        """Return the control of one address.

        Raises
        ------
        ParameterError
            If the explorer has no such control.
        """
        for control in self.controls:
            if control.address == address:
                return control
        message = (
            f"no control moves {address!r}; {nearest(address, [c.address for c in self.controls])}"
        )
        raise ParameterError(message)

    def move(self, wanted: Mapping[str, Any]) -> bool:
        """Set some controls and score; a refused move changes nothing but ``message``.

        Parameters
        ----------
        wanted
            Address of a control -> value, as in its stops.

        Returns
        -------
        bool
            Whether the move was accepted.
        """
        try:
            changes: dict[str, Any] = {}
            for address, value in wanted.items():
                changes |= self.control(address).changes(value, self.config)
            self._score(set_many(self.config, changes))
        except RecalltuneError as error:
            self.message = str(error)
            return False
        self.message = ""
        return True

    def reset(self) -> None:
        """Return to the current default."""
        self.message = ""
        self._score(self.base)

    def _score(self, config: RankingConfig) -> None:
        began = time.perf_counter()
        self._now = self._rescorer.score(config)
        self.seconds = time.perf_counter() - began
        if config.fingerprint != self.base.fingerprint:
            self._seen.add(config.fingerprint)

    def strip(self) -> pl.DataFrame:
        """One row a metric: default and present mean, paired change with its interval.

        Columns: metric, label, higher (is better), decimals, default, now, diff, lo, hi (95 %, not
        corrected), n, verdict.
        """
        rows = []
        for metric in self.metrics:
            change = self._now.values[metric] - self._default.values[metric]
            paired = self._noise.paired(change, metric)
            higher = higher_is_better(metric)
            rows.append(
                {
                    "metric": metric,
                    "label": label_of(metric),
                    "higher": higher,
                    "decimals": 0 if metric == "tokens" else 3,
                    "default": self._default.mean(metric),
                    "now": self._now.mean(metric),
                    "diff": paired.diff,
                    "lo": paired.lo,
                    "hi": paired.hi,
                    "n": paired.n,
                    "verdict": verdict_of({**vars(paired), "higher_is_better": higher}),
                }
            )
        return pl.DataFrame(rows, schema=_STRIP)

    def flips(self) -> pl.DataFrame:
        """One row a case with a target: case_id, label (query), rank_a, rank_b, kind, lang."""
        queries = self.candidates.queries
        frame = queries.select(
            pl.col("query_id").alias("case_id"), pl.col("text").alias("label"), "kind", "lang"
        ).with_columns(_ranks(self._default).alias("rank_a"), _ranks(self._now).alias("rank_b"))
        return frame.filter(pl.col("case_id").is_in(list(self._with_target)))

    def moves(self) -> pl.DataFrame:
        """The cases of `flips` whose first target moved, the largest change of 1 / rank first."""
        gain = (1 / pl.col("rank_b")).fill_null(0.0) - (1 / pl.col("rank_a")).fill_null(0.0)
        return (
            self.flips()
            .with_columns(gain.alias("gain"), (gain > 0).alias("better"))
            .filter(pl.col("gain") != 0)
            .sort(pl.col("gain").abs(), "case_id", descending=[True, False])
        )

    def idle(self) -> list[str]:
        """Addresses of controls that have no effect in the present setting."""
        return [control.address for control in self.controls if not control.acts(self.config)]

    def toml(self) -> str:
        """Return the TOML of the present setting, which `load_config` reads."""
        return self.config.to_toml()

    def strip_html(self) -> str:
        """Return the strip as HTML."""
        idle = self.idle()
        note = f"Without effect here: {escaped(', '.join(idle), 200)}." if idle else ""
        return strip_table(self.strip(), settings=self.settings_seen, note=note)

    def moves_html(self) -> str:
        """Return the changed cases as HTML."""
        moves = self.moves()
        return moves_table(moves, len(self._with_target) - moves.height)

    def heading(self) -> str:
        """Return one line: default, cases, data."""
        return (
            f"current default {self.base.fingerprint}, {self.candidates.queries.height} tuning "
            f"cases, data {self.candidates.stamp.data[:4]}"
        )

    def spec(self) -> dict[str, Any]:
        """Return the chart as Vega-Lite: built once, then data and title are replaced."""
        moved = Moved(self._default, self._now, self.flips())
        if self._compiled is None:
            self._compiled = compiled(self._picture.chart(moved))
            return self._compiled
        return patch(self._compiled, self._picture.drawing(moved))

    def chart(self) -> Any:
        """Return the chart of the present setting, built anew."""
        return self._picture.chart(Moved(self._default, self._now, self.flips()))

    def snapshot(self, changes: Mapping[str, Any]) -> Snapshot:
        """Return strip, changed cases and chart at one named alternative, without widgets.

        The explorer itself stays where it is, and the look is not counted.

        Parameters
        ----------
        changes
            Address of a control -> value.

        Raises
        ------
        ParameterError
            If the setting is refused; the message is the library's.
        """
        other = Explorer(
            self.candidates,
            self.base,
            {control.address: control.stops for control in self.controls},
            metrics=self.metrics,
            chart=self._picture.name,
        )
        if not other.move(changes):
            raise ParameterError(other.message)
        told = ", ".join(
            f"{address} {other.control(address).told(value)}" for address, value in changes.items()
        )
        return Snapshot(
            heading=f"{other.heading()}; now: {told}",
            strip=other.strip_html(),
            moves=other.moves_html(),
            spec=other.spec(),
        )


def _ranks(scored: Scored) -> pl.Series:
    ranks = pl.Series(scored.best).fill_nan(None)
    return pl.select(pl.when(ranks <= LIST_LENGTH).then(ranks)).to_series().cast(pl.Int64)


_STRIP = {
    "metric": pl.String,
    "label": pl.String,
    "higher": pl.Boolean,
    "decimals": pl.Int64,
    "default": pl.Float64,
    "now": pl.Float64,
    "diff": pl.Float64,
    "lo": pl.Float64,
    "hi": pl.Float64,
    "n": pl.Int64,
    "verdict": pl.String,
}
