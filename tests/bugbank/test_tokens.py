"""Bug bank C23 to C28: what a token is, in a memory and in a question."""

from __future__ import annotations

import unicodedata

import pytest

from recalltune.rank import TextIndex, tokenize


def scores(texts: list[str], query: str, tokeniser: str = "words_cjk_bigrams") -> list[float]:
    index, tokens = TextIndex.build(texts, tokeniser).asked(query)
    return index.scores(tokens).tolist()


def test_c23_a_word_inside_a_chinese_text_is_found_and_no_other_text_is() -> None:
    """Kind: CJK text becomes one token or none."""
    texts = ["今天讨论检索排序", "明天去游泳", "预算已批准"]
    # Pairs alone: 7, 4 and 4 of them; ln(1 + 2.5 / 1.5) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 7 / 5)).
    assert scores(texts, "检索", "plain") == pytest.approx([0.842900, 0, 0], abs=1e-6)
    first, *others = scores(texts, "检索")
    assert first > 0
    assert others == [0, 0]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("我养了一只猫", "猫"),
        ("ネコを飼っています", "ネコ"),
        ("고양이를키워요", "고양이"),
        ("𠮷野家の牛丼", "𠮷野家"),
        ("ผมชอบแมวมาก", "แมว"),
        ("ຂ້ອຍມັກແມວ", "ແມວ"),
        ("ខ្ញុំចូលចិត្តឆ្មា", "ឆ្មា"),
        ("ကြောင်ချစ်တယ်", "ကြောင်"),
    ],
    ids=["han", "kana", "hangul", "han B", "thai", "lao", "khmer", "burmese"],
)
def test_c23_a_word_is_found_in_every_script_without_spaces(text: str, inside: str) -> None:
    """Kind: CJK text becomes one token or none."""
    assert scores([text, "garden"], inside)[0] > 0


def test_c24_both_halves_of_a_mixed_question_count() -> None:
    """Kind: mixed-script query loses one half."""
    query = "每日复盘 cron 备份"
    assert {"每日", "日复", "复盘", "cron", "备份"} <= set(tokenize(query))
    whole, without = (scores([text, "其他"], query)[0] for text in (query, "每日复盘 备份"))
    assert whole > without > 0
    assert scores(["GitHub备份", "备份"], "github") > scores(["备份", "备份"], "github")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("case", [str.lower, str.upper, str.capitalize])
def test_c25_an_accented_word_is_one_word_however_it_is_written(form: str, case: object) -> None:
    """Kind: non-ASCII letters treated as separators."""
    query = case(unicodedata.normalize(form, "café naïve"))  # type: ignore[operator]
    assert tokenize(query) == ["café", "naïve"]
    assert scores(["café naïve", "caf na ve"], query) == scores(
        ["café naïve", "caf na ve"], "café naïve"
    )
    assert scores(["caf na ve", "tea"], query) == [0, 0]


@pytest.mark.parametrize("query", ["parse_http_response", "parse http response", "http"])
def test_c26_an_identifier_is_found_whole_and_by_its_parts(query: str) -> None:
    """Kind: query and index tokenised differently."""
    texts = ["parse the http log, then the response", "call parse_http_response first"]
    assert scores(texts, query)[1] > 0
    if query == "parse_http_response":
        assert scores(texts, query)[1] > scores(texts, query)[0]


def test_c27_camel_case_is_split_before_it_is_folded() -> None:
    """Kind: lower-casing before splitting camelCase."""
    assert tokenize("getUserById") == ["getuserbyid", "get", "user", "by", "id"]
    for query in ("user", "getUserById", "getuserbyid", "GETUSERBYID"):
        assert scores(["call getUserById here", "garden"], query)[0] > 0


def test_c28_the_number_of_a_hyphenated_name_decides() -> None:
    """Kind: hyphenated identifiers and dates."""
    right, wrong, without = scores(["see ADR-0005", "see ADR-0050", "adr notes"], "ADR-0005")
    assert right > max(wrong, without)
    on_the_day, other, parts = scores(["on 2026-05-14", "on 2026-05-15", "14 05"], "2026-05-14")
    assert on_the_day > max(other, parts)
