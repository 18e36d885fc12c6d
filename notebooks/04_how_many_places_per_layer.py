# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How many places per layer?
#
# **The decision this feeds:** `floors`, `caps` and `top_k` of the stage `select`.
# **Today's value:** no floor, no cap, in `toolkit/recalltune/pipeline/presets/textbook.toml`.
#
# A *floor* reserves places for the best memories of a layer, a *cap* limits what a layer may take.
# The log writes every day and speaks of everything, so without places it may crowd out the few
# conclusions that matter.
#
# At the end you can answer: which layer is starved, and by how much? Does a floor bind? Who pays
# for it?

# %%
import os

import polars as pl

import recalltune as rt
from recalltune.replay.fate_views import loss_account
from recalltune.evaluate.views import flips
from recalltune.report.pictures import measure_of
from recalltune.sweep.views import binding, frontier, line, surface

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
METRIC, DEEP_METRIC = "recall_all@10", "recall_all@20"
SMALLEST_SLICE = 5
FLOORS = [0, 2, 4] if SMALL else [0, 1, 2, 3, 4, 5]
TOP_K = [5, 10, 20] if SMALL else [3, 5, 8, 10, 15, 20]
CAPS = [4, None] if SMALL else [2, 3, 4, 6, 8, None]

BASE = rt.preset("textbook")
PLACES = rt.set_many(BASE, {"select.floors.project": 3, "select.caps.log": 5})

# %%
bench = rt.widgets.demo_bench()
cases = bench.candidates(BASE)
runs = bench.runs({"no places": BASE, "with places": PLACES})
stamp, placed = rt.widgets.chart_stamp(cases), rt.widgets.chart_stamp(cases, PLACES)
print(bench.cases_told)

# %%
rounds = rt.widgets.some_rounds(cases, runs["no places"])
detail = "Today's config; every n-th case, by time."
rt.charts.quota_account(rounds, round_name="case", detail=detail, stamp=stamp)

# %% [markdown]
# Up: memories shown, down: candidates of the layer that were not. A triangle is a case in which a
# layer had something to say and got no place. Many triangles make a layer a suspect, not yet a
# victim: it may have had nothing relevant.

# %%
shares, told = rt.widgets.layer_shares(cases, runs["no places"])
rt.charts.preset_dots(
    shares,
    finding=told,
    pair=("places", "targets"),
    noun="layer",
    detail="Today's config, tuning cases.",
    stamp=stamp,
)

# %% [markdown]
# Hollow: the share of places a layer takes; filled: its share of the known answers. A layer whose
# hollow dot lies far to the right takes places that others need; far to the left, it is starved.

# %%
kept = loss_account(rt.fates(cases, BASE), BASE)
rt.charts.loss_stages(kept, cases=cases.queries.height, detail="Today's config.", stamp=stamp)

# %%
kept = loss_account(rt.fates(cases, PLACES), PLACES)
detail = "With a floor for project and a cap for log."
rt.charts.loss_stages(kept, cases=cases.queries.height, detail=detail, stamp=placed)

# %% [markdown]
# The last bar is what the reader gets to see. If the second chart keeps more targets than the
# first, places mend more than they break in this account; the sweep below says whether that is
# more than noise.

# %%
x, y = "select.caps.log", "select.floors.project"
sweep = rt.sweep(cases, BASE, rt.Space({y: FLOORS, x: CAPS, "select.floors.user": [0, 1]}))
choice = rt.choose(sweep, METRIC, candidates=bench.all_cases(BASE))
frame = rt.widgets.with_none(surface(sweep, x, y, METRIC, choice=choice), "x", "no cap")
rt.charts.sweep_heatmap(
    frame,
    x_name=x,
    y_name=y,
    x_order=[f"{cap:g}" if cap else "no cap" for cap in CAPS],
    default=("no cap", 0),
    measure=measure_of(METRIC),
    detail="Tuning cases, no floor for user.",
    stamp=stamp,
)

# %% [markdown]
# Diamond: today. Inside the frame, settings cannot be told from the best; if the diamond is inside
# too, there is no case for a change by this measure.

# %%
rt.widgets.Table(binding(sweep, METRIC), "Does it bind?")

# %% [markdown]
# *Changed* counts the cases whose value ever differs between two settings that differ in this
# parameter alone. A parameter with none does not bind here: leave it out of the config.

# %%
space = rt.Space({"select.top_k": TOP_K})
depth = rt.sweep(cases, BASE, space, metrics=[DEEP_METRIC])
by_layer = line(rt.widgets.by_target_layer(depth), "select.top_k", DEEP_METRIC, by="kind")
rt.charts.sweep_line(
    by_layer.filter(pl.col("n") >= SMALLEST_SLICE),
    parameter="select.top_k",
    measure=measure_of(DEEP_METRIC),
    default=10,
    detail="Tuning cases; a panel is the layer of the first answer.",
    stamp=stamp,
)

# %% [markdown]
# More places can only add. What differs is how soon a layer is served: a panel that still rises on
# the right has answers waiting behind other layers.

# %%
best = sweep.config(choice.decision.subject)
runs |= bench.runs({"best tried": best, "top 5": rt.set_many(BASE, {"select.top_k": 5})})
rt.charts.pareto_quality_tokens(
    frontier(runs, METRIC, default="no places"),
    measure=measure_of(METRIC),
    cost=measure_of("tokens"),
    detail="The best tried was picked on these tuning cases.",
    stamp=stamp,
)

# %% [markdown]
# Places cost tokens when the layer they favour writes longer entries. A point above and left of
# the default would be better and cheaper; inside its bar nothing can be told.

# %%
moved = flips(cases, runs["no places"], runs["with places"])
rt.charts.case_flips(moved, names=("no places", "with places"), stamp=placed)

# %% [markdown]
# The right column names the layer of the answer. If the layers that gained places are those whose
# answers moved up, the floor did what it is for; the table below counts it.

# %%
rt.widgets.layer_verdicts(cases, runs["no places"], runs["with places"])

# %% [markdown]
# One row a layer: answers shown, mean places, and cases in which it went empty, without and with
# places. A floor that lowers *empty* and does not raise *shown* reserves places for nothing.

# %%
controls = ["select.top_k", y, "select.floors.user", "select.floors.reflection", x]
explorer = rt.widgets.explorer(cases, BASE, controls, chart="quota_account")
explorer.snapshot({y: 3, x: 5})

# %%
explorer

# %%
rt.report.decision(
    "How many places per layer?",
    number=4,
    choice=choice,
    sweep=sweep,
    default=rt.evaluate(cases, choice.default),
    chosen=rt.evaluate(cases, choice.chosen),
    would_change_it="a heatmap whose frame leaves the diamond out, on these or on new cases",
    notebook="04_how_many_places_per_layer",
    out=bench.out,
)

# %%
rt.widgets.stamp(cases, BASE, small=SMALL)
