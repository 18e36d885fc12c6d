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
# # How should the lists be fused?
#
# **The decision this feeds:** the fusion, its weights or `rrf_k`, the calibration of scores, and
# the tokeniser.
# **Today's value:** reciprocal rank fusion with equal weights (`kind = "rrf"`), in
# `toolkit/recalltune/pipeline/presets/textbook.toml`; production systems fuse otherwise.
#
# Two arms propose memories: one by meaning (dense), one by words (lexical). Fusion makes one list
# of two. It can only help where one arm finds what the other misses, and it can hurt.
#
# At the end you can answer: does fusion beat the better arm, and where? What does one rank cost?
# Which weight is flat, and which knobs do nothing in my mode?

# %%
import os

import polars as pl

import recalltune as rt
from recalltune.evaluate.query_views import flow
from recalltune.evaluate.views import compare, flips
from recalltune.report.pictures import measure_of
from recalltune.sweep.views import surface

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
METRIC = "ndcg@10"
METRICS = ("ndcg@10", "recall_any@10", "hard_negative_rate@3")
PRODUCTION = ("recallnest-hybrid", "lancedb-pro", "openclaw", "openclaw-legacy", "dsh-auto-memory")
SHARES = (0.5, 0.7) if SMALL else (0.3, 0.5, 0.7, 0.9)
FORMULAS = {"RRF k 60": (60, 1), "RRF k 10": (10, 1), "RRF k 60, places / 60": (60, 60)}
TOKENISERS = ("plain", "porter") if SMALL else ("plain", "porter", "openclaw_main")
CONSTANTS = [(0.9, 0.4)] if SMALL else [(0.9, 0.4), (1.2, 0.0), (2.0, 0.75)]
RRF_KS = [10, 60] if SMALL else [0, 5, 10, 20, 60, 120]
WEIGHTS = [1, 2] if SMALL else [0.25, 0.5, 1, 2, 4]

BASE = rt.preset("textbook")

# %%
bench = rt.widgets.demo_bench()
cases = bench.candidates(BASE)
stamp = rt.widgets.chart_stamp(cases)
print(bench.cases_told)
rt.widgets.reach(cases)

# %% [markdown]
# The table is what fusion can add at most. What only one arm has near the top is its chance; what
# neither has, no weight brings back. Now each arm alone: one fusion for all, the other arm at
# weight zero.

# %%
arms = bench.runs(rt.widgets.arms_alone(BASE))
frame = rt.widgets.by_language(arms, METRIC)
rt.charts.preset_dots(frame, default_row="both", noun="arm", interval="pointwise", stamp=stamp)

# %% [markdown]
# The first column is all cases, then each language. If an arm alone stands right of both, fusing as
# today costs there; if its interval at the right holds zero, these cases cannot say.

# %%
scores, told = rt.widgets.arm_scores(cases)
limits = {"RecallNest's minimum 0.3": 0.3}
about = {"noun": "score", "detail": "First 20 rows of each arm and question; grey: a sample."}
rt.charts.profile(
    scores, form="values", unit="score", limits=limits, finding=told, stamp=stamp, **about
)

# %% [markdown]
# A threshold belongs to a scale. Where all dots of a strip lie right of the rule, that minimum
# drops nothing; where the dark dots (targets) lie among the grey ones (other rows), no minimum
# parts them.

# %%
steps, told = rt.widgets.rank_curves(FORMULAS)
print(rt.widgets.rank_steps(FORMULAS))
rt.charts.decay_curves(steps, x="rank", finding=told, detail="Share of what the first place adds.")

# %% [markdown]
# Ranks have a scale, too: how fast places lose worth. A flat curve says that an arm hardly tells
# its first place from its tenth; who is in a list at all then decides.
#
# The wrong way: a bonus for fresh memories, of the size RecallNest adds to scores in the unit
# interval, added to sums of reciprocal ranks. Compare it with the first column of the table.

# %%
wrong = rt.widgets.boosted(BASE, 0.1)
moved = flips(cases, arms["both"], bench.runs({"boosted": wrong})["boosted"])
names, mark = ("RRF", "RRF plus the bonus"), rt.widgets.chart_stamp(cases, wrong)
rt.charts.case_flips(moved, names=names, detail="All tuning cases.", stamp=mark)

