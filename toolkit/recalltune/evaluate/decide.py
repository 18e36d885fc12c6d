"""Whether any setting may replace the default, and which: the gate in front of every export.

In: a metric per setting and case, and the cluster of each case. Out: one frozen `Decision` with
everything its record must hold. ``docs/statistics-of-choosing.md`` says why each step is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recalltune.errors import ContractError
from recalltune.evaluate.clusters import mean_and_se
from recalltune.evaluate.evidence import Evidence, Plan, weigh
from recalltune.evaluate.family import Direction, Family
from recalltune.evaluate.folds import FoldGain, fold_gain
from recalltune.evaluate.maxt import MaxT, Signs, draw_signs, max_t, tie_set
from recalltune.evaluate.skew import skew_guard

__all__ = ["Decision", "decide"]

Floats = NDArray[np.float64]
Verdict = Literal["winner", "no_winner", "few_clusters"]
FEWEST_CLUSTERS = 6
CLOSER_LOOK = 20_000


@dataclass(frozen=True, eq=False)
class Decision:
    """What the cases say about replacing the default.

    Gains are improvements: positive when better, whichever way the metric runs.
    """

    verdict: Verdict
    default: int
    chosen: int
    """Setting to use from now on; the default unless there is a winner."""
    subject: int
    """Setting that `evidence` and `p` describe: the winner, or the best that was not enough."""
    best: int
    """Setting with the best mean of all, passing or not."""
    evidence: Evidence
    p: float
    """Adjusted p of the subject."""
    p_error: float
    """Monte-Carlo error of p; 0 if every sign pattern was tried."""
    critical_t: float

    direction: Direction
    unit: str
    """What a cluster is, singular: session, conversation, user."""
    alpha: float
    resamples: int
    """Sign patterns used by the gate."""
    exact: bool
    """Whether these were all there are."""
    n_cases: int
    """N, cases for which the metric is defined."""
    n_clusters: int
    """J."""
    dropped: tuple[int, ...]
    """Positions of cases for which the metric is undefined in every setting."""
    n_settings: int
    """G, the default included."""
    n_distinct: int
    """Settings that differ on these cases."""
    identical_to_default: tuple[int, ...]
    """Settings, the default apart, that change no case."""

    means: Floats
    """shape (G,), in the metric's own direction."""
    gains: Floats
    """shape (G,), mean improvement over the default."""
    p_adj: Floats
    """shape (G,), adjusted for all settings."""
    passing: tuple[int, ...]
    """Settings shown to be better: p, skew guard and guardrails."""
    held_back: tuple[int, ...]
    """Settings whose p passes but that the skew guard or a guardrail stops."""
    near: tuple[int, ...]
    """Passing settings within one paired standard error of the best of them."""
    ties: tuple[int, ...]
    """Settings that cannot be told apart from the best of all."""
    heldout: FoldGain | None
    """Gain of the rule on folds it did not see; none with a single cluster."""
    fold_in_ties: float
    """Share of folds whose choice is in the tie set."""
    target_gain: float
    """Gain whose price in cases is quoted."""

    @property
    def apparent_gain(self) -> float:
        """Gain of the best of all on the very cases it was found on."""
        return float(self.gains[self.best])

    @property
    def optimism(self) -> float:
        """Apparent gain minus held-out gain; NaN without folds."""
        return self.apparent_gain - (np.nan if self.heldout is None else self.heldout.gain)

    @property
    def default_in_ties(self) -> bool:
        """Whether the default itself cannot be told apart from the best."""
        return self.default in self.ties

    @property
    def regret(self) -> Floats:
        """What each setting loses against the best mean of all, shape (G,)."""
        return self.apparent_gain - self.gains

    @property
    def unseen_loss(self) -> float | None:
        """Frequency up to which a kind of loss can have gone unseen; none from 5 losses on."""
        return min(1.0, 3.0 / self.n_clusters) if self.evidence.losses < 5 else None


