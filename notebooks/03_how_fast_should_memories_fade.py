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
# # How fast should memories fade?
#
# **The decision this feeds:** the decay formula, `half_life_days`, `shape` and floors.
# **Today's value:** no decay (`family = "none"`), in
# `toolkit/recalltune/pipeline/presets/textbook.toml`; RecallNest fades by tier.
#
# Decay multiplies a score by a weight that falls with age, so that what is fresh wins over what is
# old. It helps where facts change and hurts where an old fact still holds.
#
# At the end you can answer: what happens to a memory after days, weeks, half a year? Why does a
# small shape forget faster at first? Can our half-life be told from none at all? Who pays?

# %%
import os

import polars as pl

import recalltune as rt
from recalltune.evaluate.query_views import rival, waterfall
from recalltune.evaluate.views import age_strata, flips, targets
from recalltune.report.pictures import measure_of
from recalltune.sweep.views import line, surface

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
METRIC = "ndcg@10"
HALF_LIFE = 60.0
SMALLEST_SLICE = 10
SHAPES = (0.5, 0.8, 1.0, 1.3, 1.5)
HALF_LIVES = [14, 60, 180] if SMALL else [3, 7, 14, 30, 60, 90, 180, 365]

BASE = rt.preset("textbook")
FADING = rt.set_many(BASE, {"decay.family": "weibull", "decay.half_life_days": HALF_LIFE})

# %%
bench = rt.widgets.demo_bench()
cases = bench.candidates(BASE)
stamp, faded = rt.widgets.chart_stamp(cases), rt.widgets.chart_stamp(cases, FADING)
evidence = targets(cases).select("age_days").drop_nulls()
print(bench.cases_told)
print(f"{evidence.height} dated targets; {cases.notices['future_timestamps']} future dates clamped")

# %% [markdown]
# First the words. Production code calls at least three different things a half-life. The table
# shows what is left of a memory at the age that the parameter names.

# %%
table, named = rt.widgets.half_life_names(HALF_LIFE)
table

# %%
rt.charts.decay_curves(
    named, half_life_days=HALF_LIFE, enlarge=False, detail="Dashed rule: the parameter."
)

# %% [markdown]
# Only one of the curves passes through one half at the rule. If a config moves from one system to
# another, it must carry the formula's name; the number alone says something else there.

# %%
shapes = rt.widgets.shape_curves(HALF_LIFE, SHAPES)
rt.charts.decay_curves(shapes, half_life_days=HALF_LIFE, evidence=evidence, enlarge=False)

# %% [markdown]
# All shapes meet at the half-life. To its left a small shape has forgotten more, to its right it
# keeps more. The ticks below are the ages of the answers in our cases: where there are none, the
# cases cannot judge the curve.

# %%
production = rt.preset("recallnest")
tiers = rt.widgets.tier_curves(production)
half_life = rt.get(production, "tier_decay.half_life_days")
rt.charts.decay_curves(tiers, half_life_days=half_life, evidence=evidence)

# %% [markdown]
# RecallNest gives each tier its own shape and floor. If two curves cross in the enlarged panel, a
# tier that is meant to last longer weighs less for its first days; if not, the order holds.

# %%
space = rt.Space(
    {
        "decay.family": ["none", "weibull"],
        "decay.half_life_days": HALF_LIVES,
        "decay.shape": list(SHAPES),
    }
)
sweep = rt.sweep(cases, BASE, space)
choice = rt.choose(sweep, METRIC, candidates=bench.all_cases(BASE))
x, y, off = "decay.half_life_days", "decay.shape", {"decay.family": "none"}
rt.charts.sweep_heatmap(
    surface(sweep, x, y, METRIC, choice=choice, around=FADING, off=off),
    x_name=x,
    y_name=y,
    measure=measure_of(METRIC),
    strip_name="no decay",
    detail="Tuning cases.",
    stamp=stamp,
)

# %% [markdown]
# Each cell is one setting, coloured by its difference to the default, which is the strip. The
# frame holds all settings that cannot be told from the best; if the strip is inside, no setting
# is shown to be better than no decay.

# %%
dots, told = rt.widgets.optimism(choice)
rt.charts.preset_dots(
    dots,
    finding=told,
    pair=("new sessions", "in sample"),
    noun="setting",
    ruled=0.0,
    detail="The wrong way is the filled dot: tuned and measured on the same cases.",
    stamp=stamp,
)

# %% [markdown]
# The filled dot is what a report would claim that picks the best cell and quotes its value. The
# hollow one is what picking on some sessions gave on others. The distance is luck; if the hollow
# dot is at or left of the rule, the sweep found nothing that travels.

# %%
by_kind = line(sweep, x, METRIC, by="kind", around=FADING, off=off)
rt.charts.sweep_line(
    by_kind.filter(pl.col("n") >= SMALLEST_SLICE),
    parameter=x,
    measure=measure_of(METRIC),
    off_name="no decay",
    detail="Tuning cases, shape 1.",
    stamp=stamp,
)

# %% [markdown]
# One panel a kind of question. Look for kinds whose band lies above zero (decay pays there) and
# below (they pay for it). A wide band says *not known*; kinds with hardly any cases are left out.

# %%
best = sweep.config(choice.decision.subject)
runs = bench.runs({"no decay": BASE, "half-life 60": FADING, "best tried": best})
frame = age_strata(cases, runs, chosen="best tried")
measure, detail = "share of targets shown in the first ten", "Best tried: picked on tuning cases."
rt.charts.age_strata(frame, measure=measure, detail=detail, stamp=stamp)

# %% [markdown]
# The same configs by the age of the answer. If the dots part on the right, decay hides old facts
# that still hold; a floor or a smaller shape keeps more of them.

# %%
moved = flips(cases, runs["no decay"], runs["half-life 60"])
names = ("no decay", "half-life of the curves above")
rt.charts.case_flips(moved, names=names, detail="Tuning cases.", stamp=faded)

# %% [markdown]
# Behind every average are cases that win and cases that lose. The chart names the largest moves;
# the next one takes the worst loss apart.

# %%
lost = rt.widgets.worst_loss(moved)
target, other = rival(cases, runs["half-life 60"], lost)
query = rt.widgets.question(cases, lost)
frame = waterfall(cases, FADING, lost, {"target": target, "rival": other})
rt.charts.score_waterfall(frame, items=["target", "rival"], query=query, stamp=faded)

# %% [markdown]
# If the decay bar of the target is the long one, its age alone took it out of the list. A larger
# half-life or a floor would mend this case; the explorer shows what that breaks.

# %%
controls = [x, "decay.family", y, "decay.floor"]
explorer = rt.widgets.explorer(cases, BASE, controls, chart="decay_curves")
explorer.snapshot({x: 180.0})

# %%
explorer

# %%
rt.report.decision(
    "How fast should memories fade?",
    number=3,
    choice=choice,
    sweep=sweep,
    default=rt.evaluate(cases, choice.default),
    chosen=rt.evaluate(cases, choice.chosen),
    would_change_it="a heatmap whose frame leaves the strip out, or a hollow dot right of the rule",
    notebook="03_how_fast_should_memories_fade",
    out=bench.out,
)

# %%
rt.widgets.stamp(cases, BASE, small=SMALL)
