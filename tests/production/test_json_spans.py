"""Single values of a JSON text changed, every other character kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ParameterError, SourceError
from recalltune.production.json_spans import parse_spans
from recalltune.production.splicing import number_text, spliced

FILE = """{
    "dbPath" : "~/x",  "embedding": {"apiKey": "${KEY}", "dims": 1.0e3},
    "retrieval": {
        "mode":"vector",
        "recencyWeight": 0.10,
        "x_team": [1,2 , {"a":null}]
    }
}
"""


def test_one_changed_value_changes_its_own_characters_only() -> None:
    after = spliced(FILE, {("retrieval", "recencyWeight"): 0.25}, where="f")
    assert after == FILE.replace("0.10", "0.25")


def test_an_equal_value_changes_nothing_however_it_is_written() -> None:
    values: dict[tuple[str, ...], Any] = {
        ("retrieval", "recencyWeight"): 0.1,
        ("retrieval", "mode"): "vector",
        ("embedding", "dims"): 1000,
    }
    assert spliced(FILE, values, where="f") == FILE


def test_a_missing_key_is_added_last_and_indented_as_its_neighbours() -> None:
    after = spliced(FILE, {("retrieval", "hotnessWeight"): 0.5}, where="f")
    assert after == FILE.replace('{"a":null}]\n', '{"a":null}],\n        "hotnessWeight": 0.5\n')


def test_a_missing_object_is_added_with_the_indentation_of_the_file() -> None:
    after = spliced(FILE, {("retrieval", "m", "a"): 0.5, ("retrieval", "m", "b"): 1.0}, where="f")
    added = ',\n        "m": {\n            "a": 0.5,\n            "b": 1\n        }\n    }\n}\n'
    assert after.endswith('{"a":null}]' + added)


def test_line_endings_and_compact_files_are_kept_as_they_are() -> None:
    windows = FILE.replace("\n", "\r\n")
    after = spliced(windows, {("retrieval", "b"): 1, ("new", "c"): 2}, where="f")
    assert after.count("\r\n") == after.count("\n")
    assert json.loads(after)["new"] == {"c": 2}
    assert spliced('{"a":1,"b":2}', {("c",): 3}, where="f") == '{"a":1,"b":2,"c":3}'
    assert spliced('{"a":1}', {("c",): 3}, where="f") == '{"a":1, "c":3}'
    assert spliced("{}", {("r", "c"): 3}, where="f") == '{"r": {"c": 3}}'


def test_an_empty_object_in_a_broken_file_is_filled_line_by_line() -> None:
    text = '{\n  "a": 1,\n  "r": {}\n}'
    after = spliced(text, {("r", "x"): 1, ("r", "y"): 2}, where="f")
    assert after == '{\n  "a": 1,\n  "r": {\n    "x": 1,\n    "y": 2\n  }\n}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "f:1: not JSON: the file ends too early"),
        ('{"a": 1', "f:1: not JSON: the file ends too early"),
        ('{\n"a": 1,\n}', "f:3: not JSON: a text in double quotes"),
        ('{\n// why\n"a": 1}', "f:2: not JSON: a comment"),
        ('{"a": NaN}', "f:1: not JSON: a value is expected"),
        ('{"a": .5}', "f:1: not JSON: a value is expected"),
        ('{"a": 1} x', "f:1: not JSON: the text goes on"),
        ('{"a" 1}', "f:1: not JSON: a colon is expected"),
        ('{"a": "x\n"}', "f:1: not JSON: a text in double quotes"),
        ("[" * 200, "f:1: not JSON: nested deeper"),
    ],
)
def test_what_json_parse_refuses_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(SourceError) as refusal:
        parse_spans(text, "f")
    assert str(refusal.value).startswith(says)


def test_a_key_that_occurs_twice_and_a_path_through_a_number_are_refused() -> None:
    with pytest.raises(SourceError, match="the key 'a' occurs twice"):
        spliced('{"a": 1, "a": 2}', {("a",): 3}, where="f")
    with pytest.raises(SourceError, match="f:1: an object is expected here, got number"):
        spliced('{"a": 1}', {("a", "b"): 3}, where="f")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_json_has_no_text_for_is_refused(value: float) -> None:
    with pytest.raises(ParameterError, match="must be finite"):
        spliced('{"a": 1}', {("a",): value}, where="f")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself(value: float) -> None:
    assert json.loads(number_text(value)) == value


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
styles = st.sampled_from([{"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}, {"indent": 0}])


@given(
    st.dictionaries(st.text(), json_values, max_size=5),
    styles,
    st.dictionaries(st.text(), st.integers(-5, 5) | st.text(), min_size=1, max_size=3),
    st.booleans(),
)
def test_every_other_value_survives_in_order(
    content: dict[str, Any], style: dict[str, Any], changes: dict[str, Any], ascii_only: bool
) -> None:
    text = json.dumps(content, ensure_ascii=ascii_only, **style)
    after = spliced(text, {(key,): value for key, value in changes.items()}, where="f")
    assert json.loads(after) == {**content, **changes}
    assert list(json.loads(after)) == list({**content, **changes})
    assert spliced(after, {(k,): v for k, v in changes.items()}, where="f") == after


@given(json_values)
def test_the_tree_holds_what_the_text_says(value: Any) -> None:
    def plain(node: Any) -> Any:
        if node.kind == "object":
            return {member.key: plain(member.node) for member in node.members}
        return [plain(c) for c in node.children] if node.kind == "array" else node.value

    assert plain(parse_spans(json.dumps(value, indent=1), "f")) == value
