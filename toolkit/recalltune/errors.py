"""Errors, and the checked base model that raises them.

In: whatever a user hands over. Out: either a value that satisfies its contract, or one
`RecalltuneError` whose message names the parameter or file:line, the allowed range, the value
seen, and the nearest valid alternative.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = [
    "ContractError",
    "ParameterError",
    "RecalltuneError",
    "Settings",
    "SourceError",
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


def _wording(error: ValidationError, model: type[BaseModel], where: str) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        path = ".".join(str(part) for part in problem["loc"]) or model.__name__
        seen = repr(problem["input"])
        seen = seen if len(seen) <= 80 else seen[:77] + "..."
        if problem["type"] == "extra_forbidden":
            field = str(problem["loc"][-1])
            lines.append(f"{path} is not a parameter; {nearest(field, model.model_fields)}")
        elif problem["type"] == "missing":
            lines.append(f"{path} is missing")
        else:
            reason = problem["msg"].removeprefix("Input ").removeprefix("Value error, ")
            lines.append(f"{path} {reason}, got {seen}")
    prefix = f"{where}: " if where else ""
    return prefix + "; ".join(lines)
