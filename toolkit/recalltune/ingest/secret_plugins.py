"""The rules of detect-secrets, tried in windows of bounded length around what may be a secret.

They are patterns of `re`, which read back: over a whole text their time would have no bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import re2

from recalltune.ingest.secret_rules import PLUGIN_FLAGS, PLUGINS, SPARED
from recalltune.ingest.secret_values import is_filled_in

__all__ = ["FLAG", "found_by_plugins"]

FLAG = re2.compile("|".join(PLUGIN_FLAGS))
_OLD_MARK = re.compile(SPARED)
_WINDOW, _BEFORE, _AFTER = 1_024, 80, 300


def found_by_plugins(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of the secrets that a plugin finds."""
    for start, end in _windows(text):
        window = _OLD_MARK.sub(lambda mark: "\0" * len(mark.group()), text[start:end])
        if end < len(text):
            # No rule may take the cut for the end of the text.
            window += "\0"
        for kind, plugin in _plugins():
            for rule in plugin.denylist:
                for first, last in _secrets(rule, window):
                    # What begins where the window was cut may begin before it.
                    if first > 0 or start == 0:
                        yield start + first, start + last, kind


def _secrets(rule: re.Pattern[str], window: str) -> Iterator[tuple[int, int]]:
    """Where the secrets stand that a plugin's rule finds."""
    at = 0
    while found := rule.search(window, at):
        first, last = found.span(_long_group(found))
        secret = window[first:last].strip(" \t\r\n=:\"'")
        first = window.index(secret, first)
        # A sign after the secret, which the rule took too, may be the one before the next.
        at = first + len(secret) if secret else found.end()
        if not is_filled_in(secret) and any(map(str.isdigit, secret)):
            yield first, at


def _long_group(found: re.Match[str]) -> int:
    """Number of the group that holds a value; 0, all that was found, if none does."""
    long = (n for n in range(1, found.re.groups + 1) if found.end(n) - found.start(n) >= 24)
    return next(long, 0)


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of text around what was flagged, in order; none longer than the bound."""
    start = end = 0
    for found in FLAG.finditer(text):
        first, last = max(found.start() - _BEFORE, 0), min(found.end() + _AFTER, len(text))
        if end and (first > end or last - start > _WINDOW):
            yield start, end
            end = 0
        start, end = start if end else first, last
    if end:
        yield start, end


@cache
def _plugins() -> tuple[tuple[str, Any], ...]:
    """detect-secrets' rules, loaded when the first text asks for them."""
    return tuple(
        (kind, getattr(import_module(f"detect_secrets.plugins.{module}"), name)())
        for module, (name, kind) in PLUGINS.items()
    )
