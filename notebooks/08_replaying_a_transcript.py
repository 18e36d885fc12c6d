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
# # What would have been recalled, turn by turn?
#
# **The decision this feeds:** whether the whole chain can be trusted: does the replay show what
# production showed, and what would users see if another config shipped?
# **Today's value:** production runs `data/recallnest/config.json` and wrote the search log; the
# default here is `toolkit/recalltune/pipeline/presets/textbook.toml`.
#
# A replay asks every question of a transcript again, against the memory *as it stood then*: an
# event is seen by a question only if it happened strictly before it.
#
# At the end you can answer: what did the agent see at a step, and why not the other memory? How do
# we know that nothing leaks from the future? What would change for our users?

# %%
import os
import tempfile
from pathlib import Path

import recalltune as rt
from recalltune.evaluate.query_views import flow, rival, waterfall, withheld, withheld_targets
from recalltune.production.recallnest_file import import_recallnest
from recalltune.replay.fate_views import loss_account
from recalltune.replay.future import WAYS, without_time
from recalltune.replay.log_views import churn_means, churn_rows
from recalltune.replay.step_views import followed, injected, targets_by_step, telling_step

mode = rt.charts.setup()

# %%
SMALL = os.environ.get("RECALLTUNE_SMALL") == "1"
SCOPE, CASES = "project:heronfield", "demo"
CHANGES = WAYS[-1:] if SMALL else WAYS
STRENGTHS = [0.0, 2.0] if SMALL else [0.0, 0.5, 2.0]

BASE = rt.preset("textbook")
PRODUCTION = import_recallnest(rt.widgets.corpus_folder() / "recallnest" / "config.json")
FADING = {"decay.family": "exponential", "decay.half_life_days": 60}
CANDIDATE = rt.set_many(BASE, FADING).with_(name="candidate")
COMPARED = {"candidate": CANDIDATE} if SMALL else {"default": BASE, "candidate": CANDIDATE}

# %%
transcripts = rt.widgets.corpus_folder() / "transcripts"
with tempfile.TemporaryDirectory() as folder:
    fresh = rt.open(Path(folder) / "sessions.duckdb")
    report = rt.ingest(fresh, [transcripts])
    as_read = rt.widgets.turns_as_read(fresh)
print(rt.widgets.import_table(report), rt.widgets.dropped(report), sep="\n\n")
as_read

# %% [markdown]
# A transcript is mostly not talk: results of tools, thinking, recaps a machine wrote. Each line
# that is left out has its reason above. A column *asked* that is empty would mean that there is
# nothing to replay.

# %%
bench = rt.widgets.demo_bench()
labelled = rt.replay(bench.lab, CANDIDATE, cases=CASES)
walk = followed(rt.replay(bench.lab, CANDIDATE, scope=SCOPE), labelled)
stamp = rt.widgets.chart_stamp(walk.candidates, CANDIDATE)
print(f"{walk.steps.height} turns of transcripts, {labelled.steps.height} tuning cases replayed")

# %%
rt.charts.quota_account(
    injected(walk),
    form="timeline",
    targets=targets_by_step(walk),
    round_name="recall step",
    stamp=stamp,
)

# %% [markdown]
# Every bar is what one turn would have put into the prompt, by layer; pale and down is what was
# proposed and got no place. A day whose bars have one colour hears from one layer only. Where a
# case asks the same words at the same moment, its targets are followed: a triangle is an answer
# that was there and was not shown. Next, the step whose proposed targets fare worst is unfolded.

# %%
step = telling_step(walk)
rt.widgets.moment(walk.candidates, CANDIDATE, step, gloss=bench.gloss)

# %%
print(withheld(withheld_targets(walk.candidates, step)))
rt.widgets.answer(walk.candidates, walk, step, gloss=bench.gloss)

# %%
target, other = rival(walk.candidates, walk, step)
frame = waterfall(walk.candidates, CANDIDATE, step, {"target": target, "rival": other})
query = rt.widgets.question(walk.candidates, step)
rt.charts.score_waterfall(frame, items=["target", "rival"], query=query, stamp=stamp)

# %% [markdown]
# First what could be known at that moment, then what was shown, then how target and rival came to
# their scores. If the target was known and proposed, the fault lies in the ranking; if it was known
# and not proposed, in the arms; if it was not known, the label asks for the future.

