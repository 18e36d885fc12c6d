"""The page: elements that escape whatever they are given, a style, a frame around the sections.

A plain string that reaches an element is text of the data or ours and is escaped; only `Html`,
which elements return, is taken as it is. Attributes are written here and in the sections by us:
text of the data never gets into one, nor into a URL, a style or an id.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from recalltune.errors import ContractError
from recalltune.report.text import escaped, plain

__all__ = [
    "Content",
    "Html",
    "chart_image",
    "details",
    "el",
    "join",
    "lines_of",
    "long_text",
    "page",
    "section",
    "table",
]

ALT_COLUMNS = 600
_TAG = re.compile(r"[a-z][a-z0-9]*")
_ATTRIBUTE = re.compile(r"[a-z][a-z-]*")
# An attribute value of ours: words, numbers, ids, language tags. Alt texts go through `alt`.
_VALUE = re.compile(r"[A-Za-z0-9 _.:;,%#-]*")


class Html(str):
    """Markup that is safe to put on the page as it stands."""

    __slots__ = ()


Content: TypeAlias = "str | Html | int | float | None"


def el(tag: str, *content: Content, **attributes: str) -> Html:
    """Return one element; every plain string in it is escaped and cut to 240 columns.

    ``class_`` stands for the attribute class.

    Examples
    --------
    >>> el("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    if not _TAG.fullmatch(tag) or tag in ("script", "style", "iframe", "object", "embed"):
        message = f"tag must be a plain element, got {tag!r}"
        raise ContractError(message)
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    return Html(f"<{tag}{written}>{join(content)}</{tag}>")


def join(content: Iterable[Content]) -> Html:
    """Return contents one after the other, escaping what is not markup yet."""
    return Html("".join(_shown(part) for part in content))


def long_text(text: str, *, columns: int = 2_000) -> Html:
    """Escaped text that may be longer than one line of the case book: a sentence of ours."""
    return Html(escaped(text, columns=columns))


def lines_of(lines: Iterable[str], *, columns: int = 200) -> Html:
    """Return preformatted lines with their indentation, each made harmless."""
    return el(
        "pre",
        Html("\n".join(html.escape(plain(line, columns=columns), quote=True) for line in lines)),
    )


def _shown(part: Content) -> str:
    if part is None:
        return ""
    return part if isinstance(part, Html) else escaped(str(part))


def _attribute(name: str, value: str) -> str:
    name = name.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name) or name.startswith("on") or name in ("style", "src", "href"):
        message = f"attribute {name!r} is not written by elements"
        raise ContractError(message)
    if not _VALUE.fullmatch(value):
        message = f"attribute {name} must hold plain words, got {value[:60]!r}"
        raise ContractError(message)
    return f' {name}="{value}"'


def section(number: int, title: str, *content: Content) -> Html:
    """Return one numbered section; its id is its number."""
    return Html(
        f'<section id="s{number}"><h2>{number} {escaped(title)}</h2>{join(content)}</section>'
    )


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    caption: str = "",
    numeric: Sequence[int] = (),
    row_heads: bool = True,
) -> Html:
    """Return a table with scoped headers; ``numeric`` columns stand right."""

    def cell(at: int, value: Content) -> Html:
        kind = {"class_": "n"} if at in numeric else {}
        if at == 0 and row_heads:
            return el("th", value, scope="row", **kind)
        return el("td", value, **kind)

    head = join(
        el("th", name, scope="col", **({"class_": "n"} if at in numeric else {}))
        for at, name in enumerate(heads)
    )
    body = join(el("tr", *(cell(at, value) for at, value in enumerate(row))) for row in rows)
    told = el("caption", caption) if caption else Html("")
    inner = join([told, el("thead", el("tr", head)), el("tbody", body)])
    return el("div", el("table", inner), class_="scroll")


def details(summary: Content, *content: Content, open_: bool = False) -> Html:
    """Return a part that opens on request, without a script."""
    state = " open" if open_ else ""
    return Html(f"<details{state}>{el('summary', summary)}{join(content)}</details>")


def chart_image(spec: Mapping[str, Any], drawn: str) -> Html:
    """Return a chart as an image of its SVG; alt text is its finding and form.

    Inside an image an SVG cannot run a script or load anything.

    Parameters
    ----------
    spec
        The compiled chart: its description and table are used.
    drawn
        Its SVG.
    """
    data = base64.b64encode(drawn.encode("utf-8")).decode("ascii")
    alt = html.escape(plain(str(spec.get("description", "chart")), columns=ALT_COLUMNS), quote=True)
    return Html(
        f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{data}">'
        f"{_chart_table(spec)}</figure>"
    )


