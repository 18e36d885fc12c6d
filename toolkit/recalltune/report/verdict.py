"""Section 1: what was decided, at what gain, at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from recalltune.charts import figures
from recalltune.evaluate.views import label_of
from recalltune.pipeline.address import effective, value_text
from recalltune.pipeline.config import RankingConfig
from recalltune.report.decision_table import cost_lines, cost_of
from recalltune.report.html import Content, Html, el, join, long_text, table
from recalltune.report.picture import NO_SWEEP
from recalltune.report.story import Journey

__all__ = ["verdict"]

INTRODUCTION = (
    "An agent is asked something and recalls a few memories out of many. This page compares ways "
    "of ranking them on questions whose right memories are known, each asked against the memory "
    "as it stood at that moment."
)

UNCONFIRMED = (
    "The gain is beyond noise on the tuning cases, also after allowing for every setting looked "
    "at. The held-out cases alone do not confirm it: their interval holds 0."
)


def verdict(journey: Journey, figures_: Sequence[Html]) -> Html:
    """Return the content of the section."""
    choice = journey.choice
    if choice is None:
        word = "No decision"
        told = f"{NO_SWEEP} The page describes the current default only."
    else:
        word = "Change the default" if journey.changed else "Keep the default"
        if choice.decision.verdict == "few_clusters":
            word = "Cannot decide"
        told = choice.sentence()
    parts: list[Content] = [
        el("p", INTRODUCTION, class_="note"),
        el("p", word, class_="verdict"),
        el("p", long_text(told)),
        el("div", *_cards(journey), class_="cards"),
    ]
    held = None if choice is None else choice.heldout
    if journey.changed and held is not None and not held.beyond_noise:
        parts.append(el("p", UNCONFIRMED))
    if choice is not None and choice.changes:
        rows = [
            [address, _in_effect(choice.default, address, old), value_text(new)]
            for address, (old, new) in choice.changes.items()
        ]
        parts.append(table(["parameter that changes", "current default", "chosen"], rows))
    if journey.changed and journey.contender is not None:
        lines = cost_lines(cost_of(journey.default, journey.contender, journey.metric))
        parts.append(el("h3", "What it costs, on the tuning cases"))
        parts.append(el("ul", *(el("li", long_text(line)) for line in lines)))
    parts.append(el("p", f"Stamp: {_fingerprints(journey)}", class_="stamp"))
    return join([*parts, *figures_])


def _in_effect(config: RankingConfig, address: str, value: Any) -> str:
    # Entries of a mapping (a weight of 1, a floor of 0) are left out as the rule, not unread.
    scalar = address.count(".") == 1
    if scalar and effective(config, address) is None and value is not None:
        return f"{value_text(value)}, not in use"
    return value_text(value)


def _cards(journey: Journey) -> list[Html]:
    """Quality, tokens, flips: the three numbers of the verdict."""
    held = journey.choice.heldout if journey.choice else None
    cards = []
    name = label_of(journey.metric)
    if held is not None and journey.changed:
        cards.append(
            _card(
                f"{held.mean_a:.3f} → {held.mean_b:.3f}",
                f"{name} on {held.n} held-out cases: {figures.signed(held.mean)} {held.interval()}",
            )
        )
    else:
        where = f"{held.n} held-out" if held else f"{journey.default.cases.height}"
        value = held.mean_a if held else journey.default.value(journey.metric)
        cards.append(_card(f"{value:.3f}", f"{name} of the current default on {where} cases"))
    tokens = journey.change("tokens")
    before = journey.default.value("tokens")
    if tokens is not None and tokens.diff is not None and journey.changed:
        cards.append(
            _card(
                f"{before:,.0f} → {before + tokens.diff:,.0f}",
                f"tokens a query: {figures.signed(tokens.diff, decimals=0)} "
                f"{figures.bounds(tokens.lo, tokens.hi, decimals=0)}",
            )
        )
    else:
        cards.append(_card(f"{before:,.0f}", "tokens a query under the current default"))
    if journey.flips is not None and journey.changed:
        gained = journey.flips.filter(~pl.col("passed_a") & pl.col("passed_b")).height
        lost = journey.flips.filter(pl.col("passed_a") & ~pl.col("passed_b")).height
        cards.append(
            _card(
                f"▲ {gained}   ▼ {lost}", "cases that pass now and failed before, and the reverse"
            )
        )
    else:
        passed = int(journey.default.cases["passed"].sum() or 0)
        total = journey.default.cases.height
        cards.append(_card(f"{passed} of {total}", "cases passed by the current default"))
    return cards


def _card(number: str, told: str) -> Html:
    return el("div", el("strong", number), el("span", told), class_="card")


def _fingerprints(journey: Journey) -> str:
    told = [f"default {journey.default.config.fingerprint}"]
    if journey.contender_config is not None:
        told.append(f"{journey.contender_name} {journey.contender_config.fingerprint}")
    told.append(str(journey.stamp()))
    return ", ".join(told)
