"""Memories of what a turn said: none of noise, one of a short text, several of a long one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from recalltune.ingest.attributes import Attributes
from recalltune.ingest.chunks import chunk_spans
from recalltune.ingest.claim import Claim, claim_of
from recalltune.ingest.noise import noise_reason
from recalltune.store import Turn

__all__ = ["turn_claim", "turn_claims"]

_ORIGIN = {"user": "owner", "assistant": "agent"}


def turn_claims(
    turn: Turn,
    text: str,
    *,
    layer: str,
    origin: str | None,
    put: Callable[[str], str],
    notes: Counter[str],
) -> list[Claim]:
    """Memories of a turn, known from the moment it was said.

    Parameters
    ----------
    turn, text
        What was said. A text of more than 2,000 characters becomes the memories ``id#1``, ``id#2``,
        …, one a chunk; the turn is their ``turn_id``.
    layer, origin
        Of the memories; without an origin, that of the role.
    put
        Stores the text of a chunk and returns its hash.
    notes
        Counter that receives why a turn is no memory, and that one was cut.
    """
    if reason := noise_reason(text, turn.role):
        notes[f"turn not made a memory: {reason}"] += 1
        return []
    spans = chunk_spans(text)
    if len(spans) == 1:
        return [turn_claim(turn, layer=layer, origin=origin)]
    notes["turn cut into several memories"] += 1
    chunks = [(f"{turn.turn_id}#{n}", put(text[a:b])) for n, (a, b) in enumerate(spans, start=1)]
    return [turn_claim(turn, layer=layer, origin=origin, chunk=chunk) for chunk in chunks]


def turn_claim(
    turn: Turn, *, layer: str, origin: str | None, chunk: tuple[str, str] | None = None
) -> Claim:
    """Memory that says all a turn said, or one chunk of it: its id and the hash of its text."""
    memory_id, text_hash = chunk or (turn.turn_id, turn.text_hash)
    said_by = Attributes(
        {
            "layer": layer,
            "origin": origin or _ORIGIN.get(turn.role),
            "turn_id": turn.turn_id,
            "session": turn.session_id,
        }
    )
    return claim_of(
        memory_id,
        text_hash,
        said_by,
        scope=turn.scope,
        at=turn.said_at,
        source=turn.source,
        file=turn.file,
        line=turn.line or 1,
    )