def _chart_table(spec: Mapping[str, Any]) -> Html:
    """The chart's own rows, collapsed: what it shows can be read without seeing it."""
    source = spec.get("usermeta", {}).get("recalltune", {}).get("table")
    if not source or not source["rows"]:
        return Html("")
    columns = source["columns"]
    rows = [[_number(row.get(name)) for name in columns] for row in source["rows"]]
    more = f", first {len(rows)} of {source['of']}" if source["of"] > len(rows) else ""
    return details(f"table of this chart{more}", table(columns, rows))


def _number(value: Any) -> Content:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def page(title: str, contents: Sequence[tuple[int, str]], body: Content, *, lang: str) -> str:
    """Return the whole document: policy, style, skip link, contents, body."""
    links = join(
        Html(f'<li><a href="#s{number}">{number} {escaped(name)}</a></li>')
        for number, name in contents
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#s1">Skip to the verdict</a>\n'
        f"<header><h1>{escaped(title)}</h1></header>\n"
        f'<nav aria-label="Sections"><ol>{links}</ol></nav>\n'
        f"<main>{join([body])}</main>\n</body>\n</html>\n"
    )


_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root{--ink:#202124;--muted:#5F6368;--paper:#fff;--line:#dde0e4;--soft:#f5f6f8;--link:#1B5FA8;
--better:#1B6FB5;--worse:#B0470D;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#E8EAED;--muted:#A5ABB3;--paper:#16181D;
--line:#343a42;--soft:#1f232a;--link:#7FA8F7;--better:#62AEEA;--worse:#F0854A}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:980px;padding:24px 20px 80px;background:var(--paper);color:var(--ink);
font:15px/1.5 Inter,'Helvetica Neue',Arial,'Noto Sans CJK SC','PingFang SC','Microsoft YaHei',
sans-serif}
h1{font-size:26px;line-height:1.25;margin:0 0 8px}
h2{font-size:19px;margin:44px 0 10px;padding-top:14px;border-top:1px solid var(--line)}
h3{font-size:15.5px;margin:24px 0 6px}
p{max-width:74ch;margin:8px 0}
a{color:var(--link)}
.skip{position:absolute;left:-999px}.skip:focus{left:12px;top:8px;background:var(--paper);padding:6px}
nav ol{list-style:none;padding:0;margin:12px 0;display:flex;flex-wrap:wrap;gap:4px 16px;
font-size:13.5px}
.note,caption,.stamp{color:var(--muted);font-size:13px}
.stamp{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;overflow-wrap:anywhere;max-width:none}
code,pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px}
pre{background:var(--soft);padding:10px 12px;border-radius:6px;white-space:pre-wrap;
overflow-wrap:anywhere}
.verdict{font-size:30px;font-weight:650;margin:10px 0 2px}
.cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}
.card{flex:1 1 200px;border:1px solid var(--line);border-radius:8px;padding:12px 14px}
.card strong{display:block;font-size:22px;font-weight:650;line-height:1.25}
.card span{display:block;color:var(--muted);font-size:13px}
.scroll{overflow-x:auto;margin:12px 0}
table{border-collapse:collapse;font-size:13.5px;width:100%}
caption{text-align:left;padding:0 0 6px}
th,td{text-align:left;vertical-align:top;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);
overflow-wrap:break-word}
.t,q,dd{overflow-wrap:anywhere}
thead th{color:var(--muted);font-weight:600}
tbody th{font-weight:500}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;overflow-wrap:normal}
figure{margin:16px 0}
figure img{display:block;max-width:100%;height:auto;background:#fff;border-radius:8px;
border:1px solid var(--line);padding:6px}
details{border:1px solid var(--line);border-radius:6px;padding:6px 12px;margin:8px 0}
details details,figure details{border:0;padding:4px 0}
summary{cursor:pointer}
figure summary{color:var(--muted);font-size:12.5px}
.better{color:var(--better)}.worse{color:var(--worse)}
.target{font-weight:650}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px}
dt{font-weight:600}dd{margin:0}
@media (max-width:640px){dl{grid-template-columns:1fr}}
@media print{@page{size:A4;margin:14mm}body{max-width:none;padding:0;font-size:10.5pt}
nav,.skip{display:none}section{break-inside:auto}h2,h3{break-after:avoid}
figure,tr,.card{break-inside:avoid}details{break-inside:avoid}.scroll{overflow:visible}}
"""
