"""Likeness of texts by their tokens, and of texts that have none."""

from __future__ import annotations

import numpy as np
import pytest

from recalltune.errors import ParameterError
from recalltune.rank.diversity import jaccard
from recalltune.rank.likeness import text_likeness
from recalltune.rank.tokens import TOKENIZERS

RELEASE = TOKENIZERS["openclaw_release"]


def test_texts_with_tokens_are_alike_as_their_token_sets_are():
    texts = ["今天讨论", "今天讨论排序", "deploy gateway", "Gateway DEPLOY"]
    found = text_likeness(texts, tokenise=RELEASE)
    np.testing.assert_array_equal(found, jaccard([RELEASE(text) for text in texts]))
    assert (found[0, 2], found[2, 3]) == (0.0, 1.0)


def test_texts_without_tokens_are_alike_only_if_they_are_the_same_text():
    texts = ["Привет", " привет ", "пока", "", " ", "x"]
    found = text_likeness(texts, tokenise=RELEASE)
    expected = np.eye(6)
    expected[0, 1] = expected[1, 0] = expected[3, 4] = expected[4, 3] = 1.0
    np.testing.assert_array_equal(found, expected)
    # By their sets alone all but the last would be doubles of one another.
    assert (jaccard([RELEASE(text) for text in texts])[:5, :5] == 1.0).all()


def test_a_bare_text_is_no_list_of_texts():
    with pytest.raises(ParameterError, match="texts must be a list"):
        text_likeness("abc", tokenise=str.split)
