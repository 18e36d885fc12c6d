"""Ranks out of lists of ids: one memory is one column, whatever the lists hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank import rank_order, ranks_of_lists, rrf

IDS = st.lists(st.sampled_from("abcdef"), max_size=8)
LISTS = st.dictionaries(st.sampled_from(["dense", "lexical", "time"]), IDS, min_size=1)
NAN = np.nan


def test_ranks_worked_by_hand():
    ids, ranks = ranks_of_lists({"sparse": ["u", "v", "t"], "dense": ["m", "n", "t"]})
    assert ids == ("m", "n", "t", "u", "v")
    np.testing.assert_array_equal(ranks, [[1, 2, 3, NAN, NAN], [NAN, NAN, 3, 1, 2]])


def test_nothing_returned_gives_no_columns():
    ids, ranks = ranks_of_lists({"dense": [], "lexical": []})
    assert ids == ()
    assert ranks.shape == (2, 0)


@settings(max_examples=50)
@given(LISTS)
def test_ranks_of_an_arm_are_one_to_n_without_a_gap_or_a_repeat(lists):
    ids, ranks = ranks_of_lists(lists)
    assert list(ids) == sorted(set().union(*map(set, lists.values())))
    for arm, row in zip(sorted(lists), ranks, strict=True):
        held = row[~np.isnan(row)]
        assert sorted(held) == list(range(1, len(set(lists[arm])) + 1))
        # Who stands before whom is as in the list.
        first = {one: lists[arm].index(one) for one in set(lists[arm])}
        by_rank = [ids[c] for c in np.argsort(row)[: held.size]]
        assert by_rank == sorted(first, key=first.__getitem__)


@settings(max_examples=50)
@given(LISTS)
def test_the_order_in_which_arms_are_given_changes_nothing(lists):
    ids, ranks = ranks_of_lists(lists)
    other, again = ranks_of_lists(dict(reversed(lists.items())))
    assert (ids, ranks.tobytes()) == (other, again.tobytes())


@settings(max_examples=50)
@given(LISTS)
def test_new_names_in_the_old_order_change_no_rank(lists):
    renamed = {arm: [f"x{one}" for one in listed] for arm, listed in lists.items()}
    ids, ranks = ranks_of_lists(lists)
    names, again = ranks_of_lists(renamed)
    assert names == tuple(f"x{one}" for one in ids)
    assert ranks.tobytes() == again.tobytes()


@settings(max_examples=50)
@given(LISTS, st.permutations("abcdef"))
def test_any_new_names_give_every_memory_its_old_score(lists, names):
    other = dict(zip("abcdef", names, strict=True))
    renamed = {arm: [other[one] for one in listed] for arm, listed in lists.items()}
    scores = [dict(zip(i, rrf(r).tolist(), strict=True)) if i else {} for i, r in
              (ranks_of_lists(lists), ranks_of_lists(renamed))]  # fmt: skip
    assert {other[one]: score for one, score in scores[0].items()} == scores[1]


def test_an_id_that_is_not_text_is_refused_with_its_arm_and_type():
    with pytest.raises(ParameterError, match="arm 'vector' must return ids as text, got int ids"):
        ranks_of_lists({"lexical": ["mem-7"], "vector": [7]})
    with pytest.raises(ParameterError, match="arm 'lexical' must return a list of ids, got the"):
        ranks_of_lists({"lexical": "mem-7"})


def test_equal_scores_follow_the_ids_and_not_the_lists():
    ids, ranks = ranks_of_lists({"a": ["q", "p"], "b": ["p", "q"]})
    assert [ids[c] for c in rank_order(rrf(ranks))] == ["p", "q"]
