"""One config over one case set: what is shown, what it scores, case by case and overall."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.ledger import Hop, degradations
from recalltune.candidates.table import Candidates, Stamp
from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.catalogue import measure, parse_metric
from recalltune.evaluate.cautions import cautions
from recalltune.evaluate.clusters import sessions_of
from recalltune.evaluate.judged import Judged, judge
from recalltune.evaluate.labels import per_case_sum
from recalltune.evaluate.paired import mean_of
from recalltune.evaluate.shown import Shown, rank, shown_hits
from recalltune.evaluate.units import by_session
from recalltune.evaluate.verdict import CaseVerdict, strict_verdict
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.ranks import ranks_in_list
from recalltune.pipeline.run import with_profile
from recalltune.pipeline.scales import scale_notices

__all__ = [
    "DEFAULT_METRICS",
    "SPLITS",
    "Evaluation",
    "Split",
    "evaluate",
    "in_split",
]

Split = Literal["tune", "held_out", "all"]
SPLITS: tuple[Split, ...] = ("tune", "held_out", "all")

DEFAULT_METRICS = (
    "ndcg@10",
    "mrr@10",
    "map",
    "recall@10",
    "recall_any@10",
    "recall_all@10",
    "hard_negative_rate@3",
    "order_violations",
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one config scored on one case set."""

    config: RankingConfig
    stamp: Stamp
    metrics: tuple[str, ...]
    cases: pl.DataFrame
    """One row a case: query_id, session, kind, lang, split, shown, tokens, passed, reason, and one
    column a metric; null where the metric is undefined for the case."""
    hits: pl.DataFrame
    """query_id, rank, memory_id, score, layer, superseded, tokens."""
    accounts: pl.DataFrame
    counts: Mapping[str, int] = field(default_factory=dict)
    """Labels that judge nothing, cases without labels, cases with an empty list, targets that only
    their age keeps out of the list, rows each filter dropped, what `cautions` counts, and the
    notices of the candidates."""
    unit: str = "memory"
    """What the metrics rank."""
    ledger: tuple[Hop, ...] = ()
    """Every degradation: of the whole run, then of single cases."""
    notices: tuple[str, ...] = ()
    """Thresholds and boosts of the config that stand outside what its scores can be."""

    def summary(self, by: str | None = None) -> pl.DataFrame:
        """Return metric, slice, mean, lo, hi, n, undefined: means with 95 % intervals.

        Parameters
        ----------
        by
            A column of `cases` to slice by, such as "kind" or "lang"; None is all cases.
        """
        if by is not None and by not in self.cases.columns:
            message = f"cases have no column {by!r} to slice by; use kind, lang, split or session"
            raise ParameterError(message)
        slices = [None] if by is None else self.cases[by].unique().sort().to_list()
        rows = []
        for value in slices:
            part = self.cases if by is None else self.cases.filter(pl.col(by).eq_missing(value))
            for metric in (*self.metrics, "passed", "tokens"):
                rows.append(
                    {"metric": metric, "slice": "all" if by is None else str(value)}
                    | _mean(part, metric)
                )
        return pl.DataFrame(rows, infer_schema_length=None)

    def value(self, metric: str) -> float:
        """Return the mean of one metric over the cases it is defined for.

        Raises
        ------
        ParameterError
            If it is defined for none: that is no 0.
        """
        mean = self.cases[metric].cast(pl.Float64).mean()
        if mean is None:
            message = f"{metric} is undefined for every case; label some targets or choose another"
            raise ParameterError(message)
        return float(mean)  # type: ignore[arg-type]

    def to_json(self) -> str:
        """Return summary, counts and ledger as JSON, without any text of the data."""
        return json.dumps(
            {
                "config": self.config.fingerprint,
                "data": self.stamp.data,
                "encoder": self.stamp.encoder,
                "counts": dict(self.counts),
                "notices": list(self.notices),
                "ledger": [vars(hop) for hop in self.ledger],
                "summary": self.summary().to_dicts(),
            },
            allow_nan=False,
            indent=2,
        )


def _mean(part: pl.DataFrame, metric: str) -> dict[str, Any]:
    values = part[metric].cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    told = mean_of(values, sessions_of(part))
    undefined = part.height - told.n
    return {"mean": told.diff, "lo": told.lo, "hi": told.hi, "n": told.n, "undefined": undefined}


