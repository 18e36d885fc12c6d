"""Bug bank A4-A12, O101, O103: fusing lists, and what a query's text may do."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import recalltune as rt
from fused_lists import config, shown, table
from recalltune.errors import ParameterError, RecalltuneError
from recalltune.rank import min_max, ranks_of_lists, rrf
from recalltune.store import Memory, read_table
from small_lab import Ask, Note, WordEncoder, make_lab

# --- A4 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dense", "lexical", "expected"),
    [
        (0.8, 0.2, {"a": 0.8 / 61 + 0.2 / 62, "b": 0.8 / 62 + 0.2 / 61}),
        (0.2, 0.8, {"b": 0.2 / 62 + 0.8 / 61, "a": 0.2 / 61 + 0.8 / 62}),
        (0.5, 0.5, {"a": 0.5 / 61 + 0.5 / 62, "b": 0.5 / 61 + 0.5 / 62}),
    ],
)
def test_weights_decide_which_arm_leads_and_a_tie_goes_to_the_first_id(dense, lexical, expected):
    """A4. Kind: weights silently ignored."""
    weights = {"dense": dense, "lexical": lexical}
    found = shown(
        table({"dense": ["a", "b"], "lexical": ["b", "a"]}),
        config({"kind": "rrf", "weights": weights}),
    )
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-12)
    assert {round(score, 6) for score in found.values()} <= {0.016341, 0.016182, 0.016261}


@pytest.mark.parametrize("kind", ["rrf", "weighted"])
def test_an_arm_of_weight_zero_shows_nothing_of_its_own(kind):
    """A4. Kind: weights silently ignored."""
    lists = table({"dense": ["a"], "lexical": ["b"]})
    assert list(shown(lists, config({"kind": kind, "weights": {"lexical": 0.0}}))) == ["a"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rrf", "weighted"])
def test_an_arm_of_weight_zero_adds_no_rows_to_a_run(tmp_path, kind):
    """A4. Kind: weights silently ignored."""
    # The dense arm proposes both memories, the lexical arm only a.
    notes = [Note("a", "ticket HX-4471 closed", 1.0), Note("b", "server room", 1.0)]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [Ask("q", "ticket", 9.0, ("a",))])
    for weight, expected in ((0.0, ["a"]), (0.5, ["a", "b"])):
        setting = config({"kind": kind, "weights": {"dense": weight}})
        run = rt.evaluate(rt.candidates(lab, "s", setting, encoder=WordEncoder()), setting)
        assert run.hits["memory_id"].to_list() == expected


def test_weights_of_an_arm_that_is_not_on_are_refused():
    """A4. Kind: weights silently ignored."""
    with pytest.raises(ParameterError, match=r"rrf\.weights names the arm 'lexcial'"):
        config({"kind": "rrf", "weights": {"lexcial": 0.3}})


# --- A5 -------------------------------------------------------------------------------------


def test_an_absent_row_adds_nothing_and_ranks_start_at_one():
    """A5. Kind: missing rank given an invented rank; 0-based rank."""
    found = shown(table({"dense": ["m", "n", "t"], "lexical": ["u", "v", "t"]}), config())
    assert list(found) == ["t", "m", "u", "n", "v"]
    assert [round(score, 6) for score in found.values()] == [
        0.031746,
        0.016393,
        0.016393,
        0.016129,
        0.016129,
    ]
    with pytest.raises(ParameterError, match=r"ranks must lie in \[1, inf\), got 0.0"):
        rrf([[0.0, 1.0]])


# --- A6 -------------------------------------------------------------------------------------

TIED = """
import sys
sys.path.insert(0, {here!r})
from fused_lists import config, shown, table
arms = {{("dense", frozenset("pq")), ("lexical", frozenset("rs"))}}
lists = {{arm: sorted(ids) for arm, ids in arms}}
print("".join(shown(table(lists), config())))
"""


def test_ties_follow_the_id_whichever_arm_comes_first_and_however_long_the_list():
    """A6. Kind: unstable order of ties."""
    lists = {"dense": ["p", "q"], "lexical": ["r", "s"]}
    for given in (lists, dict(reversed(lists.items()))):
        assert list(shown(table(given), config())) == ["p", "r", "q", "s"]
        pages = [
            list(shown(table(given), config({"kind": "rrf"}, {"kind": "select", "top_k": places})))
            for places in (2, 4)
        ]
        assert pages == [["p", "r"], ["p", "r", "q", "s"]]


@pytest.mark.stress
def test_ties_are_broken_alike_in_fifty_processes_that_hash_otherwise():
    """A6. Kind: unstable order of ties."""
    script = TIED.format(here=str(Path(__file__).parent.parent))
    orders = set()
    for seed in range(50):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        )
        orders.add(done.stdout.strip())
    assert orders == {"prqs"}


# --- A7 -------------------------------------------------------------------------------------


def test_sums_of_the_same_terms_in_another_order_are_a_tie():
    """A7. Kind: ties broken by float noise."""
    # x has the ranks (1, 1, 2), y (2, 1, 1); the middle arm is made to return both first.
    lists = table({"dense": ["x", "y"], "lexical": ["x", "y"], "time": ["y", "x"]})
    lists.features["lexical_rank"][0] = [1.0, 1.0]
    found = shown(lists, config())
    assert found["x"] != found["y"]
    assert found["y"] > found["x"]
    assert list(found) == ["x", "y"]


# --- A8 -------------------------------------------------------------------------------------


def test_a_row_number_is_never_taken_for_the_id_of_a_memory():
    """A8. Kind: same item under two identities."""
    with pytest.raises(ParameterError, match="arm 'vector' must return ids as text, got int ids"):
        ranks_of_lists({"lexical": ["mem-7"], "vector": [7]})
    with pytest.raises((RecalltuneError, ValidationError), match="memory_id"):
        Memory(memory_id=7, text_hash="x")
    one = shown(table({"lexical": ["mem-7"], "dense": ["mem-7"]}), config())
    assert one == {"mem-7": pytest.approx(2 / 61)}


# --- A9, A11 --------------------------------------------------------------------------------


def test_an_id_that_an_arm_repeats_counts_once_and_the_ranks_close_up():
    """A9. Kind: repeated ids inside one arm inflate RRF."""
    found = shown(table({"dense": ["s1", "s1", "s1", "s2"], "lexical": ["s2"]}), config())
    assert found == pytest.approx({"s2": 1 / 62 + 1 / 61, "s1": 1 / 61}, rel=1e-12)
    assert list(found) == ["s2", "s1"]


def test_chunks_become_their_memory_before_the_arms_are_fused():
    """A11. Kind: arms at different granularity."""
    chunks = {"M2#0": "M2", "M2#3": "M2", "M1#5": "M1"}
    lists = {"lexical": ["M1"], "dense": list(chunks)}
    found = shown(table(lists, memory_of=chunks), config())
    assert found == pytest.approx({"M1": 1 / 61 + 1 / 62, "M2": 1 / 61}, rel=1e-12)
    assert list(found) == ["M1", "M2"]


@pytest.mark.slow
def test_an_arm_of_the_library_returns_every_memory_once_with_ranks_from_one_on(tmp_path):
    """A9, A11, for the arms there are: memories are what they rank."""
    notes = [Note(f"m{n}", "tea server" if n % 2 else "tea", leaves=None) for n in range(8)]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [Ask("q", "server tea tea", 9.0, ("m1",))])
    found = rt.candidates(lab, "s", config(), encoder=WordEncoder())
    ids = [found.memory_id(0, column) for column in range(found.span.shape[1])]
    assert ids == sorted(set(ids))
    for arm in ("dense", "lexical"):
        ranks = found.feature(f"{arm}_rank")[0]
        assert sorted(ranks[~np.isnan(ranks)]) == list(range(1, 9))


# --- A10, O101, O103: on a lab ----------------------------------------------------------------


@pytest.mark.slow
def test_two_memories_of_one_text_stay_two_with_their_own_scope_and_time(tmp_path):
    """A10. Kind: merge keyed by text, not id."""
    notes = [Note("u1", "ok, done", 1.0, "user"), Note("u2", "ok, done", 3.0, "project")]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [])
    found = rt.ask(lab, "done", config(), encoder=WordEncoder())
    rows = found.spans[found.span[0].tolist()]
    assert rows["memory_id"].to_list() == ["u1", "u2"]
    assert rows["scope"].to_list() == ["user", "project"]
    ages = found.feature("age_days")[0]
    assert ages[0] - ages[1] == pytest.approx(2.0)


@pytest.mark.stress
@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["min_max", "z_score"])
def test_what_is_filtered_out_sets_no_scale_for_the_rest(tmp_path, calibration):
    """O101. Kind: normaliser anchored on rows later filtered out."""
    seen = [Note("b", "tea tea server release"), Note("c", "tea server release sensor")]
    hidden = Note("a", "tea tea tea tea", scope="other")
    stage = {"kind": "weighted", "calibration": dict.fromkeys(("dense", "lexical"), calibration)}
    runs = []
    for name, notes in (("alone", seen), ("beside", [*seen, hidden])):
        lab = make_lab(tmp_path / f"{name}.duckdb", notes, [])
        found = rt.ask(lab, "tea", config(stage), scope="team", encoder=WordEncoder())
        runs.append(shown(found, config(stage)))
    assert runs[0] == runs[1]
    # The best of the visible has the top of the scale, whoever was hidden.
    assert min_max([0.016, 0.008], floor=0.0).tolist() == [1.0, 0.0]


@pytest.mark.slow
def test_the_text_of_a_query_is_words_and_never_syntax(tmp_path):
    """O103. Kind: query text read as syntax."""
    notes = [Note("a", "drop the table of memories"), Note("b", "tea")]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [])
    with lab.reading() as con:
        before = read_table(con, "memory")
    hostile = {
        '"unbalanced (AND OR NOT * :': [],
        'a" OR 1=1 --': [],
        "'; drop table memories": ["a"],
        "%_\\": [],
        "tea OR": ["b"],
        "te*": [],
    }
    lexical = config(arms={"lexical": {}})
    for text, expected in hostile.items():
        found = rt.ask(lab, text, lexical)
        assert [found.memory_id(0, c) for c in range(found.span.shape[1])] == expected, text
    with lab.reading() as con:
        assert read_table(con, "memory").equals(before)


# --- A12 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", ["min_max", "z_score", "saturate", "logistic"])
def test_a_hit_always_adds_more_than_a_row_the_arm_did_not_return(calibration):
    """A12. Kind: degenerate normalisation."""
    for scores in ([0.5, 0.5], [0.62], [0.9, 0.5, 0.1]):
        ids = "abc"[: len(scores)]
        known = {"lexical": dict(zip(ids, scores, strict=True)), "dense": {"z": 0.0}}
        lists = table({"lexical": list(ids), "dense": ["z"]}, scores=known)
        stage: dict[str, Any] = {"kind": "weighted", "calibration": {"lexical": calibration}}
        found = shown(lists, config(stage))
        assert all(np.isfinite(score) for score in found.values())
        assert found["z"] == 0.0
        assert min(found[one] for one in ids) > 0.0
        for one, other in itertools.pairwise(ids):
            same = known["lexical"][one] == known["lexical"][other]
            assert (found[one] == found[other]) == same


def test_a_list_of_equal_scores_is_all_one_under_min_max():
    """A12. Kind: degenerate normalisation."""
    assert min_max([0.5, 0.5]).tolist() == [1.0, 1.0]
    assert min_max([0.62]).tolist() == [1.0]
