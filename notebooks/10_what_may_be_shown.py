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
# # What may be shown, and what is gained by rereading?
#
# **The decision this feeds:** the gate, and the step that reads messages again behind a list.
# **Today's value:** no rereading, and a block of `budget_chars`, in
# `toolkit/recalltune/pipeline/presets/hel847-baseline.toml`.
#
# An agent that lives on its own remembers what it told nobody. The *gate* opens a message once what
# it speaks of was told. A list shows *gists*, short forms that drop details; *rereading* puts the
# messages themselves in their place, each through the gate by itself, within the same characters.
#
# At the end you can answer: which paths were checked? What does rereading buy for its characters?
# What does the reader of a prompt see of a memory that no longer holds?

# %%
import os
from datetime import UTC, datetime

import recalltune as rt
from recalltune.ingest.companion import read_companion
from recalltune.replay.probe import read_probe, run_probe
from recalltune.replay.reread_gain import gain_summary, reread_gain
from recalltune.report.paired import paired_negatives
from recalltune.widgets.bench import corpus_folder

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
BASE = rt.preset("hel847-baseline")
BUDGET = 600
BUDGETS = [BUDGET] if SMALL else [100, 150, 200, 300, 400, 600, 800]
CORPORA = ["harbour"] if SMALL else ["harbour", "shelf"]
DATA = corpus_folder()

# %%
shelf = rt.widgets.companion_shelf("shelf")
harbour = rt.widgets.companion_shelf("harbour")
loaded = rt.load_cases(harbour.lab, DATA / "cases" / "harbour.json", case_set="harbour")
notes = rt.open(harbour.lab.path.with_name("gates.duckdb"))
imported = rt.ingest(notes, DATA / "connector")
print(loaded)
print("shelf, by the gate:", dict(shelf.gate))
print("harbour, by the gate:", dict(harbour.gate))

# %%
now = harbour.companion.now
instants = {
    "early September": datetime(2026, 9, 5, tzinfo=UTC),
    "before the evening": datetime(2026, 9, 18, 12, tzinfo=UTC),
    "now": now,
}
rt.widgets.gate_table(harbour.lab, instants, title="The harbour's gate")

# %% [markdown]
# One row is one origin with one reason. A message the user wrote may be shown once it was said.
# The agent's own waits for proof, and the reason names the piece that is missing at that instant:
# told later and told never look alike until it happens. Numbers that move from a withheld row to
# *told* between two columns are tellings. What was lived alone and never told stays in the first
# rows.

# %%
words = read_probe(DATA / "companion" / "probe" / "shelf.json")
probed = run_probe(shelf.companion, words, folder=shelf.lab.path.parent)
rt.widgets.Table(probed, "The experiments of the plan, on our wording")

# %% [markdown]
# Expected is what the plan's own program printed for a corpus of the same shape. A row that does
# not hold names the piece of the chain to look at: `E1` to `E2b` search and order, `E3`
# rereading, `E4a` and `E4b` the gate, `E5` the file, `W1` writing, `J1` the work that makes
# gists.

# %%
memories = [read_companion(DATA / "companion" / f"{name}.json") for name in CORPORA]
paths = rt.widgets.joined_pairs([paired_negatives(memory) for memory in memories])
rt.widgets.paths_table(paths)

# %% [markdown]
# A pair is one reply: untold as it is, and the same reply told in a second lab. Each is asked for
# by its own first words, and the end of its text, and its id, are looked for in all that comes
# out. One *OUT* and the gate may not ship. The last column says whether the search looks: a path
# where no told twin came out carries no texts and no ids at all.

# %%
rt.widgets.blocks_beside(shelf, "风筝 阳台")

# %% [markdown]
# Left what the prompt holds today, right the same entries with the messages behind them. An entry
# of the user brings the reply with it, if that was shared; one that was not leaves no line, no
# blank and no length behind, and is counted above. A message is read whole or not at all.

# %%
rt.widgets.blocks_beside(harbour, "when does the bakery open")

# %%
asked = rt.candidates(harbour.lab, "harbour", BASE)
gain = reread_gain(harbour.lab, asked, BASE, budgets_chars=BUDGETS)
summary = gain_summary(gain)
rt.widgets.Table(summary, "Per budget: gists against messages read again", decimals={"chars": 0})

# %%
points, compared = rt.widgets.spending(summary, budget_chars=BUDGET)
rt.charts.pareto_quality_tokens(
    points,
    measure="Questions answered",
    cost="characters",
    comparison=compared,
    in_sample=False,
    stamp=rt.widgets.chart_stamp(asked, BASE),
)

# %% [markdown]
# Each question asks for one detail, nearly always one that the gist dropped, so the diamond
# stands low by design, and the height of the circle says how often the message is found and fits.
# The frontier shows where more characters stop paying: if it is flat beyond the circle, the
# budget has room to spare; if it still rises, messages are left out as too long.

# %%
rt.widgets.Table(
    gain.filter((gain["budget_chars"] == BUDGET) & ~gain["answered"]).drop(
        "budget_chars", "session"
    ),
    "Questions that stay open",
)

# %% [markdown]
# A question without a block was not found: rereading reads behind a list and finds nothing by
# itself. One with a block and a withheld message may ask for what was never told, and then an
# open question is the right answer.

# %%
rt.widgets.marked_block(notes, "Raw readings station", at=datetime(2026, 8, 15, tzinfo=UTC))

# %% [markdown]
# What a newer memory replaced, or what was taken back, says so in its own line, in the block and
# when it is read again. As of an earlier day the same line has no mark. Without one, a reader of
# the prompt cannot tell yesterday's truth from today's.

# %%
rt.report.decision(
    "What may be shown, and what is gained by rereading?",
    number=10,
    verdict="cannot decide",
    claim=rt.widgets.gate_claim(summary, paths, budget_chars=BUDGET),
    would_change_it="one OUT in the matrix, or real questions that ask for details gists drop",
    notebook="10_what_may_be_shown",
    out=harbour.lab.path.parent,
)

# %%
rt.widgets.stamp(asked, BASE, small=SMALL)