def evaluate(
    candidates: Candidates,
    config: RankingConfig,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    split: Split = "tune",
    unit: Literal["memory", "session"] = "memory",
) -> Evaluation:
    """Score ``config`` on the cases the candidates were made for.

    Parameters
    ----------
    candidates
        From `candidates(lab, case_set, config)`.
    config
        Ranked as it stands; a case's profile is honoured.
    metrics
        Names such as ``ndcg@10``; one value a case each.
    split
        tune: the cases that are not held out, as a sweep scores them. held_out: the others, which
        `choose` scores for a decision that is made. all: every case. ``counts["not_scored"]`` says
        how many were left out.
    unit
        What metrics rank: memories, or the sessions they belong to. Verdicts stay with memories.

    Raises
    ------
    ParameterError
        If a metric or split is unknown.
    ContractError
        If the candidates carry no labels, or were made for another config.
    """
    for name in metrics:
        parse_metric(name)
    every = candidates.queries.height
    candidates = in_split(candidates, split)
    shown = rank(candidates, config)
    judged = judge(candidates)
    ranks = ranks_in_list(shown.order, judged.slots)
    hits = shown_hits(candidates, shown)
    size = (shown.order >= 0).sum(axis=1)
    unit_ranks, unit_labels = ranks, judged.labels
    if unit == "session":
        unit_ranks, unit_labels = by_session(candidates, shown.order, judged)
    columns = {name: _nullable(measure(name, unit_ranks, unit_labels)) for name in metrics}
    tokens = np.where(
        shown.order >= 0,
        np.take_along_axis(candidates.feature("tokens"), np.maximum(shown.order, 0), axis=1),
        0,
    ).sum(axis=1)
    verdicts = _verdicts(candidates, shown, judged, ranks)
    notices = tuple(str(notice) for notice in scale_notices(config))
    cases = candidates.queries.select("query_id", "session", "kind", "lang", "split").with_columns(
        pl.Series("shown", size),
        pl.Series("tokens", tokens.astype(np.int64)),
        pl.Series("passed", [verdict.passed for verdict in verdicts], dtype=pl.Boolean),
        pl.Series("reason", [verdict.reason for verdict in verdicts], dtype=pl.String),
        *(pl.Series(name, values) for name, values in columns.items()),
    )
    return Evaluation(
        config=config,
        stamp=candidates.stamp,
        metrics=tuple(metrics),
        cases=cases,
        hits=hits,
        accounts=shown.accounts,
        counts={
            "not_scored": every - candidates.queries.height,
            "labels_not_yet": len(judged.not_yet),
            "cases_without_target": int((_targets(judged) == 0).sum()),
            "empty_lists": int((size == 0).sum()),
            "relevant_lost_to_decay": _lost_to_decay(candidates, config, judged, ranks),
            **{f"dropped_by_{name}": n for name, n in shown.filtered.items()},
            "scale_notices": len(notices),
            **cautions(candidates, config, shown.order, shown.score, metrics),
            **{
                name: count
                for stage in config.stages
                for name, count in stage.noticed(candidates).items()
            },
            **candidates.notices,
        },
        unit=unit,
        ledger=degradations(candidates),
        notices=notices,
    )


def _verdicts(
    candidates: Candidates, shown: Shown, judged: Judged, ranks: NDArray[np.float64]
) -> list[CaseVerdict]:
    labels = judged.labels
    verdicts = []
    for row, query in enumerate(candidates.queries.iter_rows(named=True)):
        mine = slice(labels.offsets[row], labels.offsets[row + 1])
        verdicts.append(
            strict_verdict(
                kind=query["kind"],
                expectations=candidates.expectations.get(query["query_id"], {}),
                top_k=query["top_k"],
                ranks=dict(zip(judged.memory_ids[mine], ranks[mine].tolist(), strict=True)),
                gains=labels.gains[mine],
                hard_negative=labels.hard_negative[mine],
                order=labels.order[mine],
                shown_texts=_texts(candidates, shown, row),
            )
        )
    return verdicts


def _lost_to_decay(
    candidates: Candidates, config: RankingConfig, judged: Judged, ranks: NDArray[np.float64]
) -> int:
    """Targets out of their list that would be in it if no stage marked memories down for age."""
    settings = [config, *(with_profile(config, name) for name in config.profiles)]
    if not any(stage.fades for setting in settings for stage in setting.stages):
        return 0
    unfaded = rank(candidates, config, without=lambda stage: stage.fades)
    kept = ~np.isnan(ranks_in_list(unfaded.order, judged.slots))
    return int(((judged.labels.gains > 0) & np.isnan(ranks) & kept).sum())


def _targets(judged: Judged) -> NDArray[np.float64]:
    """Number of targets of each case."""
    return per_case_sum((judged.labels.gains > 0).astype(np.float64), judged.labels.offsets)


def in_split(candidates: Candidates, split: Split) -> Candidates:
    """Return the cases of one split; a case that no split names is one to tune on.

    Raises
    ------
    ParameterError
        If the split is unknown, or no case is in it.
    """
    if split not in SPLITS:
        message = f"split must be one of {', '.join(SPLITS)}, got {split!r}"
        raise ParameterError(message)
    held = (candidates.queries["split"] == "held_out").fill_null(value=False).to_numpy()
    wanted = {"tune": ~held, "held_out": held, "all": np.ones_like(held)}[split]
    if wanted.all():
        return candidates
    if not wanted.any():
        message = f"no case is in the split {split!r}: {held.sum()} of {held.size} are held out"
        raise ParameterError(message)
    return candidates.take(np.flatnonzero(wanted).tolist())


def _texts(candidates: Candidates, shown: Shown, row: int) -> list[str]:
    if "text" not in candidates.spans.columns:
        raise ContractError("candidates.spans lack the column 'text'")
    columns = shown.order[row][shown.order[row] >= 0]
    return candidates.spans["text"].gather(candidates.span[row, columns]).to_list()


def _nullable(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
