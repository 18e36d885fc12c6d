"""The file format of evaluation cases: a JSON array of objects, each checked with its line.

It is the canary format of RecallNest (its key names kept) with a few further keys: when the
question was asked, in which session, of what kind, with which grades and split.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from recalltune.errors import ParameterError, Settings, SourceError, checked, nearest

__all__ = ["EvalCase", "Kind", "case_schema", "read_case_file"]

MAX_BYTES = 64 * 1024 * 1024
JSON_SPACE = " \t\r\n"

Kind = Literal[
    "single_fact",
    "update",
    "hard_negative",
    "preference",
    "scope_isolation",
    "date",
    "multi_evidence",
    "nothing_to_find",
]
IdPrefix = Annotated[str, Field(min_length=1, max_length=1000)]
Term = Annotated[str, Field(min_length=1, max_length=1000)]


def _moment(value: Any) -> Any:
    # Strict models take no text for an instant, and JSON has nothing else.
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    try:
        in_utc(moment if moment.tzinfo else None)
    except OverflowError:
        raise ValueError("must lie in the years 1 to 9999 UTC") from None
    return moment


class EvalCase(Settings):
    """One question and what must, and must not, be recalled for it."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )

    name: str = Field(min_length=1, max_length=500)
    """Unique in its set; becomes the case_id."""
    query: str = Field(min_length=1, max_length=100_000)
    """What is asked."""
    profile: str | None = None
    """Named profile of the configuration; none is the plain configuration."""
    scope: str | None = None
    """Scope the question is asked in; none is every scope."""
    limit: int = Field(default=8, ge=1, le=1_000_000)
    """Places, >= 1. Length of the list asked for."""
    targets: tuple[IdPrefix | tuple[IdPrefix, ...], ...] = ()
    """Memories to be shown: ids or unique beginnings; a list inside the list holds alternatives."""
    hard_negatives: tuple[IdPrefix, ...] = ()
    """Memories that must stay out of the first places."""
    expect_order: tuple[IdPrefix, ...] = ()
    """Memories in the order they must be shown in, at least two."""
    expect_content_any: tuple[Term, ...] = ()
    """Terms of which one must occur in what is shown."""
    expect_top_k: int = Field(default=3, ge=1, le=1_000_000)
    """Places, >= 1. Within these the targets must stand."""
    forbid: tuple[Term, ...] = ()
    """Terms that must not occur in what is shown."""
    notes: str | None = None
    """For people."""
    at: Annotated[AwareDatetime, BeforeValidator(_moment)] | None = None
    """When it is asked, ISO 8601 with a zone; none is just after the newest event of the data."""
    session: str | None = Field(default=None, min_length=1)
    """Session (conversation, user) it belongs to: cases of one are never told apart by chance."""
    kind: Kind | None = None
    """What the case tries."""
    lang: str | None = Field(default=None, min_length=2, max_length=35)
    """Language of the question, such as en or zh."""
    grades: dict[IdPrefix, Annotated[int, Field(ge=1, le=3)]] = Field(default_factory=dict)
    """How well each target answers, 1 to 3; 1 where not given."""
    split: Literal["tune", "held_out"] | None = None
    """Fixes the split of its whole session; else it is drawn by session."""

    @model_validator(mode="before")
    @classmethod
    def _lists_become_tuples(cls, values: Any) -> Any:
        return {key: _tuples(value) for key, value in values.items()}

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.kind == "nothing_to_find" and self.targets:
            raise ValueError("targets must be empty where kind is nothing_to_find")
        if len(self.expect_order) == 1:
            raise ValueError("expectOrder must list at least two memories")
        if any(isinstance(target, tuple) and not target for target in self.targets):
            raise ValueError("targets must not hold an empty list of alternatives")
        return self

    @property
    def expects_nothing(self) -> bool:
        """Whether the case says nothing that could be judged."""
        declared = (self.targets, self.hard_negatives, self.expect_order)
        terms = (self.expect_content_any, self.forbid)
        return not any((*declared, *terms)) and self.kind != "nothing_to_find"


# Attributes have Python names; a file knows the camel case only.
KEYS = frozenset(to_camel(name) for name in EvalCase.model_fields)


