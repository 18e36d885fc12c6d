"""Stems: the examples of Porter's paper, and the vocabulary of a collection against a peer."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.rank import porter_stem

# The examples of the paper's rules, step by step, here with what all steps together make of them.
PLURALS = "caresses caress, ponies poni, ties ti, caress caress, cats cat"
PAST = """feed feed, agreed agre, plastered plaster, bled bled, motoring motor, sing sing,
conflated conflat, troubled troubl, sized size, hopping hop, tanned tan, falling fall,
hissing hiss, fizzed fizz, failing fail, filing file, happy happi, sky sky"""
DOUBLE_SUFFIXES = """relational relat, conditional condit, rational ration, valenci valenc,
hesitanci hesit, digitizer digit, conformabli conform, radicalli radic, differentli differ,
vileli vile, analogousli analog, vietnamization vietnam, predication predic, operator oper,
feudalism feudal, decisiveness decis, hopefulness hope, callousness callous, formaliti formal,
sensitiviti sensit, sensibiliti sensibl"""
SUFFIXES = """triplicate triplic, formative form, formalize formal, electriciti electr,
electrical electr, hopeful hope, goodness good"""
LAST_SUFFIXES = """revival reviv, allowance allow, inference infer, airliner airlin,
gyroscopic gyroscop, adjustable adjust, defensible defens, irritant irrit, replacement replac,
adjustment adjust, dependent depend, adoption adopt, homologou homolog, communism commun,
activate activ, angulariti angular, homologous homolog, effective effect, bowdlerize bowdler"""
TIDYING = """probate probat, rate rate, cease ceas, controll control, roll roll,
generalizations gener, oscillators oscil"""
LETTERS = """s s, y y, as a, us u, eed eed, ing ing, ion ion, sses ss, say sai, yyy yyi, a2s a2,
trekked trek"""
STEPS = (PLURALS, PAST, DOUBLE_SUFFIXES, SUFFIXES, LAST_SUFFIXES, TIDYING, LETTERS)


@pytest.mark.parametrize("pair", [pair for step in STEPS for pair in re.split(r",\s*", step)])
def test_a_word_has_the_stem_of_the_paper(pair):
    word, stem = pair.split()
    assert porter_stem(word) == stem


@settings(max_examples=50)
@given(st.from_regex(r"[a-z0-9]{1,12}(s|ed|ing|ation|ally|ness)?", fullmatch=True))
def test_a_stem_is_never_empty_and_never_longer_than_its_word(word):
    assert 0 < len(porter_stem(word)) <= len(word)


@pytest.mark.shared
@pytest.mark.slow
def test_eleven_thousand_words_have_the_stems_of_another_implementation(shared: Path):
    """PyStemmer 3.1.0, "porter", over the words of CACM of two letters or more."""
    words: set[str] = set()
    with (shared / "data" / "cacm" / "corpus.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            words |= set(re.findall("[a-z]+", f"{row['title']} {row['text']}".lower()))
    stems = [porter_stem(word) for word in sorted(words) if len(word) > 1]
    assert len(stems) == 11_067
    told = hashlib.sha256("\n".join(stems).encode()).hexdigest()
    assert told.startswith("23a5d43859841324")
