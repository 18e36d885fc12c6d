"""decision: the last cell of a notebook. A comparison in; a table to read and a checked file out.

The verdict is computed, never typed. Three things are refused: a change whose corrected interval
holds 0 and that saves nothing; a quality claim from cases that were tuned on without the words
*in sample*; a decision over runs whose data, cases or encoder differ.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from recalltune.charts import figures
from recalltune.charts.findings import TOO_FEW
from recalltune.errors import ContractError, ParameterError, checked
from recalltune.evaluate.comparing import check_comparable
from recalltune.evaluate.run import Evaluation
from recalltune.evaluate.views import label_of, slices
from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import RankingConfig
from recalltune.production.replacing import write_private
from recalltune.report.decision_record import (
    Cost,
    DecisionRecord,
    Effect,
    NotDecided,
    ParameterChange,
    Verdict,
)
from recalltune.report.decision_table import cost_of, decision_rows, decision_table
from recalltune.report.effects import allowed_verdict, effect_of_choice, effect_of_runs
from recalltune.sweep.choose import Choice
from recalltune.sweep.engine import SweepResult
from recalltune.sweep.views import binding
from recalltune.version import code_digest

__all__ = ["DecisionCard", "decision"]

IN_SAMPLE = "in sample"
# Where a claim speaks of quality, in the languages notebooks are written in.
_QUALITY = (
    "gain", "better", "improv", "rais", "higher", "lower", "cost", "lose", "wors", "更好", "提高",
)  # fmt: skip


@dataclass(frozen=True)
class DecisionCard:
    """A decision as a notebook shows it, with the file it was written to."""

    record: DecisionRecord
    path: Path

    def _repr_html_(self) -> str:
        return str(decision_table(self.record))

    def __str__(self) -> str:
        rows = decision_rows(self.record)
        return "\n".join(f"{name:<16}{line}" for name, lines in rows for line in lines)

    __repr__ = __str__


def decision(
    question: str,
    *,
    number: int | str,
    would_change_it: str,
    choice: Choice | None = None,
    default: Evaluation | None = None,
    chosen: Evaluation | None = None,
    sweep: SweepResult | None = None,
    metric: str = "ndcg@10",
    verdict: Verdict | None = None,
    claim: str = "",
    tuned_on: bool | None = None,
    settings_looked_at: int = 1,
    notebook: str = "",
    out: str | Path = "out",
) -> DecisionCard:
    """Decide, say on what evidence, and write ``<out>/decisions/NN.json``.

    Give a ``choice`` from a sweep, two evaluations to compare, or both (the evaluations then
    give the costs). With neither, the decision is about data or procedure: it is *keep* or
    *cannot decide*, as ``verdict`` says.

    Parameters
    ----------
    question
        What the notebook asks.
    number
        Of the notebook; names the file.
    would_change_it
        The observation that would reverse the decision, and where it would be seen.
    choice
        From `choose`; the corrected evidence.
    default, chosen
        Evaluations of the current default and of what is proposed, on the same cases.
    sweep
        The sweep behind the choice; names the parameters that do not bind.
    metric
        The metric that decides, where there is no choice.
    verdict
        Only to be more careful than the evidence: *keep* or *cannot decide* instead of *change*.
    claim
        A sentence of the notebook's own; by default it is computed.
    tuned_on
        Whether the compared cases were tuned on; by default yes with a choice that has no
        held-out result, and where more than one setting was looked at.
    settings_looked_at
        Without a choice: how many settings the proposed one was picked from. The interval is
        widened to level 1 - 0.05 / settings.
    notebook
        File name, for the stamp.
    out
        Folder of the run.

    Returns
    -------
    DecisionCard
        Shows itself as a table; ``record`` and ``path`` hold the rest.

    Raises
    ------
    ParameterError
        If the verdict or claim says more than the evidence.
    ContractError
        If runs differ in data, cases or encoder.
    """
    if (default is None) != (chosen is None):
        raise ParameterError("give both evaluations, default and chosen, or neither")
    if default is not None and chosen is not None:
        check_comparable(default, chosen)
    if choice is not None:
        _check_same_story(choice, default, chosen, sweep)
    deciding = choice.metric if choice else metric
    effect = None if choice is None else effect_of_choice(choice)
    cost = Cost()
    if default is not None and chosen is not None:
        cost = cost_of(default, chosen, deciding)
        effect = effect or effect_of_runs(
            default, chosen, metric, tuned_on=tuned_on, settings_looked_at=settings_looked_at
        )
    allowed = allowed_verdict(choice, effect, cost)
    final = _final(verdict, allowed, has_evidence=effect is not None)
    record = checked(
        DecisionRecord,
        {
            "number": f"{number:02d}" if isinstance(number, int) else number,
            "question": question,
            "verdict": final,
            "claim": _claim(claim, final, choice, effect, verdict),
            "changes": tuple(_changes(choice, default, chosen)) if final == "change" else (),
            "effect": effect,
            "cost": cost,
            "not_decided": _open(choice, default, chosen, sweep, deciding),
            "would_change_it": would_change_it,
            "stamp": _stamp(choice, default, chosen, notebook),
        },
        where="decision",
    )
    folder = Path(out) / "decisions"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps(record.model_dump(mode="json"), ensure_ascii=False, indent=2, allow_nan=False)
    return DecisionCard(record, write_private(folder / f"{record.number}.json", text + "\n"))


def _check_same_story(
    choice: Choice,
    default: Evaluation | None,
    chosen: Evaluation | None,
    sweep: SweepResult | None,
) -> None:
    for name, run, config in (
        ("default", default, choice.default),
        ("chosen", chosen, choice.chosen),
    ):
        if run is None:
            continue
        if run.config.fingerprint != config.fingerprint:
            message = (
                f"{name} is config {run.config.fingerprint}, the choice speaks of "
                f"{config.fingerprint}; evaluate choice.{name}"
            )
            raise ContractError(message)
        for what, mine, theirs in (
            ("data", run.stamp.data, choice.stamp["data"]),
            ("encoder", run.stamp.encoder, choice.stamp["encoder"]),
        ):
            if mine != theirs:
                message = f"{name} was run with {what} {mine}, the choice with {theirs}"
                raise ContractError(message)
    if sweep is not None and sweep.sweep_id != choice.sweep_id:
        message = f"the choice comes from sweep {choice.sweep_id}, got sweep {sweep.sweep_id}"
        raise ContractError(message)


def _final(verdict: Verdict | None, allowed: Verdict, *, has_evidence: bool) -> Verdict:
    if verdict is None:
        if not has_evidence:
            raise ParameterError(
                "without a comparison the verdict must be given: 'keep' or 'cannot decide'"
            )
        return allowed
    if verdict == "change" and allowed != "change":
        message = (
            "verdict must not be 'change': the corrected interval holds 0 and no cost is saved; "
            f"nearest: {allowed!r}"
        )
        raise ParameterError(message)
    if verdict not in ("keep", "change", "cannot decide"):
        message = f"verdict must be keep, change or cannot decide, got {verdict!r}"
        raise ParameterError(message)
    return verdict


def _claim(
    claim: str,
    final: Verdict,
    choice: Choice | None,
    effect: Effect | None,
    verdict: Verdict | None,
) -> str:
    if not claim:
        told = choice.sentence() if choice is not None and verdict is None else ""
        claim = told or _sentence(final, effect)
    tuned = effect is not None and effect.basis == IN_SAMPLE
    speaks = any(word in claim.casefold() for word in _QUALITY)
    if tuned and speaks and choice is None and IN_SAMPLE not in claim.casefold():
        message = (
            "claim speaks of quality on cases that were tuned on and must say 'in sample', "
            f"got {claim[:80]!r}"
        )
        raise ParameterError(message)
    if tuned and choice is not None and choice.changes and IN_SAMPLE not in claim.casefold():
        message = f"nothing was held out, so the claim must say 'in sample', got {claim[:80]!r}"
        raise ParameterError(message)
    return claim


def _sentence(final: Verdict, effect: Effect | None) -> str:
    if effect is None or effect.difference is None or effect.lo is None or effect.hi is None:
        return {"keep": "Nothing speaks against it.", "cannot decide": "The data do not say."}.get(
            final, ""
        )
    told = (
        f"{label_of(effect.metric)} {figures.signed(effect.difference)} "
        f"{figures.interval(effect.lo, effect.hi)}, n = {effect.n}"
    )
    tail = ", in sample" if effect.basis == IN_SAMPLE else ""
    return f"{told}{tail}."


def _changes(
    choice: Choice | None, default: Evaluation | None, chosen: Evaluation | None
) -> list[ParameterChange]:
    if choice is not None:
        pairs: Mapping[str, tuple[Any, Any]] = choice.changes
    elif default is not None and chosen is not None:
        pairs = _between(default.config, chosen.config)
    else:
        pairs = {}
    return [
        ParameterChange(address=address, default=old, chosen=new)
        for address, (old, new) in pairs.items()
    ]


def _between(default: RankingConfig, chosen: RankingConfig) -> dict[str, tuple[Any, Any]]:
    before, after = addresses(default), addresses(chosen)
    return {
        address: (before.get(address), after.get(address))
        for address in [*before, *(a for a in after if a not in before)]
        if before.get(address) != after.get(address)
        and not isinstance(after.get(address, before.get(address)), Mapping)
    }


def _open(
    choice: Choice | None,
    default: Evaluation | None,
    chosen: Evaluation | None,
    sweep: SweepResult | None,
    metric: str,
) -> NotDecided:
    small: Sequence[str] = ()
    if default is not None and chosen is not None:
        frame = slices(default, chosen, metric).filter(pl.col("n") < TOO_FEW)
        small = [f"{row['by']} {row['slice']} (n = {row['n']})" for row in frame.to_dicts()]
    dead: Sequence[str] = ()
    if sweep is not None:
        dead = binding(sweep, metric).filter(pl.col("changed") == 0)["address"].to_list()
    return NotDecided(
        tie_set=None if choice is None else len(choice.decision.ties),
        tie_ranges={} if choice is None else choice.tie_ranges,
        not_binding=tuple(dead),
        small_slices=tuple(small),
        cases_needed=None if choice is None else choice.decision.evidence.cases_needed,
    )


def _stamp(
    choice: Choice | None, default: Evaluation | None, chosen: Evaluation | None, notebook: str
) -> dict[str, str]:
    stamp = {"code": code_digest()}
    if choice is not None:
        stamp |= {**choice.stamp, "sweep": choice.sweep_id}
    if default is not None and chosen is not None:
        stamp |= {
            "config_default": default.config.fingerprint,
            "config_chosen": chosen.config.fingerprint,
            "data": default.stamp.data,
            "encoder": default.stamp.encoder,
            "cases": f"{default.cases.height} cases",
        }
    if notebook:
        stamp["notebook"] = notebook
    # The clock is not read: a date stands here only where the build was given one.
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        if not epoch.isdecimal():
            message = f"SOURCE_DATE_EPOCH must be whole seconds since 1970, got {epoch[:40]!r}"
            raise ParameterError(message)
        stamp["date"] = f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%d}"
    return stamp
