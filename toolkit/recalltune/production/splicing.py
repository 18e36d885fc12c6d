"""Single values of a JSON text changed, every other character kept.

In: a JSON text and new values by path. Out: the text with those values in place; a key that was
missing is added after its neighbours, indented as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from recalltune.errors import ParameterError, SourceError
from recalltune.production.json_spans import Node, parse_spans

__all__ = ["number_text", "spliced"]

Path = tuple[str, ...]


def spliced(text: str, values: Mapping[Path, float | int | str], *, where: str) -> str:
    """Return ``text`` with the values at some paths replaced or added.

    Parameters
    ----------
    text
        A JSON text whose root is an object.
    values
        Path of keys -> new value. A value equal to the present one changes no character.
    where
        What messages call the text.

    Raises
    ------
    SourceError
        If the text is not JSON, or a path leads through something that is no object or through a
        key that occurs twice.
    ParameterError
        If a value is not finite.

    Examples
    --------
    >>> spliced('{"a": {"x": 1.50,  "y": 2}}', {("a", "y"): 3.0, ("a", "z"): 4}, where="f")
    '{"a": {"x": 1.50,  "y": 3,  "z": 4}}'
    """
    root = parse_spans(text, where)
    edits: list[tuple[int, int, str]] = []
    _edit(text, root, _tree(values), edits, where, _style(text, root))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def number_text(value: float | int) -> str:
    """Return the shortest JSON text that reads back as the same number; 60.0 is ``60``.

    Raises
    ------
    ParameterError
        If the number is not finite: JSON has no text for it.
    """
    if not math.isfinite(value):
        message = f"value must be finite to be written as JSON, got {value!r}"
        raise ParameterError(message)
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def _tree(values: Mapping[Path, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        node = tree
        for key in path[:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = value
    return tree


class _Style:
    """How the file breaks and indents its lines."""

    def __init__(self, newline: str, unit: str) -> None:
        self.newline, self.unit = newline, unit

    def gap(self, depth: str) -> str:
        return f"{self.newline}{depth}" if self.newline else ""


def _style(text: str, root: Node) -> _Style:
    if not root.members:
        return _Style("", "")
    before = text[root.start + 1 : root.members[0].start]
    newline = "\r\n" if "\r\n" in before else "\n" if "\n" in before else ""
    return _Style(newline, before.rpartition("\n")[2] if newline else "")


def _edit(
    text: str,
    node: Node,
    tree: Mapping[str, Any],
    edits: list[tuple[int, int, str]],
    where: str,
    style: _Style,
) -> None:
    if node.kind != "object":
        message = f"{where}:{_line(text, node.start)}: an object is expected here, got {node.kind}"
        raise SourceError(message)
    missing: dict[str, Any] = {}
    for key, value in tree.items():
        if node.keys.count(key) > 1:
            message = f"{where}:{_line(text, node.start)}: the key {key!r} occurs twice"
            raise SourceError(message)
        child = node.get(key)
        if child is None:
            missing[key] = value
        elif isinstance(value, Mapping):
            _edit(text, child, value, edits, where, style)
        elif not _same(child, value):
            edits.append((child.start, child.end, _literal(value)))
    if missing:
        edits.append(_addition(text, node, missing, style))


def _same(node: Node, value: Any) -> bool:
    same_kind = node.kind == ("string" if isinstance(value, str) else "number")
    return same_kind and bool(node.value == value)


def _addition(
    text: str, node: Node, missing: Mapping[str, Any], style: _Style
) -> tuple[int, int, str]:
    if node.members:
        last = node.members[-1]
        before_last = node.members[-2].node.end if len(node.members) > 1 else node.start + 1
        # The blank before the last key: behind the comma, or behind the opening brace.
        blank = text[before_last : last.start]
        blank = blank.partition(",")[2] if "," in blank else blank or " "
        colon = text[last.key_end : last.node.start]
        depth = blank.rpartition("\n")[2] if "\n" in blank else ""
        inner = _Style(style.newline if "\n" in blank else "", style.unit)
        parts = [f",{blank}{_member(k, v, colon, depth, inner)}" for k, v in missing.items()]
        return last.node.end, last.node.end, "".join(parts)
    depth = _indent(text, node.start)
    return node.start, node.end, _object(missing, ": ", depth, style)


def _member(key: str, value: Any, colon: str, depth: str, style: _Style) -> str:
    name = json.dumps(key, ensure_ascii=False)
    if isinstance(value, Mapping):
        return f"{name}{colon}{_object(value, colon, depth, style)}"
    return f"{name}{colon}{_literal(value)}"


def _object(values: Mapping[str, Any], colon: str, depth: str, style: _Style) -> str:
    inner = depth + style.unit
    members = [_member(key, value, colon, inner, style) for key, value in values.items()]
    if not style.newline:
        return "{" + ", ".join(members) + "}"
    gap = style.gap(inner)
    return "{" + gap + f",{gap}".join(members) + style.gap(depth) + "}"


def _literal(value: float | int | str) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else number_text(value)


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