# %%
slider = rt.widgets.step_slider(walk, gloss=bench.gloss)
slider.snapshot()

# %%
slider

# %%
moments = walk.steps["asked_at"].sort()
cut = moments[len(moments) // 2]
proof = rt.prove_no_leak(bench.lab, walk.candidates, CANDIDATE, at=cut, ways=CHANGES)
assert proof.holds
rt.widgets.proof_table(proof)

# %% [markdown]
# The proof, before your eyes: the lab is copied, everything from the middle step on is taken away,
# shuffled or made up (*births* to *turns* count it), and all steps up to it are asked again.
# Scores, ranks, ages and lists are compared bit by bit. The control is a lab that knows everything
# from the beginning: if nothing differed there, the comparison could not see a leak.

# %%
with without_time(bench.lab) as static:
    leaking = rt.replay(static, CANDIDATE, cases=CASES)
counts, moved = rt.widgets.flattered(labelled, leaking)
counts

# %%
query_id = rt.widgets.most_flattered(moved)
lists = flow(labelled.candidates, {"as of then": labelled, "index of today": leaking}, query_id)
query = rt.widgets.question(labelled.candidates, query_id)
rt.charts.rank_flow(lists, query=query, noun="run", stamp=stamp)

# %% [markdown]
# The wrong way: an index built today and asked about yesterday. The case drawn is the one whose
# target gains most by knowing the future. A memory that did not exist yet has no text here. If
# targets fall as well as rise, the error of a static index is not even on the safe side.

# %%
lost = loss_account(labelled.fates, CANDIDATE)
rt.charts.loss_stages(lost, cases=labelled.steps.height, detail="Tuning cases.", stamp=stamp)

# %% [markdown]
# All labelled steps together: a target counts at the first stage that takes it out for good. What
# is lost on the left cannot be brought back on the right; *pushed out by* names the stage that
# moved a target from the first places to below them.

# %%
labels = [f"reinforcement {strength:g}" for strength in STRENGTHS]
configs = [rt.set_many(CANDIDATE, {"decay.reinforcement": strength}) for strength in STRENGTHS]
used = rt.reinforce(labelled.candidates, configs, labels=labels)
detail = "Tuning cases, by time; what is shown counts as used."
rt.charts.exposure_share(used.exposure(), measure="top_10_share", detail=detail, stamp=stamp)

# %%
rt.charts.feedback_drift(used.drift(), detail=detail, stamp=stamp)

# %% [markdown]
# What is shown counts as used, and what is used fades more slowly: each list changes the later
# ones. In the first picture, a line that climbs away from the one without reinforcement means that
# a few memories take ever more places. The second is the price: how far lists drift, and whether a
# memory is found the first time it is needed.

# %%
logs = {
    name: rt.replay_search_log(bench.lab, config, production=PRODUCTION)
    for name, config in COMPARED.items()
}
print(rt.widgets.churn_table(logs))
log = logs["candidate"]
mean, floor = churn_means(log)
rt.charts.churn(churn_rows(log), mean=mean, floor=floor, subject="The candidate", stamp=stamp)

# %% [markdown]
# Each bar is one logged search: how much of the list production showed would change, by the stage
# that explains it. The noise floor is production's own config against its own log: what the replay
# cannot reproduce. A churn says something above it only, and it is the size of a change, not its
# worth: nobody has judged what would enter. The demo's log was written by this library's model of
# production; only a log of the server itself can show where that model is wrong.

# %%
own = rt.replay_search_log(bench.lab, PRODUCTION, production=PRODUCTION)
agreement = rt.widgets.agreement(own)
ledgers = {"turns": walk.ledger, "cases": labelled.ledger, "search log": log.ledger}
print(rt.widgets.ledger_table(ledgers))
agreement.causes

# %% [markdown]
# First what the runs had to do without: a hop that befalls the whole run, such as a missing
# encoder, makes every number above a number about something else. Then the differences between
# replay and log, by cause: the largest is the one to mend first.

# %%
rt.report.decision(
    "What would have been recalled, turn by turn?",
    number=8,
    verdict=agreement.verdict,
    claim=agreement.claim,
    would_change_it="a list that differs, in the cell above, on a log of the production server",
    notebook="08_replaying_a_transcript",
    out=bench.out,
)

# %%
rt.widgets.stamp(walk.candidates, CANDIDATE, small=SMALL)
