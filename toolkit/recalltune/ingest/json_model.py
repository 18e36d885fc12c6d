"""A small JSON file that is one model: read whole, checked, refused by the field that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from recalltune.errors import SourceError

__all__ = ["read_model"]

Model = TypeVar("Model", bound=BaseModel)


def read_model(path: Path | str, model: type[Model], noun: str, *, at_most: int) -> Model:
    """Return what the file holds; its keys are the fields of ``model``.

    Parameters
    ----------
    path
        The file.
    model
        What it has to be.
    noun
        What messages call that.
    at_most
        Bytes, > 0.

    Raises
    ------
    SourceError
        If the file is too large, not JSON, or says something else; the message names the field.
    """
    path = Path(path)
    if path.stat().st_size > at_most:
        message = f"{path}:1: {noun} may take {at_most:,} bytes"
        raise SourceError(message)
    try:
        return model.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "it"
        message = f"{path}:1: not {noun}: {field}: {first['msg']}"
        raise SourceError(message) from None
