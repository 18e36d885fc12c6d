"""Secrets in imported text are replaced by ``[redacted: kind]``, and counted.

One linear pass of RE2 says which of our rules may have something to find. Tokens are found by RE2,
over the whole text; values after a key word are read over a bounded stretch; the rules of
detect-secrets, which backtrack, see windows of bounded length. So the whole stays linear in the
text, whatever is in it.

References
----------
Yelp, detect-secrets: the rules of its plugins; neither entropy nor addresses are looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import re2

from recalltune.ingest.secret_plugins import FLAG, found_by_plugins
from recalltune.ingest.secret_rules import LEADS, SPARED, TOKENS
from recalltune.ingest.secret_values import (
    is_basic_credentials,
    is_filled_in,
    is_password_of_address,
    is_secret,
)

__all__ = ["redact", "redact_value"]

# What a replaced secret was stuck to may be seen for a secret once the mark stands between.
_PASSES = 4
_LONGEST_VALUE, _LONGEST_KEY = 512, 16_384

# Of two kinds of secret that begin at the same sign, the lower rank gives its name.
_KEY_RANK, _TOKEN_RANK, _PLUGIN_RANK, _LEAD_RANK = range(4)
_MARK = "[redacted: "
_TOKEN = re2.compile(r"(?:\b|\\[nrt])(?:" + "|".join(f"({rule})" for _, rule in TOKENS) + ")")
_LEAD = re2.compile(f"{SPARED}|" + "|".join(f"({lead})" for _, lead, _ in LEADS))
_HINT = "|".join(f"(?:{lead}){hint}" for _, lead, hint in LEADS)
_EDGE_OF_KEY = re2.compile(
    r"(-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|PuTTY-User-Key-File-[0-9])"
    r"|(-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-MAC: [0-9a-f]{1,64})"
)

# Each is one class of signs, or such classes apart by a sign of none: they read on, never back.
_SIGN = r"[!#$%*+./:=?@A-Z^_a-z0-9~-]"
_BARE = re.compile(rf"{_SIGN}{{6,{_LONGEST_VALUE}}}+")
_BARE_ON = re.compile(rf"{_SIGN}*+")
_QUOTED = re.compile(r"\\{0,3}([\"'`])([!#-&(-\[\]-_a-~]{6,4096}+)\\{0,3}\1")
_LONG = re.compile(r"[A-Za-z0-9._~+/=%-]{12,4096}+")
_JWT = re.compile(r"eyJ[\w=-]{8,2048}+\.eyJ[\w=-]{4,}+(?:\.[\w-]++){0,3}", re.ASCII)
_ADDRESS = re.compile(
    r"[^\s/:@\"'`<>{}\[\]|\\?#]{0,256}+:([^\s/:@\"'`<>{}\[\]|\\?#]{3,256}+)@[\w\[$]"
)
_REST_OF_TOKEN = re.compile(r"[\w-]*+", re.ASCII)
_BODY_OF_KEY = re.compile(
    r"(?:(?:[\s\"'+,>|]|\\[nrt]){1,16}+[A-Za-z0-9+/=]{24,}+)++"
    r"(?:(?:[\r\n]|\\[nrt]){1,4}+[A-Za-z0-9+/]{1,23}+={1,2})?"
)
_KEY_LIKE = re.compile(r"[A-Za-z0-9+/=]{12}")


class _Span(NamedTuple):
    start: int
    rank: int
    end: int
    kind: str


def redact(text: str, counts: Counter[str]) -> str:
    """Text without its secrets; the same object where there are none.

    Parameters
    ----------
    text
        Any text.
    counts
        Counter that receives one count per secret, by kind.

    Examples
    --------
    >>> redact("the password is written down, password: hunter2xyz9", counts := Counter())
    'the password is written down, password: [redacted: password]'
    >>> counts
    Counter({'password': 1})
    """
    clean = text
    for _ in range(_PASSES):
        made = _redact_once(clean, counts)
        if made is clean:
            break
        clean = made
    return clean


def redact_value(value: Any, counts: Counter[str]) -> Any:
    """JSON-like value without secrets in texts and keys; the same object where there are none.

    A text under a key such as ``password`` is judged as if it stood behind it. Two keys that become
    the same are told apart by ``~2``.
    """
    if isinstance(value, str):
        return redact(value, counts)
    if isinstance(value, list | tuple):
        items = [redact_value(item, counts) for item in value]
        same = all(one is other for one, other in zip(items, value, strict=True))
        return value if same else type(value)(items)
    if isinstance(value, dict):
        made: dict[Any, Any] = {}
        same, times = True, Counter[str]()
        for key, item in value.items():
            name = redact_value(key, counts)
            while name is not key and (name in made or name in value):
                times[_plain(name)] += 1
                name = f"{_plain(name)}~{times[_plain(name)] + 1}"
            made[name] = _under(key, item, counts)
            same = same and name is key and made[name] is item
        return value if same else made
    return value


def _redact_once(text: str, counts: Counter[str]) -> str:
    try:
        suspected = _prefilter().Match(text)
        readable = text
    except UnicodeEncodeError:
        # Half a surrogate pair: RE2 reads another sign in its place.
        readable = text.encode("utf-8", "replace").decode()
        suspected = _prefilter().Match(readable)
    if suspected is None:
        return text
    readers = (_tokens, _led, _of_plugins, _private_keys)
    spans = [span for number in suspected for span in readers[number](readable)]
    pieces, done = [], 0
    for start, end, kind in _apart(sorted(spans), readable):
        pieces += [text[done:start], f"{_MARK}{kind}]"]
        counts[kind] += 1
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _under(key: Any, item: Any, counts: Counter[str]) -> Any:
    """Value of a key without secrets; where the key names a secret, the value is one by that."""
    clean = redact_value(item, counts)
    if clean is not item or not isinstance(item, str) or not isinstance(key, str):
        return clean
    if _names_a_secret(key[-64:]) and 6 <= len(item) <= 4_096 and is_secret(item, quoted=True):
        counts["password"] += 1
        return f"{_MARK}password]"
    return item


@lru_cache(maxsize=4_096)
def _names_a_secret(key: str) -> bool:
    found = [*_LEAD.finditer(key.encode("utf-8", "replace").decode() + "=")]
    return bool(found) and found[-1].lastindex == len(LEADS) and found[-1].end() == len(key) + 1


def _plain(name: str) -> str:
    return name.rpartition("~")[0] or name


@cache
def _prefilter() -> Any:
    """Set whose answer is the numbers of the readers that may find something."""
    made = re2.Set.SearchSet()
    for rules in (_TOKEN.pattern, _HINT, FLAG.pattern, _EDGE_OF_KEY.pattern):
        made.Add(rules)
    made.Compile()
    return made


def _tokens(text: str) -> Iterator[_Span]:
    for found in _TOKEN.finditer(text):
        number = found.lastindex
        if not is_filled_in(found.group(number)):
            yield _Span(found.start(number), _TOKEN_RANK, found.end(number), TOKENS[number - 1][0])


def _led(text: str) -> Iterator[_Span]:
    """Values after a beginning that names them."""
    done = [0] * len(LEADS)
    for found in _LEAD.finditer(text):
        number = (found.lastindex or 0) - 1
        # Each kind reads on from where it accepted a value: no stretch is read over and over.
        if number < 0 or found.end(number + 1) < done[number]:
            continue
        kind = LEADS[number][0]
        first = found.end(number + 1)
        at = _value(kind, text, first)
        if at is not None:
            done[number] = at[1]
            yield _Span(at[0], _LEAD_RANK + number, at[1], kind)


def _value(kind: str, text: str, first: int) -> tuple[int, int] | None:
    """Where the value of a secret stands that begins here, if one does."""
    if kind == "json web token":
        found = _JWT.match(text, first - len("eyJ"))
        return found.span() if found else None
    if kind == "password in an address":
        found = _ADDRESS.match(text, first)
        return found.span(1) if found and is_password_of_address(found.group(1)) else None
    if kind == "basic credentials":
        found = _LONG.match(text, first)
        return found.span() if found and is_basic_credentials(found.group()) else None
    if kind != "password":
        found = _LONG.match(text, first)
        return found.span() if found and is_secret(found.group(), quoted=True) else None
    if found := _QUOTED.match(text, first):
        return found.span(2) if is_secret(found.group(2), quoted=True) else None
    found = _BARE.match(text, first)
    # Before a bracket stands the name of a function or of a list.
    if not found or text[found.end() : found.end() + 1] in {"(", "[", "{"}:
        return None
    value = found.group().rstrip(".:?!*")
    if len(value) < 6 or not is_secret(value, quoted=False):
        return None
    # After a second key word the value is that one's, which has its own turn.
    name, _, rest = value.partition("=")
    if rest and _names_a_secret(name[-64:]):
        return None
    cut = len(found.group()) == _LONGEST_VALUE
    return first, _BARE_ON.match(text, first).end() if cut else first + len(value)  # type: ignore[union-attr]


def _of_plugins(text: str) -> Iterator[_Span]:
    for start, end, kind in found_by_plugins(text):
        yield _Span(start, _PLUGIN_RANK, end, kind)


def _private_keys(text: str) -> Iterator[_Span]:
    """Whole blocks, from header to footer; without a footer, the lines of a key after the header.

    A header that no key follows is only talked about.
    """
    for header, after in pairwise(chain(_EDGE_OF_KEY.finditer(text), [None])):
        if header.lastindex != 1:
            continue
        end = after.end() if after is not None and after.lastindex == 2 else None
        if end is not None and end - header.start() <= _LONGEST_KEY:
            if _KEY_LIKE.search(text, header.end(), after.start()):
                yield _Span(header.start(), _KEY_RANK, end, "private key")
        elif body := _BODY_OF_KEY.match(text, header.end()):
            yield _Span(header.start(), _KEY_RANK, body.end(), "private key")


def _apart(spans: list[_Span], text: str) -> Iterator[tuple[int, int, str]]:
    """Spans in order that do not touch: those that overlap are one, named by the first."""
    start = end = 0
    kind = ""
    for span in spans:
        # What ends at a mark was judged before, together with what stood there.
        if text.startswith(_MARK, span.end) or span.end <= end:
            continue
        if span.start >= end:
            if kind:
                yield start, end, kind
            start, kind = span.start, span.kind
        end = _whole(span, text)
    if kind:
        yield start, end, kind


def _whole(span: _Span, text: str) -> int:
    """End of the token: rules that count its signs may stop short of it."""
    by_sign = span.rank in {_TOKEN_RANK, _PLUGIN_RANK}
    found = _REST_OF_TOKEN.match(text, span.end) if by_sign else None
    return found.end() if found else span.end
