"""The difference a decision rests on, and the strongest verdict it bears.

In: a choice from a sweep, or two evaluations. Out: an `Effect` that says how its interval allows
for the settings that were looked at, and *keep*, *change* or *cannot decide*.
"""

from __future__ import annotations

from recalltune.charts.findings import TOO_FEW
from recalltune.errors import ParameterError
from recalltune.evaluate.comparing import higher_is_better, paired_runs
from recalltune.evaluate.run import Evaluation
from recalltune.report.decision_record import Cost, Effect, Verdict
from recalltune.sweep.choose import Choice

__all__ = ["allowed_verdict", "effect_of_choice", "effect_of_runs"]

MARGIN = 0.01
"""Loss of the metric that a saving of tokens may cost."""


def effect_of_runs(
    default: Evaluation,
    chosen: Evaluation,
    metric: str,
    *,
    tuned_on: bool | None,
    settings_looked_at: int,
) -> Effect:
    """Paired difference of two runs, its interval widened for the settings looked at.

    Parameters
    ----------
    default, chosen
        Two runs on the same cases.
    metric
        A column of both.
    tuned_on
        Whether the cases were tuned on; None: yes where more than one setting was looked at.
    settings_looked_at
        >= 1. The level of the interval is 1 - 0.05 / settings.

    Raises
    ------
    ParameterError
        If ``settings_looked_at`` is below 1, or the metric undefined for every case.
    """
    if settings_looked_at < 1:
        message = f"settings_looked_at must be at least 1, got {settings_looked_at}"
        raise ParameterError(message)
    level = 1 - 0.05 / settings_looked_at
    change = paired_runs(default, chosen, metric, level=level)
    picked = settings_looked_at > 1 if tuned_on is None else tuned_on
    correction = (
        "none: one comparison fixed beforehand"
        if settings_looked_at == 1
        else f"level {level:.4f} for {settings_looked_at} settings looked at (Bonferroni)"
    )
    return Effect(
        metric=metric,
        default=default.value(metric),
        chosen=chosen.value(metric),
        difference=change.diff,
        lo=change.lo,
        hi=change.hi,
        n=change.n,
        correction=correction,
        basis="in sample" if picked else "held out",
    )


def effect_of_choice(choice: Choice) -> Effect:
    """What a sweep says of its winner, or of the best that was not enough."""
    held = choice.heldout
    at_least = choice.decision.evidence.lower if choice.changes else None
    if held is not None and choice.changes:
        return Effect(
            metric=choice.metric,
            default=held.mean_a,
            chosen=held.mean_b,
            difference=held.mean,
            lo=held.lo,
            hi=held.hi,
            n=held.n,
            correction="none needed: held out, scored after the choice; the sweep passed max-T",
            basis="held out",
            at_least=at_least,
        )
    d = choice.decision
    sign = 1.0 if d.direction == "higher" else -1.0
    # Only the lower bound of the improvement allows for all settings; the upper is pointwise.
    low = d.evidence.lower if d.evidence.sd else d.evidence.interval.low
    bounds = sorted((sign * low, sign * max(d.evidence.interval.high, low)))
    finite = all(abs(bound) < float("inf") for bound in bounds)
    return Effect(
        metric=choice.metric,
        default=float(d.means[d.default]),
        chosen=float(d.means[d.subject]),
        difference=sign * d.evidence.gain,
        lo=bounds[0] if finite else None,
        hi=bounds[1] if finite else None,
        n=d.n_cases,
        correction=f"max-T over {d.n_settings - 1:,} settings in the bound that faces the default",
        basis="in sample",
        at_least=at_least,
    )


def allowed_verdict(choice: Choice | None, effect: Effect | None, cost: Cost) -> Verdict:
    """The strongest verdict the evidence bears."""
    if choice is not None:
        if choice.decision.verdict == "few_clusters":
            return "cannot decide"
        if choice.decision.verdict == "winner" and choice.changes:
            return "change"
        return "keep"
    if effect is None or effect.lo is None or effect.hi is None or effect.n < TOO_FEW:
        return "cannot decide"
    worst = effect.lo if higher_is_better(effect.metric) else -effect.hi
    if worst > 0:
        return "change"
    saves = cost.tokens_hi is not None and cost.tokens_hi < 0
    if saves and worst > -MARGIN:
        return "change"
    return "keep"
