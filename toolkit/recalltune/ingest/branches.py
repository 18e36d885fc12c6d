"""The branch of a conversation that was edited or answered anew: a tree of messages.

In: each message's parent. Out: the messages from the first to a given last one. Trees come from
files nobody vouches for: a cycle is cut, and a parent that is not there is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["ON_ANOTHER", "branch_to", "deepest_leaf", "linked"]

ON_ANOTHER = "on another branch"
"""Why a message is left out that the conversation went on without."""


def branch_to(leaf: str, parents: Mapping[str, str | None], notes: Counter[str]) -> list[str]:
    """Messages from the first to ``leaf``.

    Parameters
    ----------
    leaf
        The last message, one of ``parents``.
    parents
        Parent of each message; None for a first one.
    notes
        Counter that receives one count per cycle that was cut, and per missing parent, where the
        branch begins.

    Examples
    --------
    >>> branch_to("c", {"a": None, "b": "a", "c": "a"}, Counter())
    ['a', 'c']
    """
    branch: dict[str, None] = {}
    at: str | None = leaf
    while at is not None:
        if at in branch:
            notes["cycle among the messages of a conversation, cut"] += 1
            break
        if at not in parents:
            notes["parent that is not in the file: its branch begins below it"] += 1
            break
        branch[at] = None
        at = parents[at]
    return list(reversed(branch))


def deepest_leaf(parents: Mapping[str, str | None], said_at: Mapping[str, float]) -> str | None:
    """Last message of the longest branch; of equally long ones the newest, then the last named.

    Parameters
    ----------
    parents
        Parent of each message. Where all of them lie on cycles, any of them counts as a last one.
    said_at
        seconds since 1970 of the messages whose time is known; a message without is the oldest.

    Examples
    --------
    >>> deepest_leaf({"a": None, "b": "a", "c": "a"}, {"b": 2.0, "c": 1.0})
    'b'
    """
    depths: dict[str, int] = {}
    for start in parents:
        path: dict[str, None] = {}
        at: str | None = start
        while at is not None and at in parents and at not in depths and at not in path:
            path[at] = None
            at = parents[at]
        depth = depths.get(at, 0) if at is not None else 0
        for message in reversed(path):
            depth += 1
            depths[message] = depth
    inner = set(parents.values())
    leaves = [message for message in parents if message not in inner] or list(parents)
    # The last of equals: max keeps the first.
    leaves.reverse()
    return max(leaves, key=lambda one: (depths[one], said_at.get(one, -math.inf)), default=None)


def linked(
    messages: Iterable[tuple[str, str | None]], notes: Counter[str]
) -> dict[str, str | None]:
    """Parents of messages that a file has in their order, each before its answers.

    Parameters
    ----------
    messages
        Id and parent of each, in the order of the file; an id that comes again is passed over.
    notes
        Counter that receives one count per parent that is not there, as where a line is damaged:
        the message before it takes its place.

    Examples
    --------
    >>> linked([("a", None), ("b", "lost")], Counter())
    {'a': None, 'b': 'a'}
    """
    parents: dict[str, str | None] = {}
    for message, parent in messages:
        parents.setdefault(message, parent)
    before: str | None = None
    for message, parent in parents.items():
        if parent is not None and parent not in parents:
            notes["parent that is not in the file, the record before taken"] += 1
            parents[message] = before
        before = message
    return parents
