"""The whole account of what binds in a config, and its lines for the shell.

In: a lab, a case set, a config. Out: every parameter with its verdict, what stands outside the
scale of its scores, rows no query can find, whether a question can be answered with nothing, what
one arm can turn round, and how much of what is shown is untrusted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recalltune.candidates.build import candidates
from recalltune.candidates.ledger import Hop, degradations
from recalltune.candidates.table import Candidates, Stamp
from recalltune.encode import Encoder
from recalltune.evaluate.cautions import UNTRUSTED, cautions
from recalltune.evaluate.shown import rank
from recalltune.pipeline.attainable import ghosts
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.scales import scale_notices
from recalltune.report.terminal import degraded_lines, notice_lines, table_lines
from recalltune.report.text import plain
from recalltune.store import Lab
from recalltune.sweep.abstain import TOGETHER, abstention
from recalltune.sweep.bind import bind
from recalltune.sweep.leads import leads

__all__ = ["BindingAccount", "account_of", "binding_lines"]

_COLUMNS = 100
_BESIDE = 52
"""Columns of a line that neither the parameter nor its value takes."""


@dataclass(frozen=True, eq=False)
class BindingAccount:
    """What binds in one config on one case set, and what does not."""

    config: RankingConfig
    stamp: Stamp
    cases: int
    parameters: pl.DataFrame
    """From `bind`."""
    degraded: tuple[Hop, ...]
    """What the candidates had to do without."""
    notices: tuple[str, ...]
    """From `scale_notices`."""
    ghosts: pl.DataFrame
    """From `ghosts`."""
    abstention: pl.DataFrame
    """From `abstention`."""
    leads: pl.DataFrame
    """From `leads`."""
    shown: int
    """Items in all lists."""
    untrusted: int
    """Items shown whose origin is untrusted."""

    def record(self) -> dict[str, Any]:
        """Return everything as plain values; a bound that is infinite is null."""
        finite = [
            pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name)
            for name in ("low", "high")
        ]
        return {
            "config": self.config.fingerprint,
            "data": self.stamp.data,
            "encoder": self.stamp.encoder,
            "cases": self.cases,
            "parameters": self.parameters.with_columns(finite).to_dicts(),
            "degraded": [hop.reason for hop in self.degraded],
            "notices": list(self.notices),
            "ghosts": self.ghosts.to_dicts(),
            "abstention": self.abstention.to_dicts(),
            "leads": self.leads.to_dicts(),
            "shown": self.shown,
            "untrusted": self.untrusted,
        }


def account_of(
    lab: Lab,
    cases: str,
    config: RankingConfig,
    *,
    encoder: Encoder | str | None = None,
    most_queries: int | None = None,
) -> BindingAccount:
    """Return the whole account for one config and case set; parameters as in `bind`."""
    table: Candidates = candidates(lab, cases, config, encoder=encoder)
    shown = rank(table, config)
    return BindingAccount(
        config=config,
        stamp=table.stamp,
        cases=table.queries.height,
        parameters=bind(lab, config, cases=cases, encoder=encoder, most_queries=most_queries),
        degraded=tuple(degradations(table)),
        notices=tuple(str(notice) for notice in scale_notices(config)),
        ghosts=ghosts(table, config),
        abstention=abstention(table, config),
        leads=leads(table, config),
        shown=int(np.count_nonzero(shown.order >= 0)),
        untrusted=cautions(table, config, shown.order, shown.score, ())[UNTRUSTED],
    )


def binding_lines(account: BindingAccount) -> list[str]:
    """Lay the account out in lines of at most 100 columns."""
    config, stamp = account.config, account.stamp
    head = (
        f"{config.name}   config {config.fingerprint}   data {stamp.data}   {account.cases} cases"
    )
    return [
        plain(head, columns=_COLUMNS),
        *degraded_lines(account.degraded),
        *table_lines(_shown(account.parameters), limit=account.parameters.height),
        *_sampled(account),
        *_why_not(account.parameters),
        *notice_lines(account.notices),
        *_ghost_lines(account.ghosts),
        *_abstention_lines(account.abstention),
        *_lead_lines(account.leads),
        f"untrusted: {account.untrusted:,} of {account.shown:,} items shown",
    ]


def _shown(parameters: pl.DataFrame) -> pl.DataFrame:
    """The columns that fit beside one another; shares in percent."""
    longest = max((len(address) for address in parameters["address"].to_list()), default=0)
    return parameters.select(
        pl.col("address").alias("parameter"),
        pl.col("value").str.slice(0, max(_COLUMNS - _BESIDE - longest, 4)),
        *(pl.col(name).round(2) for name in ("low", "high")),
        *((100 * pl.col(name)).round(1).alias(f"{name} %") for name in ("lists", "reach")),
        pl.col("verdict").replace("always saturates", "saturates"),
    )


def _sampled(account: BindingAccount) -> Iterator[str]:
    """Say which shares are of fewer queries than there are."""
    few = account.parameters.filter(pl.col("queries") < account.cases)
    for (queries,), some in few.group_by("queries", maintain_order=True):
        first = some["address"][0]
        yield plain(
            f"{some.height} parameters, {first} and on: shares of {queries} evenly spaced queries",
            columns=_COLUMNS,
        )


def _why_not(parameters: pl.DataFrame) -> Iterator[str]:
    tried = parameters.filter(pl.col("verdict") != "not tried").height
    for head, verdicts in {
        f"of {tried} parameters never bind": ["never binds"],
        "not seen to bind in a sample of the queries": ["not seen to bind"],
        "bind on one side only": ["always saturates", "binds above"],
        "not tried": ["not tried"],
    }.items():
        some = parameters.filter(pl.col("verdict").is_in(verdicts))
        if some.height or verdicts == ["never binds"]:
            yield f"{some.height} {head}:"
            yield from _by_reason(some)


def _by_reason(some: pl.DataFrame) -> Iterator[str]:
    for (reason,), alike in some.group_by("reason", maintain_order=True):
        yield from _wrapped(f"{reason}: {', '.join(alike['address'])}")


def _ghost_lines(found: pl.DataFrame) -> Iterator[str]:
    for (stage,), some in found.group_by("stage", maintain_order=True):
        total = some.filter(pl.col("category") == "all").row(0, named=True)
        told = (
            f"structural ghosts of {stage}: {total['ghosts']:,} of {total['rows']:,} candidates "
            f"({total['share']:.1%}) stay below their minimum however well they match, "
            f"{total['ghost_memories']:,} of {total['memories']:,} memories always"
        )
        parts = some.filter((pl.col("category") != "all") & (pl.col("ghosts") > 0))
        by = ", ".join(f"{row['category']} {row['share']:.1%}" for row in parts.to_dicts())
        yield from _wrapped(f"{told}; by category: {by}" if by else told, indent="")


def _abstention_lines(found: pl.DataFrame) -> Iterator[str]:
    together = found.filter(pl.col("address") == TOGETHER).row(0, named=True)
    most = max(found["empty_at_most"].to_list())
    which = "questions with nothing to find" if together["kind"] else "questions, whatever kind,"
    yield from _wrapped(
        f"abstaining: of {together['cases']} {which} {together['empty']:.0%}"
        f" get an empty list; with any minimum at any value {most:.0%} at most",
        indent="",
    )


def _lead_lines(found: pl.DataFrame) -> Iterator[str]:
    """One place in an arm against a lead of one place, no deeper than its own."""
    for row in found.filter(pl.col("places") == "1, no deeper").to_dicts():
        yield from _wrapped(
            f"leads: one place of {row['arm']} against one of {row['against']} that is no deeper: "
            f"{row['flipped']:,} of {row['pairs']:,} flip, {row['tied']:,} tie",
            indent="",
        )


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    lines = textwrap.wrap(text, _COLUMNS, initial_indent=indent, subsequent_indent=f"{indent}  ")
    return [plain(line, columns=_COLUMNS) for line in lines]
