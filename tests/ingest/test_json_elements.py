"""A JSON list read element by element: the objects of the whole, and every element counted."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune.errors import SourceError
from recalltune.ingest import json_elements as module
from recalltune.ingest import reader
from recalltune.ingest.json_elements import json_elements
from recalltune.ingest.parsed import Parsed

PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(-99, 99), st.text('{}[],"\\a \n\u2028', max_size=6)
)
KEYS = st.text('{"\\]', max_size=3)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


def read(path: Path) -> tuple[list[tuple[int, object]], Parsed]:
    parsed = Parsed("any", "src/a.json")
    return list(json_elements(path, "src/a.json", parsed)), parsed


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    elements=st.lists(VALUES, max_size=5),
    indent=st.sampled_from([None, 1]),
    plain=st.booleans(),
    size=st.integers(1, 9),
)
def test_objects_are_those_of_the_whole_list_whatever_the_pieces_read(
    tmp_path, elements, indent, plain, size
):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(elements, indent=indent, ensure_ascii=plain), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_CHUNK", size)
        found, parsed = read(path)
    objects = [(place, one) for place, one in enumerate(elements, 1) if isinstance(one, dict)]
    assert found == objects
    assert parsed.dropped == len(elements) - len(objects)
    assert set(parsed.drops) <= {"not a JSON object"}


@pytest.mark.parametrize(
    ("text", "kept", "reasons"),
    [
        ('[{"a": 1}, {"b": }, {"c": 3}]', [1, 3], {"damaged element": 1}),
        ('[{"a": 1}, {"b": 2', [1], {"incomplete element at the end": 1}),
        ('[{"a": 1}, {"b": "2]}', [1], {"incomplete element at the end": 1}),
        ('[{"a": 1}, 2, "x, y", [3], null]', [1], {"not a JSON object": 4}),
        ('[{"a": 1}, nonsense, {"b": 2}]', [1, 3], {"damaged element": 1}),
        ('[{"a": 1}] [{"b": 2}]', [1], {"text after the list": 1}),
        ("[" + "[" * 200 + "]" * 200 + ', {"a": 1}]', [2], {"nested deeper than 64 levels": 1}),
        ("[]", [], {}),
    ],
)
def test_what_is_damaged_is_counted_and_the_rest_is_read(write, text, kept, reasons):
    found, parsed = read(write("a.json", text))
    assert [number for number, _ in found] == kept
    assert {reason: drop.count for reason, drop in parsed.drops.items()} == reasons


def test_a_list_without_its_end_is_noted_and_has_its_objects(write):
    found, parsed = read(write("a.json", '[{"a": 1}, {"b": 2},'))
    assert [value for _, value in found] == [{"a": 1}, {"b": 2}]
    assert dict(parsed.notes) == {"list without its end": 1}


def test_an_element_that_is_too_long_is_left_out_and_the_next_one_read(write, monkeypatch):
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 100)
    found, parsed = read(write("a.json", json.dumps([{"a": "x" * 200}, {"b": 1}, "y" * 200])))
    assert found == [(2, {"b": 1})]
    assert sum(drop.count for drop in parsed.drops.values()) == 2


def test_a_byte_order_mark_and_gzip_are_taken_off(write):
    packed = gzip.compress(b'\xef\xbb\xbf\n [{"a": 1}]\n')
    assert read(write("a.json", packed))[0] == [(1, {"a": 1})]


def test_bytes_that_are_no_utf8_are_replaced_and_noted(write):
    found, parsed = read(write("a.json", b'[{"a": "\xff"}]'))
    assert found == [(1, {"a": "\ufffd"})]
    assert sum(parsed.notes.values()) == 1


@pytest.mark.parametrize("text", ["", " \n", "{}", '"[]"', '{"a": []}', "x[]"])
def test_what_is_no_list_is_refused_by_name(write, text):
    with pytest.raises(SourceError, match=r"^src/a\.json:1: must be a JSON list"):
        read(write("a.json", text))
