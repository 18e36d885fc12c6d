"""Journey: everything one run found out, and what follows from it for charts and page alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.charts.canvas import Stamp
from recalltune.errors import ParameterError
from recalltune.evaluate.comparing import paired_runs
from recalltune.evaluate.paired import Paired
from recalltune.evaluate.run import Evaluation, evaluate
from recalltune.evaluate.views import flips, targets
from recalltune.ingest import ImportReport
from recalltune.pipeline.address import addresses, set_many
from recalltune.pipeline.config import RankingConfig
from recalltune.sweep.choose import Choice
from recalltune.sweep.engine import SweepResult
from recalltune.version import code_digest

__all__ = ["METRIC", "Journey"]

METRIC = "ndcg@10"
"""What decides where no choice says otherwise."""


@dataclass(frozen=True, eq=False)
class Journey:
    """Results of one run, from import to export; later parts may be missing."""

    imported: ImportReport | None
    """None where a lab was opened that had been filled before."""
    candidates: Candidates
    """The table of the cases to tune on, made for the current default."""
    results: Mapping[str, Evaluation]
    """name -> evaluation; the first one is the current default."""
    sweep: SweepResult | None = None
    choice: Choice | None = None
    exported: tuple[str, ...] = ()
    """Lines about what production will receive."""
    question: str = "Which memories should the agent recall?"
    commands: tuple[str, ...] = ()
    """How to repeat the run."""

    def __post_init__(self) -> None:
        if not self.results:
            raise ParameterError("a journey needs at least one evaluation, got none")

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.choice.metric if self.choice else METRIC

    @property
    def default_name(self) -> str:
        """Name of the current default among the results."""
        return next(iter(self.results))

    @property
    def default(self) -> Evaluation:
        """The current default on the cases to tune on."""
        return next(iter(self.results.values()))

    @property
    def changed(self) -> bool:
        """Whether a setting is chosen that differs from the default."""
        return self.choice is not None and bool(self.choice.changes)

    @cached_property
    def contender_config(self) -> RankingConfig | None:
        """The chosen config, or the best one that was not enough; None without a sweep."""
        if self.choice is None or self.sweep is None:
            return None
        if self.changed:
            return self.choice.chosen
        best = self.sweep.config(self.choice.decision.subject)
        return None if best.fingerprint == self.default.config.fingerprint else best

    @property
    def contender_name(self) -> str:
        """How the contender is called in charts and tables."""
        return "chosen" if self.changed else "best tried, not chosen"

    @cached_property
    def contender(self) -> Evaluation | None:
        """The contender on the cases it was tuned on."""
        if self.contender_config is None:
            return None
        return evaluate(self.candidates, self.contender_config, metrics=self.default.metrics)

    @cached_property
    def runs(self) -> dict[str, Evaluation]:
        """The results, and the contender under its name."""
        found = dict(self.results)
        if self.contender is not None:
            found[self.contender_name] = self.contender
        return found

    @cached_property
    def flips(self) -> pl.DataFrame | None:
        """Best target rank of every case in default and contender; None without a contender."""
        if self.contender is None:
            return None
        return flips(self.candidates, self.default, self.contender)

    @cached_property
    def targets(self) -> pl.DataFrame:
        """Targets that existed when their case was asked."""
        return targets(self.candidates)

    def change(self, metric: str) -> Paired | None:
        """Contender minus default on the cases to tune on; None without a contender."""
        return None if self.contender is None else paired_runs(self.default, self.contender, metric)

    def faded(self, config: RankingConfig) -> RankingConfig | None:
        """``config`` with its decay switched on as the contender has it; None without a decay."""
        known = addresses(config)
        if "decay.family" not in known:
            return None
        if known["decay.family"] != "none":
            return config
        wanted = addresses(self.contender_config) if self.contender_config else known
        if wanted["decay.family"] == "none":
            return set_many(config, {"decay.family": "exponential"})
        take = [address for address in known if address.startswith("decay.")]
        return set_many(config, {address: wanted[address] for address in take})

    def stamp(self, config: RankingConfig | None = None) -> Stamp:
        """Fingerprints for a chart; ``config`` only where one config is drawn."""
        return Stamp(
            config="" if config is None else config.fingerprint,
            data=self.candidates.stamp.data,
            encoder=self.candidates.stamp.vectors,
            code=code_digest(),
        )
