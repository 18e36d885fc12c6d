"""Pieces of a long text: where they are cut, that nothing is lost, that it comes to an end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ParameterError
from recalltune.ingest.chunks import chunk_spans, production_rounds
from steps import grows_with_its_input

BLANKS = set(" \n\t\r\v\f\xa0\u2003\u2028\u3000\ufeff")


def pieces(text: str, **limits: int) -> list[str]:
    return [text[start:end] for start, end in chunk_spans(text, **limits)]


def test_a_text_that_fits_is_one_piece_without_its_outer_blanks():
    assert chunk_spans("  a\nb \n") == [(2, 5)]
    assert chunk_spans("x" * 2000) == [(0, 2000)]
    assert chunk_spans("x" * 2001) == [(0, 2000), (1900, 2001)]


@pytest.mark.parametrize("text", ["", " ", "\n" * 5000, "\u3000\ufeff \xa0"])
def test_a_blank_text_has_no_piece(text):
    assert chunk_spans(text) == []


# Twenty characters at most, eight at least, none shared.
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One, two. Three four, five six", "One, two."),  # the blank behind the stop counts as read
        ("甲乙丙丁戊己庚辛壬。癸子丑寅卯辰巳午未申酉戌亥", "甲乙丙丁戊己庚辛壬。"),
        ("no end here\nbut a line goes on", "no end here"),
        ("only words and no end of them", "only words and no"),
        ("x" * 30, "x" * 20),
        (
            "Oh. thisisonelongword12345678",
            "Oh. thisisonelongwor",
        ),  # a stop before eight is too early
        ("a b c d e f g h i j k.l m n", "a b c d e f g h i j"),  # a stop at 21 is too late
    ],
)
def test_the_last_good_place_before_the_limit_is_where_it_is_cut(text, first):
    assert pieces(text, max_chars=20, overlap_chars=0, min_chars=8)[0] == first


def test_without_looking_for_sentences_it_is_cut_at_blanks_alone():
    limits = {"max_chars": 12, "overlap_chars": 0, "min_chars": 2}
    assert pieces("one. two.\nsix seven", semantic=False, **limits)[0] == "one. two."
    assert pieces("one. twosixseven", semantic=False, **limits)[0] == "one."


def test_a_piece_that_would_be_too_short_is_cut_at_the_limit():
    # Ten blanks and "ab." are three characters; four are asked for.
    text = " " * 10 + "ab." + "c" * 30
    assert chunk_spans(text, max_chars=20, overlap_chars=0, min_chars=4)[0] == (10, 20)


def test_lines_are_counted_before_anything_else_and_the_rest_is_one_piece():
    text = "a.\n" * 12
    found = pieces(text, max_chars=20, overlap_chars=0, min_chars=2, max_lines=2)
    assert found == ["a.\na."] * 3 + ["a.\na.\na.\na.\na.\na."]


def test_neighbours_share_what_is_asked_for():
    text = "".join(chr(0x4E00 + n) for n in range(100))
    spans = chunk_spans(text, max_chars=40, overlap_chars=10, min_chars=5)
    assert spans == [(0, 40), (30, 70), (60, 100)]


def test_where_production_stops_and_loses_the_rest_this_goes_on():
    text = "line\n" * 30
    limits = {"max_chars": 60, "overlap_chars": 10, "min_chars": 15, "max_lines": 4}
    spans = chunk_spans(text, **limits)
    rounds = production_rounds(len(text), 60, 10)  # 150 characters in steps of 50, and five more
    assert rounds == 8
    assert spans[:8] == [(start, start + 19) for start in range(0, 80, 10)]
    assert spans[8:] == [(80, 99), (90, 149)]


def test_steps_that_would_shrink_to_one_character_do_not_multiply_the_text():
    # Forty lines are a hundred characters here, as many as neighbours share.
    text = "a\nab\n" * 20_000
    spans = chunk_spans(text)
    assert sum(end - start for start, end in spans) < 3 * len(text)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"max_chars": 0}, "max_chars must be >= 1, got 0"),
        ({"max_chars": 50}, r"overlap_chars must be in \[0, 49\], got 100"),
        ({"overlap_chars": -1}, r"overlap_chars must be in \[0, 1999\], got -1"),
        ({"min_chars": 0}, r"min_chars must be in \[1, 2000\], got 0"),
        ({"min_chars": 2001}, r"min_chars must be in \[1, 2000\], got 2001"),
        ({"max_lines": 0}, "max_lines must be >= 1, got 0"),
    ],
)
def test_limits_out_of_range_are_refused(limits, says):
    with pytest.raises(ParameterError, match=says):
        chunk_spans("x", **limits)


LIMITS = st.integers(1, 30).flatmap(
    lambda longest: st.fixed_dictionaries(
        {
            "max_chars": st.just(longest),
            "overlap_chars": st.integers(0, longest - 1),
            "min_chars": st.integers(1, longest),
            "max_lines": st.integers(1, 6),
            "semantic": st.booleans(),
        }
    )
)
TEXTS = st.text(st.sampled_from("ab。. \n\r\u3000\x85") | st.characters(), max_size=200)


@given(TEXTS, LIMITS)
def test_nothing_that_is_not_blank_is_lost_and_nothing_is_too_long(text, limits):
    spans = chunk_spans(text, **limits)
    covered = {at for start, end in spans for at in range(start, end)}
    assert all(
        text[at] in BLANKS or not text[at].strip() for at in range(len(text)) if at not in covered
    )
    assert all(0 < end - start <= limits["max_chars"] for start, end in spans)
    assert all(not {text[start], text[end - 1]} & BLANKS for start, end in spans)
    assert spans == sorted(spans)


@given(
    st.lists(st.text("ab. ", min_size=1).filter(str.strip), min_size=1, max_size=30),
    st.integers(1, 5),
)
def test_pieces_that_are_cut_hold_no_more_lines_than_allowed(lines, most):
    text = "\n".join(lines)
    spans = chunk_spans(text, max_chars=40, overlap_chars=0, min_chars=1, max_lines=most)
    assert all(text[start:end].count("\n") < most for start, end in spans[:-1])


@pytest.mark.shared
def test_production_gives_the_same_places(shared: Path):
    content = json.loads((shared / "golden" / "recallnest.json").read_text("utf-8"))
    cases = content["groups"]["chunk_document"]["cases"]
    assert len(cases) == 5
    whole = 0
    for case in cases:
        spans = chunk_spans(
            case["in"]["text"], max_chars=60, overlap_chars=10, min_chars=15, max_lines=4
        )
        expected = [tuple(span) for span in case["out"]]
        assert spans[: len(expected)] == expected
        whole += spans == expected
    assert whole == 4  # The fifth is the one where production stops early.


@pytest.mark.parametrize(
    "unit", ["x", " ", "\n", ". ", "a\n", "a\nab\n", ".\n\n", "。", "word ", "\u3000a"]
)
def test_the_work_grows_with_the_text_alone(unit):
    assert grows_with_its_input(lambda n: chunk_spans(unit * (n // len(unit))), 10_000, 80_000)
