"""The decision in words: fixed sentences that say no more than the cases do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recalltune.errors import ContractError
from recalltune.evaluate.decide import Decision

__all__ = ["about", "sentence"]

FEW_TO_GENERALISE = 20


def sentence(decision: Decision, names: Sequence[str], metric: str) -> str:
    """Sentences that state the decision and its limits.

    Parameters
    ----------
    decision
        From `decide`.
    names
        length G, how each setting is called.
    metric
        How the metric is called, such as ``nDCG@10`` (see `metric_label`).

    Returns
    -------
    str
        One paragraph of plain text.

    Raises
    ------
    ContractError
        If the number of names is not the number of settings.
    """
    if len(names) != decision.n_settings:
        msg = f"names must be one per setting, {decision.n_settings}, got {len(names)}"
        raise ContractError(msg)
    opening = {"winner": _winner, "no_winner": _no_winner, "few_clusters": _few_clusters}
    return " ".join([opening[decision.verdict](decision, names, metric), *_limits(decision)])


def _winner(d: Decision, names: Sequence[str], metric: str) -> str:
    e = d.evidence
    expected = "" if d.heldout is None else f" Expected on new cases: {_gain(d, d.heldout.gain)}."
    return (
        f"{names[d.chosen]} replaces {names[d.default]}: {metric} {_value(d.means[d.chosen])} "
        f"against {_value(d.means[d.default])}, {_gain(d, e.gain)}; at least {_gain(d, e.lower)} "
        f"after allowing for all {d.n_settings - 1:,} settings looked at "
        f"({100 * (1 - d.alpha):g} %, {d.n_clusters:,} {d.unit}s).{expected} "
        f"{len(d.ties):,} settings cannot be told apart from the best; this one is the nearest to "
        "the default within one standard error."
    )


def _no_winner(d: Decision, names: Sequence[str], metric: str) -> str:
    e = d.evidence
    stays = (
        f"No setting is shown to be better than {names[d.default]} after allowing for "
        f"{d.n_settings - 1:,} settings (best: {_gain(d, e.gain)}, adjusted p {_p(d.p)})."
    )
    if not e.sd:
        return f"{stays} All of them give the same {metric} on these cases. The default stays."
    if e.cases_needed is None:
        return (
            f"{stays} With {d.n_clusters:,} {d.unit}s no gain of any size could have been shown. "
            "The default stays."
        )
    return (
        f"{stays} This data could have shown a gain of {_value(e.smallest_detectable)} or more; "
        f"to see {_gain(d, d.target_gain, short=True)} takes about {about(e.cases_needed):,} "
        "cases. The default stays."
    )


def _few_clusters(d: Decision, names: Sequence[str], metric: str) -> str:
    units = f"{d.unit}{'' if d.n_clusters == 1 else 's'}"
    return (
        f"Only {d.n_clusters} {units}: no winner can be declared across {d.unit}s (best: "
        f"{names[d.subject]}, {metric} {_gain(d, d.evidence.gain)}). Test at the next finer level "
        f"and say that it holds for these {d.unit}s. The default stays."
    )


def _limits(d: Decision) -> list[str]:
    said = []
    if d.held_back and d.verdict == "no_winner":
        said.append(
            f"{len(d.held_back):,} settings pass the test but are held back by the skew guard or a "
            "guardrail."
        )
    if d.verdict == "winner" and d.n_clusters < FEW_TO_GENERALISE:
        said.append(f"Only {d.n_clusters} {d.unit}s: the claim covers {d.unit}s like these.")
    if d.verdict == "winner" and d.evidence.power < 0.5:
        power = _bare(f"{d.evidence.power:.2f}")
        said.append(f"Found with power {power}: the size is probably overstated.")
    if d.evidence.interval.method == "widened t" and d.evidence.sd:
        counted = "cases" if d.n_cases == d.n_clusters else f"{d.unit}s"
        said.append(f"Only {d.evidence.differing} {counted} differ; the interval is a widened one.")
    if d.verdict == "winner" and d.unseen_loss is not None:
        said.append(
            f"Only {d.evidence.losses} {d.unit}s lose: a kind of loss in up to "
            f"{100 * d.unseen_loss:.1f} % of {d.unit}s could have gone unseen."
        )
    return said


def _gain(d: Decision, improvement: float, *, short: bool = False) -> str:
    """A change of the metric with its sign, in the metric's own direction."""
    change = improvement if d.direction == "higher" else -improvement
    if math.isinf(change):
        return "+∞" if change > 0 else "-∞"
    text = f"{abs(change):.3f}"
    if short:
        text = f"{abs(change):.6f}".rstrip("0").rstrip(".")
    sign = "-" if change < 0 and float(text) else "+"
    return sign + _bare(text)


def _value(value: float) -> str:
    return ("-" if value < 0 else "") + _bare(f"{abs(value):.3f}")


def _p(p: float) -> str:
    """A p-value to two decimals, or to its first digit if that comes later."""
    if p >= 0.995:
        return "1.00" if p >= 1 else ".99"
    digits = min(5, max(2, -math.floor(math.log10(p)))) if p > 0 else 2
    return _bare(f"{p:.{digits}f}")


def _bare(text: str) -> str:
    return text.removeprefix("0") if text.startswith("0.") else text


def about(count: int) -> int:
    """A count to two significant digits, rounded up: it is an estimate.

    Examples
    --------
    >>> about(1234), about(7)
    (1300, 7)
    """
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step
