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
# # Which memories should the agent recall here?
#
# **The decision this feeds:** whether to tune at all, and which notebook to read next.
# **Today's value:** the preset `textbook`, in `toolkit/recalltune/pipeline/presets/textbook.toml`.
#
# An agent keeps notes: conclusions of a project, a whiteboard, what it knows about people, its own
# reflections, and a daily log. When somebody asks, a *config* ranks the notes and shows the first
# few. This tour follows one English and one Chinese question through four configs, then looks at
# all questions at once. The notes belong to a team that does not exist; `data/README.md` tells
# its story.
#
# The first table below is an **eval case**: a question with its time and its known answers. Only
# what was known at that time, in the same scope, may be shown; everything an *arm* (a search)
# proposes is a **candidate**. The second table is the list the preset shows: look for the *target*
# and for an entry that was *superseded* by then.
#
# At the end you can answer: what is a candidate, a stage, a preset, an eval case? Why is an
# average not enough? Where do I look next?

# %%
import os

import recalltune as rt
from recalltune.evaluate.query_views import flow, rival, waterfall
from recalltune.evaluate.views import compare
from recalltune.report.pictures import measure_of
from recalltune.sweep.views import line

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
METRICS = ("ndcg@10", "recall_any@10", "recall_all@10", "hard_negative_rate@3", "tokens")
HALF_LIVES = [7, 60, 365] if SMALL else [3, 7, 14, 30, 60, 120, 240, 365]
ENGLISH, CHINESE = "battery-type", "backup-hour"

BASE = rt.preset("textbook")
FADING = rt.set_many(BASE, {"decay.family": "exponential", "decay.half_life_days": 60})
CONFIGS = {
    "textbook": BASE,
    "with decay": FADING,
    "with places": rt.set_many(BASE, {"select.floors.project": 3}),
    "recallnest": rt.preset("recallnest"),
}

# %%
bench = rt.widgets.demo_bench()
cases = bench.candidates(BASE)
stamp = rt.widgets.chart_stamp(cases)
print(bench.cases_told)
rt.widgets.moment(cases, BASE, ENGLISH)

# %%
runs = bench.runs(CONFIGS)
rt.widgets.answer(cases, runs["textbook"], ENGLISH)

# %%
query = rt.widgets.question(cases, ENGLISH)
frame = flow(cases, runs, ENGLISH)
rt.charts.rank_flow(frame, query=query, columns=list(runs), noun="config", stamp=stamp)

# %% [markdown]
# One memory, four answers. Follow the thick line (the target) and the dashed one (superseded):
# where they cross, a config puts the new fact above the old one. Which **stage** did it? The next
# chart takes the score of both apart, in the config with decay.

# %%
target, other = rival(cases, runs["textbook"], ENGLISH)
frame = waterfall(cases, FADING, ENGLISH, {"target": target, "rival": other})
stamped = rt.widgets.chart_stamp(cases, FADING)
rt.charts.score_waterfall(frame, items=["target", "rival"], query=query, stamp=stamped)

# %% [markdown]
# Each bar is one stage: a factor shortens or lengthens the score. Where target and rival differ in
# one bar only, that stage decided between them. Now the same walk for a Chinese question; where a
# text is Chinese, English stands behind it in brackets.

# %%
rt.widgets.answer(cases, runs["textbook"], CHINESE, gloss=bench.gloss)

# %%
query = rt.widgets.question(cases, CHINESE)
frame = flow(cases, runs, CHINESE)
rt.charts.rank_flow(frame, query=query, columns=list(runs), noun="config", stamp=stamp)

# %% [markdown]
# The same walk in another language. Look at what takes the places: entries of the log that repeat
# the words of the question, or the conclusion that answers it? A cross means *not shown*. Two
# questions prove nothing, so all tuning cases come next.

# %%
rt.charts.preset_dots(
    compare(runs, METRICS),
    metrics=[measure_of(metric) for metric in METRICS],
    default_row="textbook",
    noun="config",
    interval="pointwise",
    stamp=stamp,
)

# %% [markdown]
# Dots are averages over these cases, bars their intervals, the right column the paired difference
# to the default. If that interval holds zero, the two cannot be told apart on these cases; an
# average hides who gains and who loses. A **sweep** asks the question for many settings in one
# call.

# %%
space = rt.Space(
    {
        "decay.family": ["none", "exponential"],
        "decay.half_life_days": HALF_LIVES,
        "select.floors.project": [0, 2, 4],
        "select.caps.log": [3, 6, None],
    }
)
sweep = rt.sweep(cases, BASE, space)
print(f"{sweep.points.height} settings, {sweep.cases.height} tuning cases")
curve = line(sweep, "decay.half_life_days", "ndcg@10", around=FADING, off={"decay.family": "none"})
rt.charts.sweep_line(
    curve, parameter="decay.half_life_days", off_name="no decay", detail="Tuning.", stamp=stamp
)

# %% [markdown]
# The line is the difference to the default. Where the band leaves zero the half-life matters;
# where it does not, nothing is shown either way. Below, the explorer: first still, at one named
# setting; then, with a kernel, as sliders. It uses tuning cases only and decides nothing.

# %%
explorer = rt.widgets.explorer(
    cases, BASE, ["decay.half_life_days", "rrf.weights.dense", "select.caps.log"]
)
explorer.snapshot({"decay.half_life_days": 60})

# %%
explorer

# %%
reading = rt.widgets.reading_list(
    sweep,
    "ndcg@10",
    {
        "decay.half_life_days": "03_how_fast_should_memories_fade",
        "select.floors.project": "04_how_many_places_per_layer",
        "select.caps.log": "04_how_many_places_per_layer",
    },
)
print(reading)
rt.report.decision(
    "Which notebook comes next?",
    number=0,
    verdict="keep",
    claim=f"Nothing is decided here. Read 01, then {', then '.join(reading.frame['notebook'])}.",
    would_change_it="another order of the list above, in the cell of the decision",
    notebook="00_tour",
    out=bench.out,
)

# %%
rt.widgets.stamp(cases, BASE, small=SMALL)
