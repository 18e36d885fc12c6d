"""Of many wishes that arrive while one is worked on, only the latest are carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Latest", "soon"]

PAUSE_SECONDS = 0.02

Later = Callable[[Callable[[], None]], None]


class Latest:
    """Collects wishes by name and hands them over together, one time in flight at most.

    Parameters
    ----------
    work
        Receives name -> latest value.
    later
        Books one call; the wishes that arrive before it runs are taken along.
    """

    def __init__(self, work: Callable[[Mapping[str, Any]], None], later: Later) -> None:
        self._work = work
        self._later = later
        self._wishes: dict[str, Any] = {}
        self._booked = False

    def wish(self, name: str, value: Any) -> None:
        """Want ``value`` under ``name``; an earlier wish under that name is forgotten."""
        self._wishes.pop(name, None)
        self._wishes[name] = value
        if not self._booked:
            self._booked = True
            self._later(self._run)

    def forget(self) -> None:
        """Drop every wish that is not being carried out yet."""
        self._wishes.clear()

    def _run(self) -> None:
        wishes, self._wishes, self._booked = self._wishes, {}, False
        if wishes:
            self._work(wishes)


def soon(call: Callable[[], None]) -> None:
    """Run ``call`` after the messages that wait in the kernel's loop; at once without a loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        call()
        return
    loop.call_later(PAUSE_SECONDS, call)
