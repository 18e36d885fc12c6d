"""TOML out: the few shapes a config has, written so that it reads back equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["dumps"]


def dumps(values: Mapping[str, Any]) -> str:
    """Return ``values`` as TOML: scalars and arrays first, then tables, then arrays of tables."""
    return "\n".join(_table(values, ())).strip() + "\n"


def _table(values: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"{_key(k)} = {_value(v)}" for k, v in values.items() if not _is_table(v)]
    for key, value in values.items():
        inner = (*path, key)
        if isinstance(value, Mapping):
            lines += ["", f"[{'.'.join(map(_key, inner))}]", *_table(value, inner)]
        elif _is_table(value):
            for element in value:
                scalars = {k: v for k, v in element.items() if not isinstance(v, Mapping) or v}
                lines += ["", f"[[{'.'.join(map(_key, inner))}]]", *_table(scalars, inner)]
    return lines


def _is_table(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(_value(v) for v in value)}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
