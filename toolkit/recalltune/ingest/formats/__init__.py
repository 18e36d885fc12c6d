"""One module a format. A module that defines ``FORMAT`` is a format: there is no list to extend."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from recalltune.ingest.format import Format

__all__ = ["FORMATS"]


def _found() -> dict[str, Format]:
    names = sorted(module.name for module in iter_modules(__path__))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    formats: list[Format] = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {format.name: format for format in formats}


FORMATS = _found()
"""Every format by its name."""
