"""The explorer's tables as HTML: every text of the data escaped, every number in one format."""

from __future__ import annotations

import html
from collections.abc import Sequence

import polars as pl

from recalltune.charts.figures import amount, interval, metric, signed
from recalltune.charts.text import clean, cut

__all__ = ["escaped", "moves_table", "name_of", "strip_table", "took", "warning"]

QUERY_COLUMNS = 84
_TABLE = "border-collapse:collapse;font-size:13px;line-height:1.4;margin:2px 0 8px"
_CELL = "padding:2px 10px 2px 0;text-align:left;white-space:nowrap"
_QUERY = "padding:2px 14px 2px 0;text-align:left"
_BETTER, _WORSE, _MUTED = "#1B6FB5", "#C4500F", "#5F6368"
_SIGNED = {"gains": ("▲", "better", _BETTER), "costs": ("▼", "worse", _WORSE)}
_UNSIGNED = {
    "cannot be told": "cannot be told apart",
    "does not bind": "no case changes",
    "too few": "too few cases",
}


def escaped(text: str, columns: int = QUERY_COLUMNS) -> str:
    """Return a text for an HTML element: no control character, cut by width, quoted.

    Examples
    --------
    >>> escaped("<b>备份</b>")
    '&lt;b&gt;备份&lt;/b&gt;'
    """
    return html.escape(cut(clean(text), columns), quote=True)


def strip_table(strip: pl.DataFrame, *, settings: int, note: str = "") -> str:
    """Return the strip: a metric a row; default, now, change, interval as columns.

    Parameters
    ----------
    strip
        From `Explorer.strip`.
    settings
        Settings looked at so far; said because no interval is corrected for them.
    note
        Said beside it.
    """
    head = ["", "current default", "now", "change", "95 % interval", "", "cases"]
    body = [
        (
            _named(row),
            [
                _value(row, "default"),
                _value(row, "now"),
                _change(row),
                _bounds(row),
                _verdict(row),
                f"{row['n']}",
            ],
        )
        for row in strip.iter_rows(named=True)
    ]
    looked = f"{settings} setting{'' if settings == 1 else 's'} looked at"
    told = f"Intervals are paired and not corrected; {looked}.{note and ' '}{note}"
    return f"{_table(head, body)}<div style='color:{_MUTED};font-size:12px'>{told}</div>"


def moves_table(moves: pl.DataFrame, unchanged: int, *, most: int = 8) -> str:
    """Return the counts and the cases whose first target moved, largest moves first.

    Parameters
    ----------
    moves
        From `Explorer.moves`.
    unchanged
        Cases with a target that did not move.
    most
        Rows shown; the rest is a count.
    """
    better = moves.filter(pl.col("better")).height
    counts = (
        f"<div style='margin:6px 0 2px'>{_told('▲', f'{better} better', _BETTER)} &nbsp; "
        f"{_told('▼', f'{moves.height - better} worse', _WORSE)} &nbsp; {unchanged} unchanged "
        f"<span style='color:{_MUTED}'>(rank of the first target)</span></div>"
    )
    if not moves.height:
        return counts
    lines = []
    for row in moves.head(most).iter_rows(named=True):
        sign, colour = ("▲", _BETTER) if row["better"] else ("▼", _WORSE)
        move = f"{row['rank_a'] or 'none'} → {row['rank_b'] or 'none'}"
        cells = [
            (_told(sign, move, colour), _CELL),
            (escaped(row["kind"] or ""), _CELL),
            (escaped(row["lang"] or ""), _CELL),
            (escaped(row["label"] or ""), _QUERY),
        ]
        drawn = "".join(f"<td style='{style}'>{text}</td>" for text, style in cells)
        lines.append(f"<tr>{drawn}</tr>")
    head = _row(["rank", "kind", "lang", "question"], "th")
    left = moves.height - most
    more = f"<div style='color:{_MUTED}'>… {left} more</div>" if left > 0 else ""
    return f"{counts}<table style='{_TABLE}'>{head}{''.join(lines)}</table>{more}"


def name_of(address: str, about: str) -> str:
    """Return a control's address with what it is, in one short line."""
    style = f"color:{_MUTED};font-size:11px;line-height:1.3"
    return f"<b>{escaped(address)}</b><div style='{style}'>{escaped(about, 110)}</div>"


def warning(text: str) -> str:
    """Return a message of the library, or nothing."""
    if not text:
        return ""
    return f"<div role='alert' style='color:{_WORSE};margin:4px 0'>{escaped(text, 400)}</div>"


def took(seconds: float) -> str:
    """Return how long the last step took; shown live only, for it differs each time."""
    style = f"color:{_MUTED};font-size:12px"
    return f"<div style='{style}'>rescored in {1000 * seconds:.0f} ms</div>"


def _table(head: Sequence[str], body: Sequence[tuple[str, Sequence[str]]]) -> str:
    rows = "".join(_row([name, *cells], "td") for name, cells in body)
    return f"<table style='{_TABLE}'>{_row(head, 'th')}{rows}</table>"


def _row(cells: Sequence[str], tag: str) -> str:
    drawn = "".join(f"<{tag} style='{_CELL}'>{cell}</{tag}>" for cell in cells)
    return f"<tr>{drawn}</tr>"


def _told(sign: str, text: str, colour: str) -> str:
    return f"<span style='color:{colour}'>{sign} {text}</span>"


def _named(row: dict[str, object]) -> str:
    name = escaped(str(row["label"]))
    return name if row["higher"] else f"{name} <span style='color:{_MUTED}'>(less is better)</span>"


def _value(row: dict[str, object], name: str) -> str:
    value = row[name]
    if not isinstance(value, float):
        return "undefined"
    return amount(value, decimals=0) if row["decimals"] == 0 else metric(value)


def _change(row: dict[str, object]) -> str:
    diff = row["diff"]
    if not isinstance(diff, float):
        return "undefined"
    return signed(diff, decimals=0 if row["decimals"] == 0 else 3)


def _bounds(row: dict[str, object]) -> str:
    lo, hi = row["lo"], row["hi"]
    if not isinstance(lo, float) or not isinstance(hi, float):
        return "unbounded"
    return interval(lo, hi, decimals=0 if row["decimals"] == 0 else 3)


def _verdict(row: dict[str, object]) -> str:
    """What the interval says; the same rule as in the titles of charts."""
    verdict = str(row["verdict"])
    if verdict in _SIGNED:
        return _told(*_SIGNED[verdict])
    return f"<span style='color:{_MUTED}'>{_UNSIGNED.get(verdict, verdict)}</span>"
