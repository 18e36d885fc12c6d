"""What every primitive says of itself: formula, source, shapes, ranges, errors, an example."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module

import pytest

from recalltune.rank.bm25 import PostingIndex

ROOM = import_module("recalltune.rank")
FUNCTIONS: dict[str, Callable[..., object]] = {
    name: getattr(ROOM, name)
    for name in ROOM.__all__
    if inspect.isroutine(getattr(ROOM, name)) and inspect.signature(getattr(ROOM, name)).parameters
} | {name: getattr(PostingIndex, name) for name in ("build", "scores", "term_frequencies")}
# A number comes out of these: the formula stands in the first lines. Others state a procedure.
SCORES = {"decay", "forgetting", "fusion", "salience"}
QUANTITY = re.compile(r"shape|in [\[(]|[<>]=? |\d to \d|None|finite|`|\bn\b|ids|[Tt]okens|rows")

SOURCE = re.compile(r"Source|key ``|As in `|OpenClaw|probe|published")


def is_number(function: Callable[..., object], names: str) -> bool:
    """Whether a parameter (or the first of several) is an array or a number, and no text."""
    return "str" not in str(inspect.get_annotations(function)[names.partition(",")[0]])


def reads_numbers(function: Callable[..., object]) -> bool:
    """Whether any parameter is an array or a number; any text is a right text."""
    names = [name for name in inspect.get_annotations(function) if name != "return"]
    return any(is_number(function, name) for name in names)


def section(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else None


@pytest.fixture(params=sorted(FUNCTIONS))
def function(request) -> Callable[..., object]:
    return FUNCTIONS[request.param]


@pytest.fixture
def text(function) -> str:
    return inspect.getdoc(function) or ""


def test_every_parameter_is_described_with_its_shape_range_or_choices(function, text):
    described = section(text, "Parameters") or ""
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    heads = list(re.finditer(r"^(\w[\w, ]*)$", described, re.MULTILINE))
    assert [name for head in heads for name in re.split(r",\s*", head[1])] == names
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        body = described[head.end() : after.start() if after else None]
        assert QUANTITY.search(body) if is_number(function, head[1]) else body.strip(), head[1]


def test_what_comes_out_has_a_shape_or_a_range(function, text):
    if reads_numbers(function):
        assert QUANTITY.search(section(text, "Returns") or "")


def test_errors_are_named_where_there_can_be_any(function, text):
    raises = section(text, "Raises")
    if raises is not None or reads_numbers(function):
        assert (raises or "").startswith("ParameterError")


def test_a_source_is_given(text):
    assert section(text, "References") or SOURCE.search(text)


def test_an_example_is_run(text):
    assert ">>> " in (section(text, "Examples") or "")


@pytest.mark.parametrize(
    "name",
    sorted(n for n, one in FUNCTIONS.items() if one.__module__.rpartition(".")[2] in SCORES),
)
def test_a_score_states_its_formula_before_anything_else(name):
    head = (inspect.getdoc(FUNCTIONS[name]) or "").partition("Parameters\n")[0]
    formulas = re.findall(r"``([^`]+)``", head)
    assert any(re.search(r"[-+*/]|max|min", formula) for formula in formulas)
