"""Cautions: what a reader has to know beside the figures of a run.

In: candidates, a config, the lists it showed. Out: counts by name. A cutoff that covers every
candidate measures nothing, a minimum that a later stage undercuts does not hold for what is shown,
and memories of an untrusted origin are counted wherever they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.evaluate.catalogue import parse_metric
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import profile_groups, with_profile
from recalltune.pipeline.stage import FilterStage

__all__ = ["NOT_INFORMATIVE", "UNTRUSTED", "cautions"]

NOT_INFORMATIVE = "not_informative_"
"""What the count of a metric starts with."""
UNTRUSTED = "untrusted_shown"
_OF_A_SET = ("recall", "recall_any", "recall_all", "precision", "hard_negative_rate")
"""Metrics that read which rows are among the first k, and not where."""


def cautions(
    candidates: Candidates,
    config: RankingConfig,
    order: NDArray[np.intp],
    score: NDArray[np.float64],
    metrics: Sequence[str],
) -> Mapping[str, int]:
    """Return name -> count of what limits the meaning of a run.

    Parameters
    ----------
    candidates
        The cases of the run.
    config
        As it was run.
    order
        shape (Q, K), columns shown, -1 after the last.
    score
        shape (Q, C), as shown.
    metrics
        Names such as ``recall@10``.

    Returns
    -------
    Mapping
        ``not_informative_recall@50``: cases with at most 50 candidates, so that recall@50 is the
        same for every ranking of them; only metrics that do not read the order have such an entry.
        ``shown_below_min_score``: rows shown with less than a minimum of the config asks of them.
        ``untrusted_shown``: rows shown whose origin is untrusted.
    """
    shown = np.zeros(candidates.span.shape, dtype=np.bool_)
    rows, places = np.nonzero(order >= 0)
    shown[rows, order[rows, places]] = True
    untrusted = candidates.code("origin", "untrusted")
    origin = candidates.features.get("origin", np.full(candidates.span.shape, -2))
    return {
        "shown_below_min_score": int((shown & _below(candidates, config, score)).sum()),
        UNTRUSTED: int((shown & (origin == untrusted)).sum()) if untrusted >= 0 else 0,
        **_settled(candidates, metrics),
    }


def _below(
    candidates: Candidates, config: RankingConfig, score: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """True where a score is below what some stage asks of the row."""
    below = np.zeros(score.shape, dtype=np.bool_)
    for profile, rows in profile_groups(candidates, config).items():
        part = candidates.take(rows)
        for stage in with_profile(config, profile).stages:
            minima = stage.minima(part) if isinstance(stage, FilterStage) else None
            if minima is not None:
                below[rows] |= score[rows] < minima
    return below


def _settled(candidates: Candidates, metrics: Sequence[str]) -> dict[str, int]:
    pool = candidates.valid.sum(axis=1)
    counts = {}
    for name in metrics:
        metric, cutoff = parse_metric(name)
        if cutoff is not None and metric.name in _OF_A_SET:
            counts[NOT_INFORMATIVE + name] = int((pool <= cutoff).sum())
    return counts
