"""What rereading buys: cases answered by the originals and not by the gists, and their characters.

In: a lab, a candidate table of cases that expect words, a config that ends in a block, budgets.
Out: per budget and case the two blocks' lengths and whether each answers; and their summary.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.clusters import sessions_of
from recalltune.evaluate.paired import paired
from recalltune.evaluate.verdict import terms_found
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import run
from recalltune.pipeline.stages.hel847 import Block
from recalltune.replay.reread import reread
from recalltune.store import Lab

__all__ = ["block_of", "gain_summary", "reread_gain"]

_GAIN = {
    "budget_chars": pl.Int64,
    "query_id": pl.String,
    "session": pl.String,
    "chars_before": pl.Int64,
    "chars": pl.Int64,
    "answered_before": pl.Boolean,
    "answered": pl.Boolean,
    "read": pl.Int64,
    "withheld": pl.Int64,
    "too_long": pl.Int64,
}


def block_of(config: RankingConfig) -> Block:
    """Return the block that a config ends in.

    Raises
    ------
    ContractError
        If its last stage is another one.
    """
    last = config.stages[-1]
    if not isinstance(last, Block):
        message = f"config {config.name} must end in a block to be read again, got {last.kind}"
        raise ContractError(message)
    return last


def reread_gain(
    lab: Lab, candidates: Candidates, config: RankingConfig, *, budgets_chars: Sequence[int]
) -> pl.DataFrame:
    """Pack each case's block under each budget, with and without originals.

    Parameters
    ----------
    lab
        The lab that the candidates come from.
    candidates
        Cases; those that expect no words (``expectContentAny``) are left out.
    config
        Ends in a block, whose budget is replaced by each of these.
    budgets_chars
        Characters, >= 0, for header and lines.

    Returns
    -------
    pl.DataFrame
        budget_chars, query_id, session, chars_before, chars, answered_before, answered (a word
        the case expects stands in the block), read, withheld, too_long (messages). By budget and
        case.

    Raises
    ------
    ContractError
        If the config does not end in a block.
    ParameterError
        If no case expects words.
    """
    block = block_of(config)
    wanted = {
        query_id: candidates.expectations.get(query_id, {}).get("expectContentAny", [])
        for query_id in candidates.queries["query_id"].to_list()
    }
    if not any(wanted.values()):
        raise ParameterError("no case expects words (expectContentAny), so none can gain any")
    sessions = sessions_of(candidates.queries)
    rows = []
    for budget in budgets_chars:
        packed = block.with_(budget_chars=budget)
        order = run(candidates, config.with_(stages=(*config.stages[:-1], packed))).listed()
        for row, (query_id, words) in enumerate(wanted.items()):
            if not words:
                continue
            found = reread(lab, candidates, order, row, packed)
            counted = dict(found.account.group_by("outcome").agg(pl.col("n").sum()).iter_rows())
            before, after = (any(terms_found(words, [one])) for one in (found.before, found.text))
            told = [counted.get(name, 0) for name in ("read", "withheld", "too long")]
            sizes = (len(found.before), len(found.text))
            rows.append((budget, query_id, sessions[row], *sizes, before, after, *told))
    return pl.DataFrame(rows, schema=_GAIN, orient="row")


def gain_summary(gain: pl.DataFrame) -> pl.DataFrame:
    """Return one row a budget: what was answered, and at what price.

    Parameters
    ----------
    gain
        From `reread_gain`.

    Returns
    -------
    pl.DataFrame
        budget_chars; n cases; answered_before, answered (share); gained (cases); chars_before,
        chars (mean of a block); per_100_chars (answers gained per 100 characters spent, null
        where none are spent); diff, lo, hi (share answered, paired, 95 % over sessions).
    """
    rows = []
    for (budget,), cases in gain.group_by("budget_chars", maintain_order=True):
        before, after, chars_before, chars = (
            cases[name].cast(pl.Float64).to_numpy()
            for name in ("answered_before", "answered", "chars_before", "chars")
        )
        difference = paired(after - before, cases["session"].to_list())
        gained, spent = round(float((after - before).sum())), float((chars - chars_before).sum())
        rows.append(
            {
                "budget_chars": budget,
                "n": cases.height,
                "answered_before": float(before.mean()),
                "answered": float(after.mean()),
                "gained": gained,
                "chars_before": float(chars_before.mean()),
                "chars": float(chars.mean()),
                "per_100_chars": 100 * gained / spent if spent > 0 else None,
                "diff": difference.diff,
                "lo": difference.lo,
                "hi": difference.hi,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)
