"""The thirteen sections of the report, each a function from a journey to markup.

A section that has nothing to show says why in a sentence; none is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from recalltune.charts import figures
from recalltune.charts.findings import TOO_FEW
from recalltune.evaluate.paired import higher_is_better
from recalltune.evaluate.query_views import loss_stages
from recalltune.evaluate.views import compare, label_of, slices
from recalltune.pipeline.address import effective
from recalltune.pipeline.config import RankingConfig
from recalltune.report.casebook import case_book, moment
from recalltune.report.deciding import cost_lines, cost_of
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
from recalltune.report.pictures import NO_CONTENDER, NO_SWEEP, Picture
from recalltune.report.story import Journey
from recalltune.report.terms import GLOSSARY
from recalltune.sweep.views import binding
from recalltune.version import VERSION, code_digest

__all__ = ["TITLES", "sections"]

INTRODUCTION = (
    "An agent is asked something and recalls a few memories out of many. This page compares ways "
    "of ranking them on questions whose right memories are known, each asked against the memory "
    "as it stood at that moment."
)
COUNTED = {
    "untold_spans": "items nobody was told: withheld from everything",
    "untimed_candidates": "candidates without a date: no stage that looks at age moves them",
    "missing_salience": "candidates without a salience: their factor is 1",
    "future_timestamps": "candidates dated after the question: counted as age 0",
    "same_instant": "memories that appear at the very moment of a question: not seen by it",
    "cases_without_target": "cases that expect no memory: their ranking metrics are undefined",
    "labels_not_yet": "labels whose memory did not exist yet: they judge nothing",
    "empty_lists": "cases that are shown nothing",
    "zero_vectors": "memories without a direction: the dense arm never proposes them",
    "abstained_queries": "questions without a direction: lexical only",
    "dense_arm_missing": "no embedding model could run: lexical only",
}

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
        1: _verdict,
        2: _compared,
        3: _presets,
        4: _lost,
        5: _sweep,
        6: _slices,
        7: _layers,
        8: _cases,
        9: _unbound,
        10: _production,
        11: _limits,
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


def _verdict(journey: Journey, figures_: Sequence[Html]) -> Html:
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
    if choice is not None and choice.changes:
        rows = [
            [address, _in_effect(choice.default, address, old), _value(new)]
            for address, (old, new) in choice.changes.items()
        ]
        parts.append(table(["parameter that changes", "current default", "chosen"], rows))
    if journey.changed and journey.contender is not None:
        lines = cost_lines(cost_of(journey.default, journey.contender, journey.metric))
        parts.append(el("h3", "What it costs, on all cases"))
        parts.append(el("ul", *(el("li", long_text(line)) for line in lines)))
    parts.append(el("p", f"Stamp: {_fingerprints(journey)}", class_="stamp"))
    return join([*parts, *figures_])


def _in_effect(config: RankingConfig, address: str, value: Any) -> str:
    # Entries of a mapping (a weight of 1, a floor of 0) are left out as the rule, not unread.
    scalar = address.count(".") == 1
    if scalar and effective(config, address) is None and value is not None:
        return f"{_value(value)}, not in use"
    return _value(value)


def _cards(journey: Journey) -> list[Html]:
    """Quality, tokens, flips: the three numbers of the verdict."""
    held = journey.choice.heldout if journey.choice else None
    cards = []
    name = label_of(journey.metric)
    if held is not None and journey.changed:
        cards.append(
            _card(
                f"{held.mean_a:.3f} → {held.mean_b:.3f}",
                f"{name} on {held.n} held-out cases: {figures.signed(held.mean)} "
                f"{figures.interval(held.lo, held.hi)}",
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
                f"{_range(tokens.lo, tokens.hi, decimals=0)}",
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


def _compared(journey: Journey, figures_: Sequence[Html]) -> Html:
    queries = journey.candidates.queries
    asked = queries["asked_at"].drop_nulls().to_list()
    parts: list[Content] = [_imported(journey)]
    spans = journey.candidates.spans
    parts.append(
        el(
            "p",
            f"{spans['memory_id'].n_unique():,} memories that somebody was told, "
            f"{queries.height:,} eval cases"
            + (f" asked from {moment(min(asked))} to {moment(max(asked))}." if asked else "."),
        )
    )
    parts += figures_
    counted = (
        queries.with_columns(pl.col("kind", "lang").fill_null("not said"))
        .group_by("kind", "lang")
        .agg(pl.len().alias("n"))
    )
    langs = sorted(counted["lang"].unique().to_list())
    known = {(kind, lang): n for kind, lang, n in counted.iter_rows()}
    kinds = sorted({kind for kind, _ in known})
    rows = [[kind, *(str(known.get((kind, lang), 0)) for lang in langs)] for kind in kinds]
    parts.append(
        table(
            ["kind of case", *langs], rows,
            caption="Eval cases by kind and language", numeric=range(1, len(langs) + 1),
        )
    )  # fmt: skip
    rows = [
        [name, run.config.fingerprint, _arms(run.config), str(len(run.config.stages))]
        for name, run in journey.runs.items()
    ]
    parts.append(table(["setting", "config", "arms", "stages"], rows, caption="Settings compared"))
    seen = [
        [COUNTED.get(name, name.replace("_", " ")), f"{n:,}"]
        for name, n in journey.default.counts.items()
        if n
    ]
    if seen:
        parts.append(
            table(["counted, not hidden", "n"], seen, numeric=(1,),
                  caption="What was clamped, missing or withheld")
        )  # fmt: skip
    return join(parts)


def _imported(journey: Journey) -> Html:
    report = journey.imported
    if report is None:
        return el("p", "The lab had been filled before; what its import dropped stands in the lab.",
                  class_="note")  # fmt: skip
    by_format = (
        report.frame.group_by("format", maintain_order=True)
        .agg(pl.len().alias("files"), pl.col("read", "kept", "dropped", "turns", "memories").sum())
        .sort("format")
    )
    rows: list[Sequence[Content]] = [
        [row["format"], *(f"{row[n]:,}" for n in _COUNTS)] for row in by_format.to_dicts()
    ]
    rows.append(["all", *(f"{int(by_format[n].sum()):,}" for n in _COUNTS)])
    parts = [
        table(["source", "files", "read", "kept", "dropped", "turns", "memories"], rows,
              caption="Import: read = kept + dropped", numeric=range(1, 7))
    ]  # fmt: skip
    reasons = report.dropped.group_by("reason").agg(pl.col("count").sum())
    if reasons.height:
        ordered = reasons.sort("count", "reason", descending=[True, False])
        parts.append(
            table(["reason", "records"], [[r, f"{n:,}"] for r, n in ordered.iter_rows()],
                  caption="Dropped, and why", numeric=(1,))
        )  # fmt: skip
    if report.notices:
        parts.append(el("ul", *(el("li", notice) for notice in report.notices)))
    return join(parts)


_COUNTS = ("files", "read", "kept", "dropped", "turns", "memories")


def _presets(journey: Journey, figures_: Sequence[Html]) -> Html:
    metrics = [*journey.default.metrics, "passed", "tokens"]
    frame = compare(journey.results, metrics)
    rows = [
        [
            row["metric"],
            row["row"],
            _spread(row["value"], row["lo"], row["hi"], row["name"]),
            _spread(row["diff"], row["diff_lo"], row["diff_hi"], row["name"], sign=True),
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
        for row in loss_stages(journey.candidates, config).iter_rows(named=True):
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
    speed = f" in {sweep.seconds:.1f} s" if sweep.seconds else ""
    parts: list[Content] = [
        el(
            "p",
            f"{sweep.points.height:,} settings that rank differently ({sweep.merged:,} more rank "
            f"like one of them), each scored on {sweep.cases.height:,} tuning cases{speed}. "
            f"{len(choice.decision.ties):,} cannot be told from the best (the tie set).",
        )
    ]
    rows = [
        [
            address,
            ", ".join(_value(v) for v in values),
            ", ".join(_value(v) for v in choice.tie_ranges.get(address, [])),
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
            _number(row["mean_a"]),
            _number(row["mean_b"]),
            _spread(row["diff"], row["lo"], row["hi"], journey.metric, sign=True),
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


def _limits(journey: Journey, figures_: Sequence[Html]) -> Html:
    del figures_
    said = []
    choice = journey.choice
    if choice is None:
        said.append("No sweep was run: nothing here says whether another setting is better.")
    else:
        d = choice.decision
        said.append(
            f"{choice.tuned_on} cases were tuned on; figures that include them are in sample. "
            + (
                f"{choice.heldout_cases} held-out cases were scored once, for the choice and the "
                "default only."
                if choice.heldout_cases
                else "No case was held out."
            )
        )
        needed = d.evidence.cases_needed
        if needed is not None:
            said.append(
                f"To see a difference of {d.target_gain:g} about {_about(needed):,} cases are "
                f"needed; there are {d.n_cases:,} in {d.n_clusters:,} sessions."
            )
        if d.dropped:
            said.append(
                f"The metric is undefined for {len(d.dropped)} tuning cases; they take no part."
            )
    small = [
        f"{name} ({n})"
        for name, n in journey.candidates.queries.group_by("kind").len().sort("kind").iter_rows()
        if n < TOO_FEW
    ]
    if small:
        said.append(f"Kinds with fewer than {TOO_FEW} cases, about which nothing is claimed: "
                    f"{', '.join(small)}.")  # fmt: skip
    not_yet = journey.default.counts.get("labels_not_yet", 0)
    if not_yet:
        said.append(
            f"{not_yet} labels name a memory that was not known when asked; they judge nothing."
        )
    said.append(
        "Untold items take part in nothing and stand nowhere on this page: "
        f"{journey.candidates.notices.get('untold_spans', 0)} were left out."
    )
    if journey.candidates.notices.get("dense_arm_missing"):
        said.append("No embedding model could run: every figure is lexical only.")
    return el("ul", *(el("li", long_text(line)) for line in said))


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


def _about(count: int) -> int:
    """A count to two significant digits, rounded up: it is an estimate."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


def _fingerprints(journey: Journey) -> str:
    told = [f"default {journey.default.config.fingerprint}"]
    if journey.contender_config is not None:
        told.append(f"{journey.contender_name} {journey.contender_config.fingerprint}")
    told.append(str(journey.stamp()))
    return ", ".join(told)


def _arms(config: Any) -> str:
    return " and ".join(config.arms.names)


def _spread(
    value: float | None, lo: float | None, hi: float | None, name: str, *, sign: bool = False
) -> str:
    if value is None:
        return "-"
    decimals = 0 if name == "tokens" else 3
    plain = f"{value:,.{decimals}f}"
    shown = figures.signed(value, decimals=decimals) if sign else plain
    return f"{shown} {_range(lo, hi, decimals=decimals)}".strip()


def _range(lo: float | None, hi: float | None, *, decimals: int) -> str:
    return "" if lo is None or hi is None else figures.interval(lo, hi, decimals=decimals)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _value(value: Any) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value)
