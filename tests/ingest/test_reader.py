"""Bytes to lines: the line feed ends a line and nothing else does, and nothing stops the rest."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune.errors import SourceError
from recalltune.ingest import reader
from recalltune.ingest.reader import decode_json, file_digest, read_document, read_lines


def _lines(path: Path, content: bytes, **options: int) -> list[reader.Line]:
    path.write_bytes(content)
    return list(read_lines(path, **options))


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c"])
def test_bug_83_unicode_line_separators_do_not_split_a_line(tmp_path: Path, separator: str):
    content = f'{{"text": "one{separator}line"}}\nsecond\n'.encode()
    lines = _lines(tmp_path / "f", content)
    assert [line.number for line in lines] == [1, 2]
    assert lines[0].text == f'{{"text": "one{separator}line"}}'


def test_bug_115_bom_crlf_and_blank_lines(tmp_path: Path):
    lines = _lines(tmp_path / "f", b"\xef\xbb\xbfone\r\n\r\ntwo\r\n")
    assert [(line.number, line.text) for line in lines] == [(1, "one"), (2, ""), (3, "two")]


def test_bug_115_a_zero_byte_file_has_no_lines(tmp_path: Path):
    assert _lines(tmp_path / "f", b"") == []


def test_bug_84_a_byte_that_is_not_utf_8_is_replaced_and_marked(tmp_path: Path):
    bad, good = _lines(tmp_path / "f", b"a\xffb\ngood\n")
    assert (bad.text, bad.repaired) == ("a\ufffdb", True)
    assert (good.text, good.repaired) == ("good", False)


def test_a_torn_last_line_is_marked(tmp_path: Path):
    whole, torn = _lines(tmp_path / "f", b"whole\nto")
    assert (whole.complete, torn.complete, torn.text) == (True, False, "to")


def test_bug_85_a_line_over_the_limit_is_passed_over_and_those_after_it_are_read(tmp_path: Path):
    content = b"before\n" + b"x" * (3 * 2**20) + b"\nafter\n" + b"y" * 100
    lines = _lines(tmp_path / "f", content, max_line_bytes=99)
    assert [line.text for line in lines] == ["before", "", "after", ""]
    assert [line.size for line in lines] == [6, 3 * 2**20, 5, 100]
    assert [line.too_long for line in lines] == [False, True, False, True]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff", codec="utf-8"))),
    chunk=st.integers(1, 7),
)
def test_lines_are_what_was_joined_whatever_the_size_of_the_pieces_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str], chunk: int
):
    monkeypatch.setattr(reader, "_CHUNK", chunk)
    path = tmp_path / "f"
    lines = _lines(path, "".join(f"{text}\n" for text in texts).encode())
    assert [line.text for line in lines] == texts
    assert [line.size for line in lines] == [len(text.encode()) for text in texts]


def test_a_document_over_the_limit_is_refused_with_both_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "big.json"
    path.write_bytes(b"[" + b" " * 30 + b"]")
    monkeypatch.setattr(reader, "MAX_DOCUMENT_BYTES", 31)
    with pytest.raises(SourceError, match=r"big\.json:1: .*at most 31 bytes, got 32"):
        read_document(path)


def test_a_file_over_the_limit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "big.jsonl"
    path.write_bytes(b"12345")
    monkeypatch.setattr(reader, "MAX_FILE_BYTES", 4)
    with pytest.raises(SourceError, match="at most 4 bytes, got 5"):
        file_digest(path)


def test_bug_84_lone_surrogates_are_replaced_wherever_they_are_nested():
    notes = Counter[str]()
    value = decode_json(r'{"\ud83d": ["\ude00 x", {"y": "\ud83d\ude00"}]}', notes)
    assert value == {"\ufffd": ["\ufffd x", {"y": "\U0001f600"}]}
    assert notes == {"lone surrogate, replaced by U+FFFD": 2}


def test_numbers_json_does_not_know_are_null():
    value = decode_json('{"a": NaN, "b": -Infinity, "c": 1e999, "d": 0.5}', Counter())
    assert value == {"a": None, "b": None, "c": None, "d": 0.5}


@pytest.mark.parametrize("depth", [65, 5_000, 500_000])
def test_deep_nesting_is_damage_and_not_a_crash(depth: int):
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        decode_json("[" * depth + "]" * depth, Counter())


def test_nesting_up_to_the_limit_is_read():
    text = "[" * 64 + "]" * 64
    assert decode_json(text, Counter())


@pytest.mark.parametrize("text", ["", "{", '{"a": 1} trailing', "\x00", '"torn', "9" * 5000])
def test_what_is_no_json_is_a_value_error(text: str):
    with pytest.raises(ValueError):  # noqa: PT011 - the message is json's own
        decode_json(text, Counter())
