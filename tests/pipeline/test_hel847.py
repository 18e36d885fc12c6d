"""HEL-847's block and its proposed order, worked by hand: what its golden cases do not pin."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import preset
from recalltune.pipeline.run import run, start, steps
from recalltune.pipeline.stages import Block
from recalltune.production.golden.one_query import one_query

BLOCK = Block(name="block", header="# \n")


def table(*saids, gists=None):
    made = one_query(
        [{"substring_rank": n, "substring_score": 1.0} for n in range(1, 1 + len(saids))]
    )
    ids = [f"m{n}" for n in range(len(saids))]
    spans = {"memory_id": ids, "role": ["user"] * len(saids), "text": list(saids),
             "gist": list(gists or [None] * len(saids))}  # fmt: skip
    return replace(made, spans=pl.DataFrame(spans, schema=dict.fromkeys(spans, pl.String)))


def packed(stage, made):
    order = stage.apply(start(made), made).listed()
    return order[0][order[0] >= 0].tolist(), stage.text(made, order, 0)


def test_an_entry_is_a_line_of_json_with_the_gist_or_the_text_cut_to_120():
    made = table("x" * 200, "raw", gists=[None, "风筝"])
    _, text = packed(BLOCK, made)
    header, *entries = text.splitlines()
    assert header == "# "
    assert [json.loads(entry) for entry in entries] == [
        {"id": "m0", "role": "user", "text": "x" * 120},
        {"id": "m1", "role": "user", "text": "风筝"},
    ]
    assert "风筝" in text


def test_what_does_not_fit_is_passed_over_and_the_next_is_tried():
    made = table("a" * 20, "b" * 60, "c" * 10)
    frame = len('{"id": "m0", "role": "user", "text": ""}\n')
    room = len(BLOCK.header) + 2 * frame + 30
    assert packed(BLOCK.with_(budget_chars=room), made)[0] == [0, 2]
    assert packed(BLOCK.with_(budget_chars=room - 1), made)[0] == [0]
    assert len(packed(BLOCK.with_(budget_chars=room), made)[1]) == room


def test_the_header_counts_and_a_block_without_entries_is_empty():
    made = table("a")
    assert packed(BLOCK.with_(budget_chars=2), made) == ([], "")
    assert packed(BLOCK.with_(header="h" * 600), made) == ([], "")


def test_the_cut_shortens_what_is_packed():
    made = table("a" * 50, "b" * 50)
    assert packed(BLOCK.with_(entry_chars=10, budget_chars=120), made)[0] == [0, 1]
    assert packed(BLOCK.with_(entry_chars=50, budget_chars=120), made)[0] == [0]


def test_the_proposed_score_is_occurrences_times_salience_times_decay():
    made = table("a", "b")
    made.features["substring_score"][0] = [2.0, 1.0]
    made.features["salience"][0] = [0.5, np.nan]
    made.features["age_days"][0] = [30.0, 0.0]
    config = preset("hel847-ported")
    scored = [
        state.score[0]
        for stage, _, state in steps(replace(made, token_sets=[frozenset()] * 2), config)
    ]
    # 2/3 * (1 + 9 * 0.5) * 1/2, and 1/2 * 1 * 1.
    np.testing.assert_allclose(scored[-1], [2 / 3 * 5.5 / 2, 0.5], rtol=1e-12)


def test_of_two_alike_the_second_gives_way_under_the_proposed_order():
    made = replace(
        table("a", "b", "c", "d"), token_sets=[frozenset(s) for s in ("xy", "xy", "z", "w")]
    )
    made.features["substring_score"][0] = [9.0, 8.0, 5.0, 1.0]
    # s / (1 + s): .9, .889, .833, .5; min-max 1, .972, .833, 0; second pick .7 * .972 - .3 against
    # .7 * .833.
    order = run(made, preset("hel847-ported")).listed()[0]
    assert order.tolist() == [0, 2, 1, 3]


def test_today_the_places_of_the_search_are_the_order():
    made = table(*"abcdef")
    made.features["substring_rank"][0] = [6, 5, 4, 3, 2, 1]
    order = run(made, preset("hel847-baseline")).listed()[0]
    assert order[order >= 0].tolist() == [5, 4, 3, 2]


@pytest.mark.parametrize("name", ["hel847-baseline", "hel847-ported"])
def test_the_presets_hold_the_constants_of_the_probe(name):
    values = addresses(preset(name))
    assert values["arms.substring.snippet_chars"] == 160
    assert values["arms.substring.width"] == 200
    assert values["select.top_k"] == 4
    assert (values["block.budget_chars"], values["block.entry_chars"]) == (600, 120)


def test_the_proposed_order_holds_the_constants_of_the_probe():
    values = addresses(preset("hel847-ported"))
    wanted = {"salience.salience_weight": 9.0, "decay.half_life_days": 30.0, "mmr.lambda_": 0.7}
    assert {name: values[name] for name in wanted} == wanted
    assert (values["mmr.pool"], values["mmr.similarity"]) == (200, "jaccard")
    assert values["weighted.calibration.substring"] == "saturate"
