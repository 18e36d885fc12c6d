"""The file a memory stands in, as far as its source and its id tell.

In: what the store says of a memory. Out: a path relative to the agent's workspace, or nothing.
"""

from __future__ import annotations

import re

__all__ = ["source_path"]

_FOLDER = re.compile(r"[/\\][^/\\]*\.[^/\\.]+\Z")
_FILE = re.compile(r"[^/\\]+\.(?:md|markdown|txt|jsonl?)\Z")
_ITEM = re.compile(r"md:(.+)#[0-9]+\Z", re.DOTALL)


def source_path(memory_id: str, source: str | None) -> str:
    """Return the path of the file a memory stands in; empty where nothing tells it.

    A source that reads as a path is one: folders and a name with an extension, or the bare name
    of a text file. Every other source names a format. An item of a Markdown folder without an id
    of its own is named after its file.

    Examples
    --------
    >>> source_path("m1", "memory/2026-05-14.md"), source_path("m2", "claude_code")
    ('memory/2026-05-14.md', '')
    >>> source_path("md:memory/2026-05-14#3", "markdown_folder")
    'memory/2026-05-14.md'
    """
    if source and (_FOLDER.search(source) or _FILE.match(source)):
        return source
    item = _ITEM.match(memory_id)
    return f"{item[1]}.md" if item else ""
