"""Where the tokenisers of others differ from each other and from ours, and why ours is the default.

What upstream gives for the same texts is in the golden group `tokenize`; here stand the
differences one has to know of before comparing two systems.
"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.rank import (
    LUCENE_STOP_WORDS,
    TOKENIZERS,
    TextIndex,
    WithoutStopWords,
    tokenize_plain,
    tokenize_porter,
)

NAMES = ("openclaw_release", "openclaw_main", "probe", "words_cjk_bigrams")
JAMO = unicodedata.normalize("NFD", "한")
OLD_JAMO = "\u1112\u119e"  # a vowel of the past: composes to nothing


@pytest.mark.parametrize(
    ("text", "release", "main", "probe", "ours"),
    [
        # A mixed run is no word in main: its Latin half is lost.
        (
            "GitHub备份",
            ["github", "备", "份", "备份"],
            ["备", "份", "备份"],
            ["github", "备", "份", "备份"],
            ["github", "git", "hub", "备", "份", "备份"],
        ),
        ("我x好", ["x", "我", "好"], ["我", "好"], ["x", "我", "好"], ["我", "x", "好"]),
        # The release has letters of ASCII only.
        ("Привет мир", [], ["привет", "мир"], ["привет", "мир"], ["привет", "мир"]),
        ("مرحبا", [], ["مرحبا"], ["مرحبا"], ["مرحبا"]),
        # The long vowel mark counts as a character everywhere, the middle dot upstream.
        ("ー", ["ー"], ["ー"], ["ー"], ["ー"]),
        ("ア・イ", *[["ア", "・", "イ", "ア・", "・イ"]] * 3, ["ア", "イ"]),
        # Separate Jamo: pairs of pieces, or one syllable where the text is composed first.
        (JAMO, *[[*JAMO, JAMO[:2], JAMO[1:]]] * 2, ["한"], ["한"]),
        (OLD_JAMO, *[[*OLD_JAMO, OLD_JAMO]] * 2, [OLD_JAMO], [*OLD_JAMO, OLD_JAMO]),
        # Characters beyond the first plane: dropped, dropped, a word, a character.
        (
            "𠮷野家",
            ["野", "家", "野家"],
            ["野", "家", "野家"],
            ["𠮷", "野", "家", "野家"],
            ["𠮷", "野", "家", "𠮷野", "野家"],
        ),
        ("𠮷𠮷", [], ["𠮷𠮷"], ["𠮷𠮷"], ["𠮷", "𠮷", "𠮷𠮷"]),
        # Accents, composed and separate.
        ("Été", ["t"], ["été"], ["été"], ["été"]),
        (unicodedata.normalize("NFD", "Été"), ["e", "te"], ["e", "te"], ["été"], ["été"]),
        # Marks are no letters upstream, so Hindi falls to pieces.
        ("हिन्दी", [], ["ह", "न", "द"], ["ह", "न", "द"], ["हिन्दी"]),
        ("🙂", [], [], [], ["🙂"]),
        (
            "parse_http",
            ["parse_http"],
            ["parse_http"],
            ["parse_http"],
            ["parse_http", "parse", "http"],
        ),
        (
            "ADR-0005",
            ["adr", "0005"],
            ["adr", "0005"],
            ["adr", "0005"],
            ["adr-0005", "adr", "0005"],
        ),
    ],
)
def test_the_four_cut_the_same_text_like_this(text, release, main, probe, ours):
    found = {name: TOKENIZERS[name](text) for name in NAMES}
    assert found == dict(zip(NAMES, (release, main, probe, ours), strict=True))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't stop-2", ["don", "t", "stop", "2"]),
        ("检索排序", ["检索", "索排", "排序"]),
        ("我有猫 a猫b", ["我有", "有猫", "a", "猫", "b"]),
        ("café", ["caf"]),
    ],
)
def test_the_plain_analyser_knows_ascii_words_and_cjk_pairs(text, tokens):
    assert tokenize_plain(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The indexing of libraries", ["index", "librari"]),
        ("It's its", ["s", "it"]),  # a stop word goes before stems are made
        ("To be, or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("THE", ["the"]),
        ("the 检索 of 2026", ["检索", "2026"]),
        ("...", []),
    ],
)
def test_the_porter_analyser_drops_stop_words_first_and_never_the_whole_text(text, tokens):
    assert tokenize_porter(text) == tokens


def test_stop_words_are_lucenes_33():
    assert len(LUCENE_STOP_WORDS) == 33
    assert {"such", "their", "will"} < LUCENE_STOP_WORDS
    assert not {"i", "you", "he", "from", "who"} & LUCENE_STOP_WORDS


@settings(max_examples=50)
@given(st.text(max_size=30), st.sampled_from(sorted(TOKENIZERS)))
def test_a_text_finds_itself_under_every_tokeniser_that_gives_it_tokens(text, name):
    index, tokens = TextIndex.build(["garden", text, ""], name).asked(text)
    assert (index.scores(tokens)[1] > 0) == bool(TOKENIZERS[name](text))


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["the", "not", "to", "be", "cat"])))
def test_stop_words_are_left_out_exactly_where_another_word_stays(words):
    text, cat = " ".join(words), words.count("cat")
    band = WithoutStopWords(str.split, frozenset(words) - {"cat"})
    assert band(text) == (["cat"] * cat or words)
    assert band.every(text) == words
    assert band.only_stop_words(text) == (bool(words) and not cat)


def test_an_unknown_tokeniser_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="nearest: 'openclaw_main'"):
        TextIndex.build(["a"], "openclaw_man")
