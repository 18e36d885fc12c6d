"""The two texts of a step as HTML: the question with its account, and the list with its marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from recalltune.charts.figures import MINUS, count
from recalltune.charts.look import using
from recalltune.replay.fate_views import REASONS
from recalltune.widgets.looks import when
from recalltune.widgets.markup import escaped

__all__ = ["Line", "dropped_by", "list_table", "turn_part"]

TURN_COLUMNS = 600
TEXT_COLUMNS = 110
_MUTED, _LOST = "#5F6368", "#C4500F"
# A widget's HTML does not break its lines unless told.
_TURN = "width:365px;line-height:1.4;white-space:normal;overflow-wrap:break-word"
_TABLE = "border-collapse:collapse;font-size:13px;line-height:1.4;margin:2px 0 8px"
_CELL = "padding:2px 10px 2px 0;vertical-align:top;text-align:"


@dataclass(frozen=True)
class Line:
    """One memory of a step's list, or one that is not in it."""

    rank: int | None
    """None = not shown."""
    marks: tuple[str, ...]
    text: str
    layer: str | None
    score: float | None = None
    tokens: int | None = None
    why: str = ""
    """Why it is not shown."""


def turn_part(
    step: Mapping[str, Any], steps: int, text: str, english: str, layers: pl.DataFrame
) -> str:
    """Return the question, when it was asked, what could be seen then, and the account by layer.

    Parameters
    ----------
    step
        One row of `replay.step_views.numbered`.
    steps
        How many there are.
    text, english
        The question, and its gloss or nothing.
    layers
        The step's rows of ``Replay.accounts``.
    """
    asked = f"{when(step['asked_at'])}, session {escaped(str(step['session']), 14)}"
    said = f"<div style='margin:6px 0'>{escaped(text, TURN_COLUMNS)}</div>"
    if english:
        said += f"<div style='{_small()}'>{escaped(english, TURN_COLUMNS)}</div>"
    facts = [
        ("known then, in scope", step.get("world")),
        ("candidates", step["candidates"]),
        ("shown", step["picked"]),
        ("tokens", step["tokens"]),
        ("dropped", step["dropped"]),
        ("larger than the budget", step["oversize"] or None),
        ("ages clamped at 0", step.get("clamped_ages") or None),
        ("born at this very instant, not seen", step.get("same_instant") or None),
    ]
    told = ", ".join(f"{count(number)} {name}" for name, number in facts if number is not None)
    empty = step["abstained"]
    why = f" ({escaped(str(step['why']))})" if empty and step.get("why") else ""
    silent = f"<div style='color:{_LOST}'>Nothing is shown{why}.</div>" if empty else ""
    head = ["layer", "candidates", "shown", "dropped", "tokens"]
    rows = [
        [
            _layer(row["layer"]),
            *(count(row[name]) for name in ("candidates", "picked", "dropped", "tokens")),
        ]
        for row in layers.iter_rows(named=True)
    ]
    return (
        f"<div style='{_TURN}'><div><b>step {step['round']} of {steps}</b></div>"
        f"<div style='{_small()}'>{asked}</div>{said}"
        f"<div style='{_small()}'>{told}</div>{silent}{_table(head, rows, numbers=1)}</div>"
    )


def list_table(lines: Sequence[Line], *, invalid: int, withheld: int) -> str:
    """Return the list with what is not in it, and counts of what is named nowhere.

    Parameters
    ----------
    lines
        Shown memories by rank, then lost targets, then the next candidates.
    invalid
        Labels whose memory was not there when the step asked.
    withheld
        Labels whose memory the step may not see.
    """
    head = ["rank", "layer", "mark", "score", "tokens", "memory"]
    rows = [
        [
            "" if line.rank is None else str(line.rank),
            _layer(line.layer),
            _marked(line),
            "" if line.score is None else f"{line.score:.4f}".replace("-", MINUS),
            "" if line.tokens is None else count(line.tokens),
            _memory(line),
        ]
        for line in lines
    ]
    notes = [
        f"{number} label{'' if number == 1 else 's'} {said}"
        for number, said in (
            (invalid, "of a memory that was not there when this was asked"),
            (withheld, "of a memory that may not be seen here"),
        )
        if number
    ]
    tail = f"<div style='{_small()}'>{'; '.join(notes)}</div>" if notes else ""
    return _table(head, rows, numbers=None) + tail


def dropped_by(fate: str, stage: str | None) -> str:
    """Say why a memory is not in the list, and which stage kept it out.

    Examples
    --------
    >>> dropped_by("limit", "select")
    'below the last place (select)'
    """
    where = f" ({stage})" if stage else ""
    return f"{REASONS.get(fate, fate)}{where}"


def _marked(line: Line) -> str:
    lost = line.rank is None and "target" in line.marks
    colour = _LOST if lost else _MUTED if line.rank is None else "inherit"
    return f"<span style='color:{colour}'>{escaped(', '.join(line.marks))}</span>"


def _memory(line: Line) -> str:
    text = escaped(line.text, TEXT_COLUMNS)
    if line.rank is not None:
        return text
    return f"<span style='color:{_MUTED}'>{escaped(line.why)}: {text}</span>"


def _layer(name: str | None) -> str:
    """A layer with its colour beside it; the colour is ours, by the name's place in the palette."""
    if name is None:
        return ""
    with using("light") as colours:
        mark = colours.layer_mark(name)
    square = f"<span style='color:{mark}' aria-hidden='true'>■</span>"
    return f"<span style='white-space:nowrap'>{square} {escaped(name, 24)}</span>"


def _small() -> str:
    return f"color:{_MUTED};font-size:12px"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int | None) -> str:
    """A table; from column ``numbers`` on it stands to the right."""

    def row(cells: Sequence[str], tag: str) -> str:
        sides = [
            "right" if numbers is not None and n >= numbers else "left" for n in range(len(cells))
        ]
        return (
            "<tr>"
            + "".join(
                f"<{tag} style='{_CELL}{side}'>{cell}</{tag}>"
                for cell, side in zip(cells, sides, strict=True)
            )
            + "</tr>"
        )

    body = "".join(row(one, "td") for one in rows)
    return f"<table style='{_TABLE}'>{row(head, 'th')}{body}</table>"
