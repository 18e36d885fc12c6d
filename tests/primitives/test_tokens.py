"""Tokens: what is a word, and that both sides agree on it."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.tokens import TOKENIZERS, estimate_tokens, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("!!! … => `~`", []),
        ("── │ ▌", []),
        ("good 🙂🙂", ["good", "🙂", "🙂"]),
        ("❤️ ❤", ["❤", "❤"]),
        ("👩‍💻 👍🏽", ["👩", "💻", "👍", "🏽"]),
        ("21 °C → ±2 €", ["21", "°", "c", "→", "±", "2", "€"]),
        ("\U0001fae8 \ue0b0", ["\U0001fae8", "\ue0b0"]),
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
        ("مرحبا", ["مرحبا"]),
        ("ไทย", ["ไ", "ท", "ย", "ไท", "ทย"]),
        ("မြန်မာ", ["မြ", "န်", "မာ", "မြန်", "န်မာ"]),
        ("𠮷野家", ["𠮷", "野", "家", "𠮷野", "野家"]),
        ("か\u3099 か\u200d\u3099", ["が", "が"]),
        ("ん\u3099 \u3099", ["ん\u3099", "\u3099"]),
        ("src/rank/tokens.py", ["src", "rank", "tokens", "py"]),
        ("ﬁle Ｆｕｌｌ", ["file", "full"]),
        ("co\u00adoperate \u200bzero", ["cooperate", "zero"]),
        ("STRASSE straße", ["strasse", "strasse"]),
    ],
)
def test_tokens_of_a_text_written_by_hand(text, tokens):
    assert tokenize(text) == tokens


@given(st.text(max_size=60))
def test_any_text_gives_the_tokens_of_its_normal_form(text):
    assert tokenize(text) == tokenize(unicodedata.normalize("NFKC", text))


def tells(char: str) -> bool:
    """Whether a character is more than a blank, an invisible one, punctuation or a table line."""
    category = unicodedata.category(char)
    if category[0] in "ZP" or category in ("Cc", "Cf", "Cs"):
        return False
    drawn = category[0] == "S" and (char.isascii() or 0x2500 <= ord(char) <= 0x259F)
    chosen = unicodedata.name(char, "").partition("-")[0]
    selects = (
        "VARIATION SELECTOR",
        "MONGOLIAN FREE VARIATION SELECTOR",
        "COMBINING GRAPHEME JOINER",
    )
    return not drawn and not chosen.startswith(selects)


@settings(max_examples=200)
@given(st.text(min_size=1, max_size=6))
def test_a_text_has_a_token_exactly_where_it_tells_something(text):
    normal = unicodedata.normalize("NFKC", text)
    assert bool(tokenize(text)) == any(map(tells, normal))


@settings(max_examples=50)
@given(st.text(max_size=20), st.text(max_size=20))
def test_what_stands_around_a_text_apart_leaves_its_tokens(before, text):
    assert tokenize(f"{before} \n {text}") == tokenize(before) + tokenize(text)


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_composed_and_separate_accents_give_the_same_tokens(text):
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert [tokenize(form) for form in forms] == [tokenize(text)] * 4


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("rank/tokens.py", ["see rank/tokens.py", "see rank/order.py", "py of the rank"]),
        ("~/.ssh/id_ed25519", ["key in ~/.ssh/id_ed25519", "ssh key", "id of the key"]),
        ("C:\\notes\\2026.md", ["C:\\notes\\2026.md", "notes.md", "2026"]),
        ("v1.2.3", ["since v1.2.3", "since v1.3", "3"]),
        ("🎉", ["done 🎉", "done", "🙂"]),
    ],
)
def test_a_path_a_version_an_emoji_finds_its_text_first(query, texts):
    index = PostingIndex.build([tokenize(text) for text in texts])
    assert index.scores(tokenize(query)).argmax() == 0


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
