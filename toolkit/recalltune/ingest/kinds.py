"""What the path of a memory or session file says about what is in it.

The path alone decides, never the content: a text that calls itself a reflection is none. What a
source says of itself (front matter, braces) goes before this table, and so does the layer the
caller of `ingest` named. Paths are those inside the given folder or vault, so that nothing of the
machine above it counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from recalltune.ingest.moments import dated_name

__all__ = ["KINDS", "NOT_MEMORIES", "Kind", "Rule", "SessionKind", "kind_of", "path_parts"]

SessionKind = Literal["interactive", "cron", "heartbeat", "subagent"]

NOT_MEMORIES = frozenset(
    {
        "AGENTS.md",
        "BOOTSTRAP.md",
        "CLAUDE.md",
        "GEMINI.md",
        "HEARTBEAT.md",
        "IDENTITY.md",
        "SOUL.md",
        "TOOLS.md",
        "USER.md",
    }
)
"""Files an agent is told before every session: rules, persona, user model. They are put into the
prompt whole and never recalled, so a walked folder passes them over; a file named by the user is
read."""


@dataclass(frozen=True)
class Kind:
    """What a path says; None where it says nothing."""

    layer: str | None = None
    origin: str | None = None
    session_kind: SessionKind | None = None


@dataclass(frozen=True)
class Rule:
    """One line of the table: paths with such a folder, or a file of such a name, are of a kind."""

    kind: Kind
    folders: frozenset[str] = frozenset()
    """Names of folders anywhere on the path, whatever their case."""
    files: frozenset[str] = frozenset()
    """Names of files, exactly."""

    def fits(self, folders: frozenset[str], file: str) -> bool:
        """Whether the path of these folders (in lower case) and this file is meant."""
        return file in self.files or not self.folders.isdisjoint(folders)


KINDS: tuple[Rule, ...] = (
    Rule(Kind(None, "system", "cron"), frozenset({"cron", "cron-jobs"})),
    Rule(Kind(None, "system", "heartbeat"), frozenset({"heartbeat", "heartbeats"})),
    Rule(Kind(None, "agent", "subagent"), frozenset({"subagent", "subagents"})),
    # What a browser saved is the words of strangers.
    Rule(Kind(None, "untrusted"), frozenset({"clippings", "web-clips"})),
    Rule(
        Kind("reflection", "agent"),
        frozenset({"reflection", "reflections", "dreaming", "dreams"}),
        frozenset({"DREAMS.md", "REFLECTIONS.md"}),
    ),
    Rule(
        Kind("whiteboard"), frozenset({"whiteboard", "whiteboards"}), frozenset({"WHITEBOARD.md"})
    ),
    Rule(Kind("user"), files=frozenset({"USER.md"})),
    Rule(Kind("log"), frozenset({"daily", "daily-notes", "journal", "journals"})),
)
"""Rules in order; of each of the three, the first that says something decides. After them, a file
named after a day is of layer ``log``."""


def kind_of(path: str) -> Kind:
    r"""Kind of what is in a file, by its path.

    Parameters
    ----------
    path
        Path inside the given folder or vault; ``\`` counts as ``/``, and spaces in the name of a
        folder as hyphens.

    Examples
    --------
    >>> kind_of("memory/cron/2026-05-14.md")
    Kind(layer='log', origin='system', session_kind='cron')
    >>> kind_of("Daily notes/tea.md").layer, kind_of("notes/reflections.md").layer
    ('log', None)
    """
    *above, file = path_parts(path)
    folders = frozenset("-".join(folder.casefold().split()) for folder in above)
    said = [rule.kind for rule in KINDS if rule.fits(folders, file)]
    if dated_name(file, Counter()) is not None:
        said.append(Kind("log"))
    return Kind(
        layer=next((kind.layer for kind in said if kind.layer), None),
        origin=next((kind.origin for kind in said if kind.origin), None),
        session_kind=next((kind.session_kind for kind in said if kind.session_kind), None),
    )


def path_parts(path: str) -> list[str]:
    r"""Names on a path, with ``\`` as ``/``; at least one."""
    return path.replace("\\", "/").split("/")
