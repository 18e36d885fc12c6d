"""Errors, and the checked base model that raises them.

In: whatever a user hands over. Out: either a value that satisfies its contract, or one
`RecalltuneError` whose message names the parameter or file:line, the allowed range, the value
seen, and the nearest valid alternative.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = [
    "ContractError",
    "ParameterError",
    "RecalltuneError",
    "Settings",
    "SourceError",
    "UnreadableError",
    "checked",
    "nearest",
]


ModelT = TypeVar("ModelT", bound=BaseModel)


class RecalltuneError(Exception):
    """Root of every error this package raises on purpose."""


class ParameterError(RecalltuneError, ValueError):
    """A parameter is unknown, out of range, or contradicts another."""


class SourceError(RecalltuneError, ValueError):
    """A file to be read breaks its format; the message starts with ``file:line``."""


class UnreadableError(SourceError):
    """A file whose bytes cannot be read as what it is: damaged, too large, or a package is missing.

    Nothing in it was understood, so a walked folder passes it over and names it.
    """


class ContractError(RecalltuneError):
    """Tables or arrays do not meet a contract between rooms (ids, shapes, fingerprints)."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name is closest, as the tail of an error message."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    listed = f"known: {', '.join(known) or 'none'}"
    return f"nearest: {close[0]!r}; {listed}" if close else listed


class Settings(BaseModel):
    """Base of every configuration class: frozen, strict, no unknown key, no NaN."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        use_attribute_docstrings=True,
    )

    def with_(self, **changes: Any) -> Self:
        """Return a checked copy with some fields replaced.

        Raises
        ------
        ParameterError
            If a field is unknown or a value is outside its range.
        """
        return checked(type(self), {**dict(self), **changes})


def checked(model: type[ModelT], values: Mapping[str, Any], *, where: str = "") -> ModelT:
    """Build ``model`` from ``values``, reporting every problem at once in the house wording."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise ParameterError(_wording(error, model, where)) from None


def _seen(value: Any) -> str:
    """A value as it is shown in a message: short, whatever its size or depth."""
    shown = reprlib.Repr()
    shown.maxstring = shown.maxother = 80
    told = shown.repr(value)
    return told if len(told) <= 80 else told[:77] + "..."


def _wording(error: ValidationError, model: type[BaseModel], where: str) -> str:
    told = [_problem(problem, model) for problem in error.errors(include_url=False)]
    return (f"{where}: " if where else "") + "; ".join(told)


def _problem(problem: Mapping[str, Any], model: type[BaseModel]) -> str:
    path = ".".join(str(part) for part in problem["loc"]) or model.__name__
    context = problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            *outer, field = problem["loc"]
            known = getattr(_at(model, outer), "model_fields", {})
            return f"{path} is not a parameter; {nearest(str(field), known)}"
        case "missing":
            return f"{path} is missing"
        case "union_tag_invalid":
            known = re.findall(r"'([^']*)'", context["expected_tags"])
            kind, tag = context["discriminator"].strip("'"), context["tag"]
            return f"{path}: no {kind} is called {tag!r}; {nearest(tag, known)}"
        case "union_tag_not_found":
            return f"{path} has no {context['discriminator']}: it says what a table is"
        case "literal_error" if isinstance(problem["input"], str):
            known = re.findall(r"'([^']*)'", context["expected"])
            return f"{path} cannot be {_seen(problem['input'])}; {nearest(problem['input'], known)}"
    reason = problem["msg"].removeprefix("Input ").removeprefix("Value error, ")
    # A rule over several fields names them itself; all of the model would only bury it.
    whole = problem["type"] == "value_error" and isinstance(problem["input"], Mapping)
    return f"{path} {reason}" if whole else f"{path} {reason}, got {_seen(problem['input'])}"


def _at(model: Any, path: Iterable[int | str]) -> Any:
    """The type that stands at a place of a model; None where the path leads out of it."""
    here = model
    for part in path:
        members = _members(here)
        tagged = [one for one in members if part == _kind(one)]
        fields = [one for one in members if part in getattr(one, "model_fields", {})]
        if tagged:
            here = tagged[0]
        elif fields:
            here = fields[0].model_fields[part].annotation
        elif not isinstance(part, int):
            return None
    members = _members(here)
    return members[0] if len(members) == 1 else None


def _members(annotation: Any) -> list[Any]:
    """The models an annotation is made of, whatever holds them."""
    if getattr(annotation, "model_fields", None) is not None:
        return [annotation]
    return [model for part in get_args(annotation) for model in _members(part)]


def _kind(model: Any) -> Any:
    field = model.model_fields.get("kind")
    return None if field is None else field.default