def decide(
    metric_matrix: Floats,
    default: int,
    clusters: Sequence[str],
    *,
    rng: np.random.Generator,
    alpha: float = 0.05,
    direction: Direction = "higher",
    resamples: int = 2000,
    distance_keys: Floats | None = None,
    guardrails: NDArray[np.bool_] | None = None,
    target_gain: float = 0.01,
    power: float = 0.8,
    span: float = 1.0,
    unit: str = "session",
) -> Decision:
    """Decide whether any of G settings may replace the default.

    Single-step max-T with sign changes of whole clusters, one-sided. If no setting passes, the
    default stays; else the passing setting nearest to the default is taken among those within
    one paired standard error of the best passing one.

    Parameters
    ----------
    metric_matrix
        shape (G, N), one metric per setting and case; NaN only where undefined in all settings.
    default
        Row of the current default.
    clusters
        length N, the session (conversation, user) of each case.
    rng
        Draws, in this order: signs, signs of a closer look if one is needed, folds, bootstrap.
    alpha
        in (0, 0.2], share of false winners allowed.
    direction
        Which way the metric is better.
    resamples
        B, >= 99. Repeated once with 20,000 if the deciding p lies within three of its errors of
        alpha.
    distance_keys
        shape (G, K), smaller is nearer to the default, first column first. Left out: the error
        of the difference to the default.
    guardrails
        shape (G,), False for a setting that fails a guardrail and must not win.
    target_gain
        > 0, gain whose price in cases is quoted.
    power
        in (0, 1), for the planner.
    span
        > 0, width of the metric's range.
    unit
        What a cluster is, singular.

    Returns
    -------
    Decision
        The verdict with all that its record needs.

    Raises
    ------
    ContractError
        If shapes differ, a case lacks a value in some settings only, or no case is defined.
    ParameterError
        If a parameter is out of range.
    """
    family = Family.of(np.asarray(metric_matrix, float), default, clusters, direction)
    groups, row_of = family.clusters, family.row_of
    signs, test = _gate(family.sums, alpha=alpha, resamples=resamples, rng=rng)
    means, errors = mean_and_se(family.sums, groups.sizes)
    gains = means[row_of]

    p_adj = test.p_adj[row_of]
    significant = p_adj <= alpha
    allowed = skew_guard(family.sums, test)[row_of] & _guardrails(guardrails, len(row_of))
    passing = significant & allowed
    verdict = _verdict(passing, groups.count)
    near: tuple[int, ...] = ()
    chosen, subject = default, _best_other(gains, family)
    if verdict == "winner":
        near = _near(family, gains, passing)
        keys = errors[row_of][:, None] if distance_keys is None else distance_keys
        chosen = subject = _nearest(keys, near, len(row_of))

    best = default if gains.max() <= 0 else int(gains.argmax())
    tied = tie_set(family.sums, int(row_of[best]), signs, alpha=alpha)
    heldout = fold_gain(family.values, family.base, groups, rng=rng) if groups.count > 1 else None
    expected = 0.0 if heldout is None else heldout.gain
    row, p = int(row_of[subject]), float(p_adj[subject])
    evidence = weigh(
        family.difference[row],
        groups,
        family.sums[row],
        critical_t=test.critical_t,
        plan=Plan(target_gain=target_gain, power=power, expected_gain=expected),
        rng=rng,
        resamples=resamples,
        span=span,
    )
    return Decision(
        verdict=verdict,
        default=default,
        chosen=chosen,
        subject=subject,
        best=best,
        evidence=evidence,
        p=p,
        p_error=0.0 if signs.exact else _monte_carlo_error(p, signs),
        critical_t=test.critical_t,
        direction=direction,
        unit=unit,
        alpha=alpha,
        resamples=len(signs.patterns),
        exact=signs.exact,
        n_cases=family.values.shape[1],
        n_clusters=groups.count,
        dropped=family.dropped,
        n_settings=len(row_of),
        n_distinct=len(family.values),
        identical_to_default=_positions(~family.moving & (np.arange(len(row_of)) != default)),
        means=(1.0 if direction == "higher" else -1.0) * family.values.mean(axis=1)[row_of],
        gains=gains,
        p_adj=p_adj,
        passing=_positions(passing),
        held_back=_positions(significant & ~allowed),
        near=near,
        ties=_positions(tied[row_of]),
        heldout=heldout,
        fold_in_ties=np.nan if heldout is None else float(tied[heldout.winners].mean()),
        target_gain=target_gain,
    )


def _gate(
    sums: Floats, *, alpha: float, resamples: int, rng: np.random.Generator
) -> tuple[Signs, MaxT]:
    signs = draw_signs(sums.shape[1], resamples=resamples, rng=rng)
    test = max_t(sums, signs, alpha=alpha)
    close = abs(test.best_p - alpha) <= 3 * _monte_carlo_error(test.best_p, signs)
    if close and not signs.exact and resamples < CLOSER_LOOK:
        signs = draw_signs(sums.shape[1], resamples=CLOSER_LOOK, rng=rng)
        test = max_t(sums, signs, alpha=alpha)
    return signs, test


def _monte_carlo_error(p: float, signs: Signs) -> float:
    return float(np.sqrt(p * (1.0 - p) / len(signs.patterns)))


def _guardrails(guardrails: NDArray[np.bool_] | None, settings: int) -> NDArray[np.bool_]:
    if guardrails is None:
        return np.ones(settings, dtype=np.bool_)
    if guardrails.shape != (settings,) or guardrails.dtype != np.bool_:
        msg = f"guardrails must be bool ({settings},), got {guardrails.dtype} {guardrails.shape}"
        raise ContractError(msg)
    return guardrails


def _verdict(passing: NDArray[np.bool_], clusters: int) -> Verdict:
    if clusters < FEWEST_CLUSTERS:
        return "few_clusters"
    return "winner" if passing.any() else "no_winner"


def _best_other(gains: Floats, family: Family) -> int:
    """Best setting that changes any case; if none does, the first besides the default."""
    moving = family.moving
    if not moving.any():
        return 1 if family.default == 0 else 0
    return int(np.where(moving, gains, -np.inf).argmax())


def _near(family: Family, gains: Floats, passing: NDArray[np.bool_]) -> tuple[int, ...]:
    candidates = np.flatnonzero(passing)
    best = candidates[gains[candidates].argmax()]
    behind = family.sums[family.row_of[best]] - family.sums[family.row_of[candidates]]
    gap, error = mean_and_se(behind, family.clusters.sizes)
    return tuple(candidates[gap <= error].tolist())


def _nearest(keys: Floats, near: tuple[int, ...], settings: int) -> int:
    if keys.ndim != 2 or len(keys) != settings or not np.isfinite(keys).all():
        msg = f"distance_keys must be finite ({settings}, keys), got shape {keys.shape}"
        raise ContractError(msg)
    return near[int(np.lexsort(keys[list(near)].T[::-1])[0])]


def _positions(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())
