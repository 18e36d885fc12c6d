"""Rereading and accessibility: what is read within the characters left, and what use adds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.rank.accessibility import LEAST_ACCESSIBLE, STEP, accessibility
from recalltune.rank.reread import OUTCOMES, reread


def told(found):
    return [[OUTCOMES[code] for code in row if code >= 0] for row in found.outcome.tolist()]


def one(entry, own, budget, *, may_show=True):
    return reread([entry], [[0]], [[own]], [[may_show]], budget_chars=budget)


@pytest.mark.parametrize(
    ("budget", "outcome", "chars"), [(100, "read", 100), (99, "too long", 40), (40, "too long", 40)]
)
def test_a_message_is_read_whole_or_not_at_all(budget, outcome, chars):
    found = one(40, 100, budget)
    assert told(found) == [[outcome]]
    assert (found.replaced.tolist(), found.chars) == ([outcome == "read"], chars)


def test_what_may_not_be_shown_is_withheld_however_short_it_is():
    found = one(40, 1, 10_000, may_show=False)
    assert told(found) == [["withheld"]]
    assert (found.replaced.tolist(), found.chars) == ([False], 40)


def test_own_messages_come_before_what_was_said_around_better_entries():
    found = reread(
        [10, 10], [[0, 1], [2, 3]], [[20, 15], [25, 5]], [[True, True], [True, True]],
        budget_chars=50,
    )  # fmt: skip
    # 20 + 25 = 45 for both own messages; then 15 does not fit and 5 does.
    assert told(found) == [["read", "too long"], ["read", "read"]]
    assert (found.replaced.tolist(), found.chars) == ([True, True], 50)


def test_a_message_that_stands_above_is_not_read_twice_and_its_entry_goes():
    found = reread([10, 12], [[7, 8], [8, 7]], [[10, 30], [30, 10]], np.full((2, 2), True),
                   budget_chars=60)  # fmt: skip
    assert told(found) == [["read", "read above"], ["read", "read above"]]
    assert found.chars == 40
    again = reread([10, 12], [[7], [7]], [[20], [20]], [[True], [True]], budget_chars=32)
    assert told(again) == [["read"], ["read above"]]
    assert (again.replaced.tolist(), again.chars) == ([True, True], 20)


def test_nothing_to_read_leaves_the_list_as_it_is():
    for message in (np.full((2, 1), -1), np.zeros((2, 0), dtype=np.int64)):
        found = reread([10, 12], message, np.zeros(message.shape, dtype=np.int64),
                       np.full(message.shape, True), budget_chars=22)  # fmt: skip
        assert (found.chars, found.replaced.any(), (found.outcome >= 0).any()) == (22, False, False)
    empty = np.zeros((0, 0), dtype=np.int64)
    assert reread([], empty, empty, empty.astype(bool), budget_chars=0).chars == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget_chars": 9}, "budget_chars must hold the list as it stands, 10 characters, got 9"),
        ({"budget_chars": -1}, "budget_chars must be a whole number >= 0, got -1"),
        ({"entry_chars": [-1]}, "entry_chars must be >= 0"),
        ({"message": [[-2]]}, "message must be >= -1"),
        ({"message": [0]}, r"got \(1,\) and \(1,\)"),
        ({"message_chars": [[1, 2]]}, r"message_chars must have the shape of message, \(1, 1\)"),
        ({"message_chars": [[-1]]}, "message_chars must be >= 0"),
        ({"may_show": [[True, False]]}, "may_show must have the shape of message"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(given, words):
    right = {"entry_chars": [10], "message": [[0]], "message_chars": [[1]], "may_show": [[True]],
             "budget_chars": 50}  # fmt: skip
    with pytest.raises(ParameterError, match=words):
        reread(**(right | given))


LISTS = st.integers(0, 4).flatmap(
    lambda k: st.integers(1, 3).flatmap(
        lambda p: st.tuples(
            st.lists(st.integers(0, 30), min_size=k, max_size=k),
            *(
                st.lists(st.lists(cell, min_size=p, max_size=p), min_size=k, max_size=k)
                for cell in (st.integers(-1, 6), st.integers(0, 60), st.booleans())
            ),
            st.integers(0, 120),
            st.just(p),
        )
    )
)


@given(LISTS)
def test_the_account_adds_up_and_what_is_withheld_moves_nothing(drawn):
    entries, message, chars, may_show, spare, p = drawn
    shape = (len(entries), p)
    message, chars = (np.array(a, dtype=np.int64).reshape(shape) for a in (message, chars))
    may_show = np.array(may_show, dtype=bool).reshape(shape)
    budget = sum(entries) + spare
    found = reread(entries, message, chars, may_show, budget_chars=budget)
    is_read = found.outcome == OUTCOMES.index("read")
    above = found.outcome == OUTCOMES.index("read above")
    withheld = found.outcome == OUTCOMES.index("withheld")
    assert ((found.outcome < 0) == (message < 0)).all()
    assert (withheld == ((message >= 0) & ~may_show)).all()
    assert np.unique(message[is_read]).size == is_read.sum()
    assert set(message[above]) <= set(message[is_read])
    assert (found.replaced == (is_read | above)[:, 0]).all()
    kept = np.array(entries, dtype=np.int64)[~found.replaced].sum()
    assert found.chars == kept + chars[is_read].sum() <= budget
    # Neither the length of what is withheld nor whose it is.
    other = reread(entries, np.where(withheld, 99, message), np.where(withheld, 10**9, chars),
                   may_show, budget_chars=budget)  # fmt: skip
    assert (other.outcome == found.outcome).all()
    assert other.chars == found.chars


def test_use_raises_accessibility_by_a_step_up_to_one():
    assert accessibility([0, 1, 2, 3, 4], 0.05).tolist() == pytest.approx([0.05, 0.3, 0.55, 0.8, 1])
    assert accessibility([0, 9]).tolist() == [1.0, 1.0]
    assert (STEP, LEAST_ACCESSIBLE) == (0.25, 0.05)
    for wrong in ({"uses": [-1]}, {"uses": [0], "start": 1.1}, {"uses": [0], "step": -0.1}):
        with pytest.raises(ParameterError, match=next(reversed(wrong))):
            accessibility(**wrong)
