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
# # What is in the memory, and can it be judged?
#
# **The decision this feeds:** what to repair before tuning, and which questions the cases can
# decide. **Today's value:** the files in `data/`, imported as they are.
#
# Tuning on data with holes tunes to the holes. This notebook looks at what was read and what was
# dropped, how the layers fill over time, how long and how old memories are, and whether the eval
# cases cover what we want to decide.
#
# At the end you can answer: how many memories, in which layers, from when? What was dropped and
# why? Which questions can these cases decide, and which not? What is the ceiling?

# %%
import os

import recalltune as rt
from recalltune.replay.fate_views import loss_account
from recalltune.evaluate.views import layers_over_time

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
BUDGET_TOKENS = 400
BASE = rt.preset("textbook")
DEEP = rt.set_many(BASE, {"select.top_k": 200})

# %%
bench = rt.widgets.demo_bench()
cases, tuning = bench.all_cases(BASE), bench.candidates(BASE)
stamp = rt.widgets.chart_stamp(cases)
print(bench.cases_told)
rt.widgets.import_table(bench.imported)

# %% [markdown]
# Each record that was read is kept or dropped, and the last column checks the sum: nothing is lost
# in silence. The next table gives the reasons.

# %%
rt.widgets.dropped(bench.imported)

# %%
print("\n".join(bench.imported.notices))

# %% [markdown]
# Notices are about what was kept but is odd. A memory without a time has no age: decay leaves it
# alone, and it exists from the beginning.

# %%
rt.charts.profile(
    layers_over_time(cases.spans).rename({"tokens": "median_tokens"}),
    form="over_time",
    cases_span=rt.widgets.asked_span(cases),
    stamp=stamp,
)

# %% [markdown]
# One row a layer, one bar a month; pale is what was superseded later. The grey band is the time in
# which the cases ask. If one layer outnumbers the others, it also takes most of the places unless
# something holds it back.

# %%
rt.charts.profile(
    rt.widgets.lengths(cases),
    form="values",
    unit="tokens",
    log=True,
    limits={f"budget {BUDGET_TOKENS}": BUDGET_TOKENS},
    stamp=stamp,
)

# %% [markdown]
# Each dot is a memory. What lies right of the rule does not fit the budget at all; what lies near
# it leaves room for nothing else.

# %%
rt.charts.profile(
    rt.widgets.evidence_ages(cases),
    form="values",
    unit="age of the answer, days",
    log=True,
    noun="target",
    stamp=stamp,
)

# %% [markdown]
# How old the known answers were when somebody asked. A half-life far outside the range of a row
# cannot be judged by the cases of that kind.

# %%
rt.widgets.replaced(cases, gloss=bench.gloss)

# %% [markdown]
# What replaced what. These pairs are where decay and the treatment of superseded entries can help:
# the old entry often shares more words with the question than the new one.

# %%
rt.charts.profile(
    rt.widgets.case_matrix(cases, "lang"),
    form="matrix",
    row_name="kind",
    column_name="language",
    noun="case",
    stamp=stamp,
)

# %%
rt.charts.profile(
    rt.widgets.case_matrix(cases, "layer"),
    form="matrix",
    row_name="kind",
    column_name="layer of the first answer",
    noun="case",
    stamp=stamp,
)

# %% [markdown]
# Empty cells are framed: about these the cases say nothing, whatever a chart of averages shows. A
# cell with a handful of cases says little more.

# %%
rt.charts.loss_stages(
    loss_account(rt.fates(tuning, DEEP), DEEP),
    cases=tuning.queries.height,
    detail="A list so long that ranking hardly matters: the ceiling.",
    stamp=rt.widgets.chart_stamp(cases, DEEP),
)

# %% [markdown]
# What is lost before the last stage no ranking can bring back: it was not known, out of scope,
# withheld, or no arm proposed it. If the loss is large, mend the data or the arms first.

# %%
ready = rt.widgets.readiness(cases, bench.imported, budget_tokens=BUDGET_TOKENS)
ready.table

# %%
rt.report.decision(
    "Can these data be tuned on?",
    number=1,
    verdict=ready.verdict,
    claim=ready.claim,
    would_change_it="a record that is neither kept nor dropped, or an answer not known when asked",
    notebook="01_what_is_in_the_memory",
    out=bench.out,
)

# %%
rt.widgets.stamp(cases, BASE, small=SMALL)
