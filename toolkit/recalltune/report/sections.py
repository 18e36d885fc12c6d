"""The thirteen sections of the report, each a function from a journey to markup.

A section that has nothing to show says why in a sentence; none is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from recalltune.charts.findings import TOO_FEW
from recalltune.evaluate.comparing import higher_is_better
from recalltune.evaluate.views import compare, label_of, slices
from recalltune.pipeline.address import value_text
from recalltune.replay.fate_views import loss_account
from recalltune.replay.fates import fates
from recalltune.report.casebook import case_book
from recalltune.report.compared import compared
from recalltune.report.html import (
    Content,
    Html,
    chart_image,
    el,
    join,
    lines_of,
    long_text,
    section,
    table,
)
from recalltune.report.limits import limits
from recalltune.report.numbers import number, spread
from recalltune.report.picture import NO_CONTENDER, NO_SWEEP, Picture
from recalltune.report.story import Journey
from recalltune.report.terms import GLOSSARY
from recalltune.report.verdict import verdict
from recalltune.sweep.views import binding
from recalltune.version import VERSION, code_digest

__all__ = ["TITLES", "sections"]

TITLES: tuple[tuple[int, str], ...] = (
    (1, "Verdict"),
    (2, "What was compared"),
    (3, "Presets"),
    (4, "Where targets are lost"),
    (5, "The sweep"),
    (6, "Slices and age"),
    (7, "Layers, places and tokens"),
    (8, "Case book"),
    (9, "Parameters that do not bind"),
    (10, "What production will receive"),
    (11, "Limits"),
    (12, "Method and glossary"),
    (13, "Stamp and commands"),
)


def sections(journey: Journey, pictures: Sequence[Picture]) -> Html:
    """Return all sections; pictures go into the section they name."""
    makers = {
        1: verdict,
        2: compared,
        3: _presets,
        4: _lost,
        5: _sweep,
        6: _slices,
        7: _layers,
        8: _cases,
        9: _unbound,
        10: _production,
        11: limits,
        12: _method,
        13: _stamp,
    }
    return join(
        section(
            number,
            title,
            makers[number](journey, [_figure(p) for p in pictures if p.section == number]),
        )
        for number, title in TITLES
    )


def _figure(picture: Picture) -> Html:
    if picture.chart is None:
        return el("p", f"No chart here. {picture.why}", class_="note")
    return chart_image(picture.spec, picture.svg)


def _presets(journey: Journey, figures_: Sequence[Html]) -> Html:
    metrics = [*journey.default.metrics, "passed", "tokens"]
    frame = compare(journey.results, metrics)
    rows = [
        [
            row["metric"],
            row["row"],
            spread(row["value"], row["lo"], row["hi"], row["name"]),
            spread(row["diff"], row["diff_lo"], row["diff_hi"], row["name"], sign=True),
            str(row["n"]),
        ]
        for row in sorted(frame.to_dicts(), key=lambda r: metrics.index(r["name"]))
    ]
    heads = ["metric", "setting", "mean", f"difference to {journey.default_name}", "n"]
    caption = "Means and paired differences with 95 % intervals over whole sessions, not corrected"
    return join([*figures_, table(heads, rows, caption=caption, numeric=(2, 3, 4))])


def _lost(journey: Journey, figures_: Sequence[Html]) -> Html:
    rows = []
    runs = {journey.default_name: journey.default.config}
    if journey.contender_config is not None:
        runs[journey.contender_name] = journey.contender_config
    for name, config in runs.items():
        account = loss_account(fates(journey.candidates, config), config)
        for row in account.iter_rows(named=True):
            rows.append(
                [
                    name,
                    row["stage"],
                    str(row["alive"]),
                    str(row["lost"]),
                    row["reason"] if row["lost"] else "",
                ]
            )
    told = el(
        "p",
        "A target is counted at the first step that loses it. What the arms do not propose no "
        "ranking can bring back; what selection drops, a better order or more places could show.",
    )
    heads = ["setting", "step", "left", "lost here", "why"]
    return join([*figures_, told, table(heads, rows, numeric=(2, 3))])


def _sweep(journey: Journey, figures_: Sequence[Html]) -> Html:
    sweep, choice = journey.sweep, journey.choice
    if sweep is None or choice is None:
        return el("p", NO_SWEEP)
    parts: list[Content] = [
        el(
            "p",
            f"{sweep.points.height:,} settings that rank differently ({sweep.merged:,} more rank "
            f"like one of them), each scored on {sweep.cases.height:,} tuning cases. "
            f"{len(choice.decision.ties):,} cannot be told from the best (the tie set).",
        )
    ]
    rows = [
        [
            address,
            ", ".join(value_text(v) for v in values),
            ", ".join(value_text(v) for v in choice.tie_ranges.get(address, [])),
        ]
        for address, values in sweep.space.axes.items()
    ]
    parts.append(
        table(["axis", "values tried", "values inside the tie set"], rows,
              caption="What was tried, and which values the cases cannot tell apart from the best")
    )  # fmt: skip
    return join([*parts, *figures_])


def _slices(journey: Journey, figures_: Sequence[Html]) -> Html:
    if journey.contender is None:
        return join([el("p", NO_SWEEP if journey.sweep is None else NO_CONTENDER), *figures_])
    frame = slices(journey.default, journey.contender, journey.metric)
    rows = [
        [
            row["slice"],
            number(row["mean_a"]),
            number(row["mean_b"]),
            spread(row["diff"], row["lo"], row["hi"], journey.metric, sign=True),
            str(row["n"]),
            _slice_verdict(row, journey.metric),
        ]
        for row in frame.to_dicts()
    ]
    name = label_of(journey.metric)
    heads = ["slice", "current default", journey.contender_name, "difference", "n", "reads"]
    told = el(
        "p",
        f"{name} of the {journey.contender_name} setting against the current default. In sample: "
        "the slices hold the tuning cases too. Intervals are not corrected for the number of "
        "slices.",
    )
    return join([told, table(heads, rows, numeric=(1, 2, 3, 4)), *figures_])


def _slice_verdict(row: Mapping[str, Any], metric: str) -> str:
    if row["n"] < TOO_FEW:
        return "too few cases to compare"
    lo, hi = row["lo"], row["hi"]
    better = higher_is_better(metric)
    if lo > 0:
        return "gains" if better else "costs"
    if hi < 0:
        return "costs" if better else "gains"
    return "cannot be told apart"


def _layers(journey: Journey, figures_: Sequence[Html]) -> Html:
    rows = []
    for name, run in journey.runs.items():
        total = run.accounts.group_by("layer").agg(
            pl.col("candidates", "picked", "oversize", "tokens").sum(),
            pl.len().alias("cases"),
            ((pl.col("candidates") > 0) & (pl.col("picked") == 0)).sum().alias("empty"),
        )
        for row in total.sort("layer").iter_rows(named=True):
            rows.append(
                [
                    name,
                    row["layer"],
                    f"{row['picked'] / row['cases']:.2f}",
                    f"{row['tokens'] / row['cases']:,.0f}",
                    f"{row['empty']} of {row['cases']}",
                    f"{row['oversize']:,}",
                ]
            )
    heads = ["setting", "layer", "places a case", "tokens a case",
             "shows none although it has candidates", "over the budget"]  # fmt: skip
    return join([table(heads, rows, numeric=(2, 3, 4, 5)), *figures_])


def _cases(journey: Journey, figures_: Sequence[Html]) -> Html:
    told = (
        "Cases whose verdict changes come first, then those whose first target moves furthest. "
        "Texts are cut at 240 columns; characters that are not printed stand as named boxes."
    )
    return join([*figures_, el("p", told), case_book(journey)])


def _unbound(journey: Journey, figures_: Sequence[Html]) -> Html:
    if journey.sweep is None:
        return el("p", NO_SWEEP)
    frame = binding(journey.sweep, journey.metric)
    dead = frame.filter(pl.col("changed") == 0)["address"].to_list()
    told = (
        f"These change {label_of(journey.metric)} on no case: {', '.join(dead)}."
        if dead
        else f"Every axis changes {label_of(journey.metric)} on some case."
    )
    rows = [
        [
            row["address"],
            row["values"],
            f"{row['changed']} of {row['cases']}",
            f"{row['largest']:.3f}",
        ]
        for row in frame.sort("largest", "address", descending=[True, False]).to_dicts()
    ]
    heads = ["axis", "values", "cases that ever change", "largest change of the mean"]
    return join([el("p", told), table(heads, rows, numeric=(2, 3)), *figures_])


def _production(journey: Journey, figures_: Sequence[Html]) -> Html:
    del figures_
    if not journey.exported:
        return el("p", "Nothing was exported in this run; see the commands below.")
    told = el(
        "p",
        "Values that change in the production file, and what it cannot take. Untouched bytes of "
        "the file stay as they were; the file before the change is kept beside it.",
    )
    return join([told, lines_of(line for text in journey.exported for line in text.split("\n"))])


def _method(journey: Journey, figures_: Sequence[Html]) -> Html:
    del figures_
    kinds = {stage.kind for run in journey.runs.values() for stage in run.config.stages}
    shown = [(name, told) for name, key, told in GLOSSARY if not key or key in kinds]
    return el("dl", *(join([el("dt", name), el("dd", long_text(told))]) for name, told in shown))


def _stamp(journey: Journey, figures_: Sequence[Html]) -> Html:
    del figures_
    candidates = journey.candidates
    rows = [
        ["library", f"recalltune {VERSION}, code {code_digest()}"],
        ["data", candidates.stamp.data],
        ["encoder", candidates.stamp.encoder],
        ["vectors", candidates.stamp.vectors or "none"],
        *([f"config {name}", run.config.fingerprint] for name, run in journey.runs.items()),
    ]
    if journey.sweep is not None:
        rows.append(["sweep", journey.sweep.sweep_id])
    parts: list[Content] = [table(["what", "fingerprint"], rows)]
    if journey.commands:
        parts.append(el("h3", "Commands to repeat this"))
        parts.append(lines_of(journey.commands))
    return join(parts)