# %% [markdown]
# Most lines should not move under a small bonus. If they do, the bonus is larger than any
# difference between ranks and decides alone: multiply, or bring both to one scale.

# %%
fusions = rt.widgets.fusions(BASE, shares=SHARES, presets=PRODUCTION)
frame = compare(bench.runs(fusions), METRICS).with_columns(family=pl.col("row"))
rt.charts.preset_dots(
    frame,
    metrics=[measure_of(metric) for metric in METRICS],
    default_row="RRF",
    noun="fusion",
    interval="pointwise",
    detail="Only the fusion is swapped.",
    stamp=stamp,
)

# %% [markdown]
# What each production system makes of the very same two lists; candidates and all later stages are
# those of the default. *Weighted* sums min-maxed scores with that share for the dense arm. A fusion
# whose interval at the right leaves zero is better or worse than today's on these cases, in sample;
# all others cannot be told from it.

# %%
space = rt.Space({"rrf.rrf_k": RRF_KS, "rrf.weights.dense": WEIGHTS})
sweep = rt.sweep(cases, BASE, space)
choice = rt.choose(sweep, METRIC, candidates=bench.all_cases(BASE))
x, y = space.axes
rt.charts.sweep_heatmap(
    surface(sweep, x, y, METRIC, choice=choice),
    x_name=x,
    y_name=y,
    measure=measure_of(METRIC),
    default=(60, 1),
    detail="Tuning cases; the lexical arm weighs 1.",
    stamp=stamp,
)

# %% [markdown]
# Today's fusion with other constants. Colour runs along the axis that matters; along the other the
# weight or `rrf_k` is flat. All settings in the frame cannot be told from the best.

# %%
lexical = rt.widgets.word_searches(BASE, tokenisers=TOKENISERS, constants=CONSTANTS)
others = bench.runs(lexical)
frame = rt.widgets.by_language(others, METRIC)
about = {"noun": "word search", "detail": "Fused by RRF.", "stamp": stamp}
rt.charts.preset_dots(frame, default_row="words", interval="pointwise", **about)

# %% [markdown]
# The lexical arm's own knobs: tokenisers by name (*words* is `words_cjk_bigrams`), then constants
# of `BM25`. Look at the column of the language you serve: a tokeniser that cuts one script well
# may lose the other.

# %%
query_id = rt.widgets.mixed_question(cases, others)
alone = {name: rt.widgets.arms_alone(lexical[name])["lexical alone"] for name in TOKENISERS}
looked = {"dense": arms["dense alone"], "words": arms["lexical alone"], **bench.runs(alone)}
told = rt.widgets.question(cases, query_id)
rt.charts.rank_flow(flow(cases, looked, query_id), query=told, stamp=stamp)

# %% [markdown]
# One question in two scripts, each arm and tokeniser alone. Where the target falls or vanishes in
# one column, that tokeniser broke a word of the question that stands in the memory.

# %%
asked = ["RRF"] if SMALL else ["RRF", "openclaw", "recallnest-hybrid"]
rt.widgets.dead_knobs(cases, {name: fusions[name] for name in asked})

# %% [markdown]
# Every parameter of these fusions, moved to values all over its range. *Never binds* means that no
# list of any question changed: leave such a knob out of sweeps and of discussions.

# %%
elsewhere, told = rt.widgets.fused_elsewhere()
print(told)
elsewhere

# %% [markdown]
# Another corpus, MADial-Bench, with lists that its authors computed: fusing a weak list into a
# strong one can lower it. Fuse lists of like strength, or give the weak one less weight.

# %%
explorer = rt.widgets.explorer(cases, BASE, [x, y, "rrf.weights.lexical", "rrf.divisor"])
explorer.snapshot({y: 4})

# %%
explorer

# %%
rt.report.decision(
    "How should the lists be fused?",
    number=2,
    choice=choice,
    sweep=sweep,
    default=rt.evaluate(cases, choice.default),
    chosen=rt.evaluate(cases, choice.chosen),
    would_change_it="new sessions on which the chosen setting loses to the default, or on which "
    "a weighted sum beats both",
    notebook="02_how_should_lists_be_fused",
    out=bench.out,
)

# %%
rt.widgets.stamp(cases, BASE, small=SMALL)
