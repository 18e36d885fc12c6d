"""Looks at the held-out cases: each decision scored on them is kept, and counted.

A held-out part proves something for the decision it was kept for. Every further decision scored on
the same cases spends some of that, so the lab remembers them; the same decision is one look.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from recalltune.candidates.table import Candidates
from recalltune.evaluate.run import Evaluation, in_split
from recalltune.pipeline.config import RankingConfig, digest
from recalltune.store import Lab, Run, read_table, write_run
from recalltune.sweep.choose import Choice
from recalltune.version import code_digest

__all__ = ["record_evaluation", "record_look"]

_KIND = "held_out"


def record_look(lab: Lab, choice: Choice, candidates: Candidates) -> int:
    """Keep that a decision was scored on the held-out cases; return how many have been by now.

    Parameters
    ----------
    lab
        An open lab.
    choice
        From `choose`, with its held-out result.
    candidates
        The whole table it was scored on.

    Returns
    -------
    int
        Different decisions (metric, default, chosen) and evaluations scored on these very cases,
        this one included; 0 where nothing was held out.
    """
    if choice.heldout is None:
        return 0
    decision = [choice.metric, choice.default.fingerprint, choice.chosen.fingerprint]
    return _counted(lab, candidates, choice.chosen, decision)


def record_evaluation(lab: Lab, run: Evaluation, candidates: Candidates) -> int:
    """Keep that held-out cases were evaluated; return how often they have been looked at by now.

    Parameters
    ----------
    lab
        An open lab.
    run
        From `evaluate`.
    candidates
        The whole table it was made from.

    Returns
    -------
    int
        As `record_look`; 0 where the run scored no held-out case.
    """
    if not (run.cases["split"] == "held_out").any():
        return 0
    return _counted(lab, candidates, run.config, ["evaluation", run.config.fingerprint])


def _counted(
    lab: Lab, candidates: Candidates, config: RankingConfig, decision: Sequence[str]
) -> int:
    held = in_split(candidates, "held_out").queries.sort("query_id")
    cases = digest(held.select("query_id", "text").rows(), digits=12)
    run = Run(
        run_id=f"{_KIND}-{digest([cases, *decision], digits=12)}",
        kind=_KIND,
        config=config.to_toml(),
        config_fingerprint=config.fingerprint,
        data_digest=candidates.stamp.data,
        encoder_id=candidates.stamp.encoder,
        code_version=code_digest(),
        settings={"cases": cases, "decision": list(decision)},
    )
    with lab.writing() as con:
        if not read_table(con, "run", run_id=run.run_id).height:
            write_run(con, run)
        looks = read_table(con, "run", kind=_KIND)["settings"].to_list()
    return sum(json.loads(settings)["cases"] == cases for settings in looks)
