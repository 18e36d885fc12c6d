"""Memories an agent put into its own prompt: taken out of what was said, and read as a search.

In: the text of a turn, or the result of a tool. Out: what remains of it, and which memories it
shows. An import that kept such blocks would remember what was recalled as if it were said again.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from recalltune.ingest.memory_blocks import REMINDER, find_blocks, may_hold_blocks
from recalltune.ingest.memory_lines import Shown, shown_in_lines, shown_in_records
from recalltune.ingest.reader import decode_json

__all__ = ["Block", "Injected", "search_results", "take_injected"]

# Two blank lines: what stood around a block must not grow together into another one.
_SEAM = "\n\n\n"
# What is left of tags that were nested across each other may be a block again.
_PASSES = 4

Result = tuple[tuple[str, ...], tuple[float, ...]]
"""Ids, best first, and a score for each or none."""

_TOOLS = (
    *("search_memory", "search_memories", "memory_search"),
    *("memory_recall", "recall_memory", "recall"),
)
_EMPTY = ("no results found", "no relevant memories found", "no memories found", "没有找到相关记忆")


@dataclass(frozen=True)
class Block:
    """One block of memories, as it stood in the text."""

    kind: str
    """``system reminder``, ``memory tag``, ``memory header`` or ``memory list``."""
    text: str
    ids: tuple[str, ...] = ()
    """Memories visible in it, best first."""
    scores: tuple[float, ...] = ()
    """One for each id, or none; where no id is visible, those of the lines that have one."""


@dataclass(frozen=True)
class Injected:
    """A text without the memories that were put into it."""

    text: str
    """What remains, stripped; two blank lines where a block was taken out of the middle."""
    blocks: tuple[Block, ...]


def take_injected(text: str) -> Injected:
    r"""Take blocks of memories and system reminders out of a text.

    Taken are:

    - a tag of the table, such as ``<relevant-memories>``, to its first end, wherever it stands;
      inside a line only if no fenced block begins before that end;
    - a tag at the start of a line that is never closed, to the next blank line after which no list
      goes on;
    - a header of the table with the list below it; after a header in brackets, such as
      ``【记忆召回】``, a paragraph will do;
    - lines such as ``· MEMORY.md [e5f6g7h8] ×0.79 …`` without any header.

    Left are what stands in a fenced block, a tag right behind a backtick, and ``<memory>`` unless
    it is alone on its line, without attributes, and closed. A line that goes on after a block
    counts as a new one.

    Parameters
    ----------
    text
        What a turn says.

    Returns
    -------
    Injected
        The remains and the blocks hold every word of the text. Taking again takes nothing, unless
        tags are nested across each other more than a few times.

    Examples
    --------
    >>> found = take_injected("<relevant-memories>\n- [fact:global] tea (71%)\n"
    ...                       "</relevant-memories>\n\nAnd coffee?")
    >>> found.text, found.blocks[0].kind, found.blocks[0].scores
    ('And coffee?', 'memory tag', (0.71,))
    """
    blocks: list[Block] = []
    for _ in range(_PASSES):
        places = list(find_blocks(text)) if may_hold_blocks(text) else []
        if not places:
            break
        edges = [0, *(edge for _, *place in places for edge in place), len(text)]
        pieces = [text[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True)]
        blocks += [_block(kind, text[start:end].strip()) for kind, start, end in places]
        text = _SEAM.join(filter(None, pieces))
    return Injected(text.strip(), tuple(blocks))


def _block(kind: str, text: str) -> Block:
    shown = Shown() if kind == REMINDER else shown_in_lines(text)
    return Block(kind, text, shown.ids, shown.scores)


def search_results(tool_name: str, result_text: str) -> Result | None:
    """Ids and scores that a search of the memory returned; None if that is not what it is.

    Parameters
    ----------
    tool_name
        As the transcript has it; what stands before the last ``__``, ``.``, ``:`` or ``/`` names
        the server.
    result_text
        What the tool returned: JSON, or lines.

    Returns
    -------
    tuple or None
        Ids best first, and a score for each or none. Both are empty where it says that nothing was
        found; None where the tool is no memory search, or no id is visible in what it returned.

    Examples
    --------
    >>> search_results("mcp__recallnest__search_memory", "1  a1b2c3d4 91%   cc   2026-03-16 vector")
    (('a1b2c3d4',), (0.91,))
    """
    name = re.split(r"__|[.:/]", tool_name[-200:])[-1].replace("-", "_").lower()
    if name not in _TOOLS:
        return None
    told = result_text.strip()
    if told.lower().startswith(_EMPTY):
        return (), ()
    shown: Shown | None = None
    if told.startswith(("{", "[")):
        try:
            shown = shown_in_records(decode_json(told, Counter()))
        except ValueError:
            pass  # A list of lines may begin with a bracket too.
        else:
            return None if shown is None else (shown.ids, shown.scores)
    shown = shown_in_lines(told)
    return (shown.ids, shown.scores) if shown.ids else None
