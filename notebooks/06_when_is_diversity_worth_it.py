# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # When is diversity worth it?
#
# **The decision this feeds:** MMR or deferral, `lambda_`, `similarity`, the deferral's `threshold`,
# and the strength of salience.
# **Today's value:** neither (`lambda_` off, no deferral, `salience_weight` off), in
# `toolkit/recalltune/pipeline/presets/textbook.toml`.
#
# A memory that says the same thing five times can fill a list with it. *MMR* takes the next memory
# by relevance minus likeness to what is listed already; *deferral* sends near-duplicates to the
# tail. Salience is no diversity at all, and yet it can look like it.
#
# At the end you can answer: is our list flooded? Did MMR or salience mend it? What does MMR cost on
# questions with one answer?

# %%
import os

import polars as pl

import recalltune as rt
from recalltune.evaluate.query_views import flow
from recalltune.report.pictures import measure_of
from recalltune.sweep.views import binding, line, surface

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
METRIC, COVERAGE = "ndcg@10", "recall_all@10"
MMR, OFF = 0.7, 1.0
LAMBDAS = [0.7, 1.0] if SMALL else [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
STRENGTHS = [0.0, 9.0] if SMALL else [0.0, 0.5, 1.0, 3.0, 9.0]
THRESHOLDS = [0.85, 1.0] if SMALL else [0.75, 0.85, 0.95, 1.0]
PAIRS = {
    "same news, Chinese": ("备份目录换到了旧机器", "旧机器上换了备份目录"),
    "other news, Chinese": ("备份目录换到了旧机器", "会议改到周四上午"),
    "same news, English": ("the gateway restarted at dawn", "gateway restarted before dawn"),
    "other news, Russian": ("Привет, команда", "До встречи в среду"),
}

BASE = rt.widgets.with_deferral(rt.preset("textbook"))
VARIED = rt.set_many(BASE, {"mmr.lambda_": MMR})
DEFERRED = rt.set_many(BASE, {"defer.threshold": 0.85})
PORTED = rt.preset("hel847-ported")

# %%
bench = rt.widgets.demo_bench()
cases = bench.candidates(BASE)
runs = bench.runs({"neither": BASE, "MMR": VARIED, "deferral": DEFERRED})
stamp = rt.widgets.chart_stamp(cases)
shelf = rt.widgets.companion_shelf("shelf", out=bench.out)
keys = rt.widgets.companion_shelf("keys", out=bench.out)
print(bench.cases_told)
print("shelf, by the gate:", dict(shelf.gate))

# %%
floods, told = rt.widgets.flooding(cases, runs["neither"])
rt.charts.profile(
    floods,
    form="matrix",
    finding=told,
    column_order=rt.widgets.SIZES,
    row_name="kind of question",
    column_name="near-duplicates in the list",
    noun="list",
    detail="Near: cosine above the deferral's published threshold. Today's config.",
    stamp=stamp,
)

# %% [markdown]
# A column is the size of the largest group of memories that say nearly the same. Lists in the first
# column need no diversity. In the last ones some answer may have had to leave the list for a
# repetition; whether it did is what the sweep below measures.

# %%
flooded = rt.widgets.most_flooded(cases, runs["neither"])
rt.widgets.mmr_steps(cases, VARIED, flooded, gloss=bench.gloss)

# %% [markdown]
# The case with the largest cluster, by hand. A round takes the candidate with the largest value. If
# a memory from far down is picked early, its likeness to the list is small; if the order stays, its
# relevance was too small to pay for it.

# %%
lists = flow(cases, runs, flooded, most=10)
query = rt.widgets.question(cases, flooded)
rt.charts.rank_flow(lists, query=query, noun="setting", stamp=stamp)

# %% [markdown]
# Two things are called MMR. The middle column weighs relevance against likeness in every round; the
# right one, as RecallNest does it, only moves what is nearer than a threshold to the tail, and
# leaves all other memories in their order.

# %%
rt.widgets.without_the_weakest(keys, "spare key", PORTED)

# %% [markdown]
# Relevance is stretched over all candidates before it is weighed. One weak candidate more, shown in
# neither list, and the same `lambda_` means something else. If the columns differ, a value of
# `lambda_` is worth nothing without the width of the candidate list it was tuned on.

# %%
rt.widgets.importance_grid(shelf, "红薯", "风筝", config=PORTED, lambdas=(MMR, OFF))

# %% [markdown]
# In the first grid five memories say one thing, and the plan behind this preset reads their loss of
# a place as the work of MMR. Columns show what MMR does under one importance, rows what importance
# does under one MMR: the sentence above the grid counts which of the two takes a repetition out by
# itself. In the second grid nothing is repeated, and only the first place is at stake.

# %%
rt.widgets.importance_grid(keys, "spare key", config=PORTED, lambdas=(MMR, OFF))

# %% [markdown]
# A corpus made for the opposite: everything is said at one time, with one salience, so that neither
# age nor importance can tell the memories apart. What changes between columns, MMR alone did.

# %%
space = rt.Space(
    {
        "mmr.lambda_": LAMBDAS,
        "mmr.similarity": ["cosine", "jaccard"],
        "salience.salience_weight": STRENGTHS,
        "defer.threshold": THRESHOLDS,
    }
)
sweep = rt.sweep(cases, BASE, space)
choice = rt.choose(sweep, METRIC, candidates=bench.all_cases(BASE))
x, y = "mmr.lambda_", "salience.salience_weight"
rt.charts.sweep_heatmap(
    surface(sweep, x, y, METRIC, choice=choice),
    x_name=x,
    y_name=y,
    default=(OFF, 0.0),
    measure=measure_of(METRIC),
    detail="Tuning cases, cosine, no deferral.",
    stamp=stamp,
)

# %% [markdown]
# Columns are MMR, rows are salience: the grids above, on all cases. Colour that changes along a row
# is MMR's, along a column salience's. Inside the frame, nothing can be told from the best.

# %%
kinds = ["all cases", "multi_evidence", "single_fact"]
covered = line(sweep, x, COVERAGE, by="kind").filter(pl.col("slice").is_in(kinds))
name, detail = measure_of(COVERAGE), "Tuning cases, no salience, no deferral."
rt.charts.sweep_line(covered, parameter=x, measure=name, default=OFF, detail=detail, stamp=stamp)

# %%
placed = line(sweep, x, METRIC, by="kind").filter(pl.col("slice").is_in(kinds))
name = measure_of(METRIC)
rt.charts.sweep_line(placed, parameter=x, measure=name, default=OFF, detail=detail, stamp=stamp)

# %% [markdown]
# First: are all answers of a question found? Second: how high do answers stand? A panel above zero
# is a kind of question that MMR is worth it for, one below zero pays. If questions with several
# answers fall, their answers resemble each other, and MMR takes them for repetitions. Where a band
# holds zero, nothing is shown.

# %%
rt.widgets.Table(binding(sweep, METRIC), "Does it bind?")

# %% [markdown]
# *Changed* counts the cases that ever move when this parameter alone does. A parameter that moves
# many cases and shows no difference above does both good and harm.

# %%
rt.widgets.likeness(PAIRS)

# %% [markdown]
# What *alike* means decides as much as `lambda_`. Word sets see a shared word, not a shared sense;
# a tokeniser that has no letters of a script makes nothing of such texts and takes two empty sets
# for equal. Vectors compare meanings, as far as their model knows the language.

# %%
controls = [x, "mmr.pool", "mmr.similarity", y, "defer.threshold"]
explorer = rt.widgets.explorer(cases, BASE, controls)
explorer.snapshot({x: MMR})

# %%
explorer

# %%
rt.report.decision(
    "When is diversity worth it?",
    number=6,
    choice=choice,
    sweep=sweep,
    default=rt.evaluate(cases, choice.default),
    chosen=rt.evaluate(cases, choice.chosen),
    would_change_it="new cases on which single facts fall, or fewer of several answers are found",
    notebook="06_when_is_diversity_worth_it",
    out=bench.out,
)

# %%
rt.widgets.stamp(cases, BASE, small=SMALL)
