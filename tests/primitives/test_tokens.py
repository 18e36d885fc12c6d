"""Tokens: what is a word, and that both sides agree on it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.rank.tokens import TOKENIZERS, estimate_tokens, tokenize, tokenize_plain


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("!!! … 🙂", []),
        ("Hello, world", ["hello", "world"]),
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("parseHTTPResponse2", ["parsehttpresponse2", "parse", "http", "response2"]),
        (
            "parse_http_response",
            ["parse_http_response", "parse", "http", "response"],
        ),
        ("ADR-0005", ["adr-0005", "adr", "0005"]),
        ("2026-05-14", ["2026-05-14", "2026", "05", "14"]),
        ("__init__ -x- a--b", ["init", "x", "a", "b"]),
        ("v2 k8s", ["v2", "k8s"]),
        ("每日复盘", ["每", "日", "复", "盘", "每日", "日复", "复盘"]),
        ("猫", ["猫"]),
        ("GitHub备份", ["github", "git", "hub", "备", "份", "备份"]),
        ("数据、库", ["数", "据", "数据", "库"]),
        ("ﾃﾞｰﾀ", ["デ", "ー", "タ", "デー", "ータ"]),
        ("Привет мир", ["привет", "мир"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ﬁle Ｆｕｌｌ", ["file", "full"]),
        ("co\u00adoperate \u200bzero", ["cooperate", "zero"]),
        ("STRASSE straße", ["strasse", "strasse"]),
    ],
)
def test_tokens_of_a_text_written_by_hand(text, tokens):
    assert tokenize(text) == tokens


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


@pytest.mark.parametrize("spelling", ["café naïve", "CAFÉ NAÏVE", "cafe\u0301 nai\u0308ve"])
def test_accents_are_part_of_a_word_however_they_are_encoded(spelling):
    assert tokenize(spelling) == ["café", "naïve"]


@pytest.mark.parametrize("query", ["parse_http_response", "parse http response", "http"])
def test_an_identifier_is_found_whole_and_by_its_parts(query):
    assert set(tokenize(query)) <= set(tokenize("call parse_http_response first"))


def test_a_query_of_mixed_scripts_keeps_both_halves():
    assert {"每日", "日复", "复盘", "cron", "备份"} <= set(tokenize("每日复盘 cron 备份"))


@given(st.text(max_size=60))
def test_any_text_gives_the_tokens_of_its_normal_form(text):
    assert tokenize(text) == tokenize(unicodedata.normalize("NFKC", text))


@given(st.text(max_size=60), st.sampled_from(sorted(TOKENIZERS)))
def test_tokens_are_never_empty_and_never_hold_a_space(text, name):
    for token in TOKENIZERS[name](text):
        assert token
        assert not any(char.isspace() for char in token)


@given(st.text(alphabet=st.characters(categories=["L", "N"], max_codepoint=0x2FF), min_size=1))
def test_a_token_asked_for_again_is_found_again(text):
    # The first token of a run is the whole word: asking for it must meet the indexed word.
    for token in tokenize(text):
        assert tokenize(token)[:1] == [token]


@given(st.lists(st.sampled_from(["alpha", "getUserById", "检索", "v2"]), max_size=8))
def test_words_apart_are_independent_of_each_other(words):
    assert tokenize(" ".join(words)) == [token for word in words for token in tokenize(word)]


def test_a_hostile_text_takes_time_in_proportion_to_its_length():
    # Nested repetition would need 2**40 steps here, and the suite would never end.
    assert tokenize("a" + "_" * 200_000 + "!") == ["a"]
    assert tokenize("-a" * 50_000 + "!")[0].startswith("a-a-a")
    assert len(tokenize("A" * 200_000)) == 1


def test_the_default_tokeniser_is_listed_first_and_the_table_is_read_only():
    assert next(iter(TOKENIZERS)) == "words_cjk_bigrams"
    assert TOKENIZERS["words_cjk_bigrams"] is tokenize
    with pytest.raises(TypeError):
        TOKENIZERS["mine"] = tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),  # ceil(0.25)
        ("abcde", 2),  # ceil(1.25)
        ("检", 2),  # ceil(1.5)
        ("检索ab", 4),  # ceil(3 + 0.5)
    ],
)
def test_estimated_tokens_are_one_and_a_half_per_wide_and_a_quarter_per_other_character(
    text, tokens
):
    assert estimate_tokens(text) == tokens


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_longer_text_never_costs_fewer_tokens(text, more):
    assert estimate_tokens(text) <= estimate_tokens(text + more)