def case_schema() -> dict[str, Any]:
    """JSON Schema of a whole case file, for editors that check while typing."""
    item = EvalCase.model_json_schema(by_alias=True)
    definitions = item.pop("$defs", {})
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Evaluation cases",
        "type": "array",
        "items": item,
    }
    return {**schema, "$defs": definitions} if definitions else schema


def read_case_file(path: Path) -> list[tuple[int, EvalCase]]:
    """Cases of a file, each with the line it begins at.

    Parameters
    ----------
    path
        A JSON array of objects in UTF-8, with or without a byte order mark, up to 64 MB.

    Returns
    -------
    list[tuple[int, EvalCase]]
        In the order of the file.

    Raises
    ------
    SourceError
        With ``file:line:`` in front of every problem found: broken JSON, a repeated key, an
        unknown key, a value out of range, a name used twice.
    """
    cases: list[tuple[int, EvalCase]] = []
    problems: list[str] = []
    lines: dict[str, int] = {}
    for number, (line, element) in enumerate(_elements(path), 1):
        try:
            case = _case(element, number)
        except ParameterError as error:
            problems.append(f"{path}:{line}: {error}")
            continue
        if case.name in lines:
            first = lines[case.name]
            problems.append(f"{path}:{line}: name {case.name!r} is used already at line {first}")
        lines.setdefault(case.name, line)
        cases.append((line, case))
    if problems:
        raise SourceError(listed(problems))
    return cases


def listed(problems: list[str], most: int = 20) -> str:
    """Problems one a line, the first twenty of them and how many more there are."""
    rest = len(problems) - most
    return "\n".join([*problems[:most], *([f"and {rest} more"] if rest > 0 else [])])


def _case(element: object, number: int) -> EvalCase:
    if not isinstance(element, dict):
        msg = f"case {number} must be an object, got {type(element).__name__}"
        raise ParameterError(msg)
    name = element.get("name")
    where = f"case {number}" + (f" ({name[:80]!r})" if isinstance(name, str) else "")
    if unknown := [key for key in element if key not in KEYS]:
        msg = f"{where}: {unknown[0][:80]!r} is not a key of a case; {nearest(unknown[0], KEYS)}"
        raise ParameterError(msg)
    return checked(EvalCase, element, where=where)


def _elements(path: Path) -> Iterator[tuple[int, object]]:
    text = _text(path)
    decoder = json.JSONDecoder(object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    position = _skip(text, 0)
    if text[position : position + 1] != "[":
        raise _refusal(path, _line(text, position), "must hold a JSON array of cases")
    position = _skip(text, position + 1)
    line, counted = 1, 0
    while text[position : position + 1] != "]":
        line, counted = line + text.count("\n", counted, position), position
        try:
            element, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            line = _line(text, error.pos)
            raise _refusal(path, line, f"is not JSON: {error.msg}") from None
        except RecursionError:
            raise _refusal(path, line, "is nested too deeply") from None
        except ValueError as error:
            raise _refusal(path, line, str(error)) from None
        yield line, element
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
            if text[position : position + 1] == "]":
                raise _refusal(path, _line(text, position), "comma before the closing ]")
        elif text[position : position + 1] != "]":
            raise _refusal(path, _line(text, position), "expected , or ] after a case")
    end = _skip(text, position + 1)
    if end < len(text):
        raise _refusal(path, _line(text, end), "text after the closing ]")


def _text(path: Path) -> str:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise _refusal(path, 1, f"must be at most {MAX_BYTES:,} bytes, got {size:,}")
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _refusal(path, line, "is not UTF-8") from None


def _refusal(path: Path, line: int, reason: str) -> SourceError:
    return SourceError(f"{path}:{line}: {reason}")


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in JSON_SPACE:
        position += 1
    return position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        msg = f"key {repeated[:80]!r} occurs twice in one object"
        raise ValueError(msg)
    return values


def _no_constant(name: str) -> float:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def in_utc(moment: datetime | None) -> datetime | None:
    """Instant in UTC, none stays none."""
    return None if moment is None else moment.astimezone(UTC)
