"""A companion's memory: what was said, what it lived through, what it shared; into gated tables.

In: a small JSON file, or the same as models. Out: turns, memories, events, attempts to share and
gist jobs, with every span gated by its message (`store.settle_sharing`). It is how corpora of a
companion come into a lab; transcripts and folders have formats of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Annotated

import duckdb
from pydantic import AwareDatetime, Field

from recalltune.errors import ContractError, ParameterError, Settings, nearest
from recalltune.ingest.json_model import read_model
from recalltune.store import (
    Event,
    Job,
    Lab,
    Memory,
    MemorySpan,
    Row,
    Sharing,
    Turn,
    insert_rows,
    put_texts,
    read_table,
    settle_sharing,
    text_hash,
)

__all__ = [
    "GIST",
    "SOURCE",
    "Attempt",
    "Companion",
    "Exchange",
    "Lived",
    "LivedEvent",
    "Said",
    "read_companion",
    "write_companion",
]

SOURCE = "companion"
"""`memory.source` of what is written here: the source whose gate is sharing."""
GIST = "gist"
"""`job.kind` of the work that shortens a memory."""
_LARGEST_FILE = 10_000_000
_MOST = 999

Share = Annotated[float, Field(ge=0, le=1)]


class Said(Settings):
    """One message, remembered as it stands."""

    text: str
    gist: str | None = None
    """A short form; none yet: its job is queued."""
    salience: Share = 0.5
    en: str = ""
    """What it says in English, for readers; it is no part of what is searched."""


class Exchange(Settings):
    """A message of the user and the companion's reply."""

    exchange_id: str = Field(min_length=1)
    at: AwareDatetime
    user: Said
    companion: Said | None = None
    repeats: str | None = None
    """An earlier exchange in which the user said the same thing."""


class Lived(Settings):
    """Something the companion keeps for itself: a memory without a message."""

    text: str
    at: AwareDatetime
    salience: Share = 0.5


class LivedEvent(Settings):
    """Something it lived through, and when it told of it."""

    event_id: str = Field(min_length=1)
    at: AwareDatetime
    text: str
    told_at: AwareDatetime | None = None


class Attempt(Settings):
    """An attempt to share events in the reply of an exchange."""

    exchange_id: str = Field(min_length=1)
    events: tuple[str, ...] = ()
    acknowledged_at: AwareDatetime | None = None
    judged_at: AwareDatetime | None = None
    state: str = "judged"


class Companion(Settings):
    """A whole memory. Ids count up in the order of exchanges, user first, then of what is lived."""

    now: AwareDatetime
    """The instant it is asked about."""
    scope: str = Field(default="companion", min_length=1)
    exchanges: tuple[Exchange, ...] = ()
    lived: tuple[Lived, ...] = ()
    events: tuple[LivedEvent, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    words: dict[str, str] = Field(default_factory=dict)
    """Words that are asked for -> English, for readers."""

    def english(self) -> Iterator[tuple[str, str]]:
        """Yield (memory_id, English) of each message that has some, as numbered in a fresh lab."""
        number = 0
        for exchange in self.exchanges:
            for _, said in _sides(exchange):
                number += 1
                if said.en:
                    yield numbered(number), said.en


def numbered(number: int) -> str:
    """Return the id of the n-th memory, in an order that is also that of the text.

    Raises
    ------
    ParameterError
        If the number has more than three digits: m1000 would stand before m999, and the newest of
        two equals is the one with the larger id.
    """
    if number > _MOST:
        message = f"a companion's memory holds at most {_MOST} messages, this would be {number:,}"
        raise ParameterError(message)
    return f"m{number:03d}"


def read_companion(path: Path | str) -> Companion:
    """Return what a JSON file holds; its keys are the fields of `Companion`.

    Raises
    ------
    SourceError
        If the file is too large, not JSON, or says something else; the message names the field.
    """
    return read_model(path, Companion, "a companion's memory", at_most=_LARGEST_FILE)


def write_companion(lab: Lab, companion: Companion, *, file: str = "") -> dict[str, int]:
    """Write a memory into a lab, after what such memories it holds; return the gate's account.

    Parameters
    ----------
    lab
        The lab.
    companion
        What to add. Exchanges go on counting: a second call is the next conversation.
    file
        Name of the file the rows are said to come from.

    Returns
    -------
    dict[str, int]
        As `store.settle_sharing`: reason -> spans of all such memories in the lab.
    """
    with lab.writing() as con:
        written = _Numbers(con, companion.scope)
        put_texts(con, sorted(set(_texts(companion))))
        rows = [
            *chain(
                *(_of_exchange(written, one, companion.scope, file) for one in companion.exchanges)
            ),
            *chain(*(_of_lived(written, one, companion.scope, file) for one in companion.lived)),
            *_shared(companion, file),
        ]
        insert_rows(con, rows)
        return settle_sharing(con, SOURCE)


class _Numbers:
    """The next memory, the next place in the conversation, and which memory said what first."""

    def __init__(self, con: duckdb.DuckDBPyConnection, scope: str) -> None:
        memories = read_table(con, "memory", source=SOURCE)
        self._memories = memories.height
        self._turns = read_table(con, "turn", source=SOURCE, session_id=scope).height
        self._said: dict[str, str] = dict(
            memories.select("turn_id", "memory_id").drop_nulls().iter_rows()
        )

    def memory(self, turn_id: str | None = None) -> str:
        self._memories += 1
        memory_id = numbered(self._memories)
        if turn_id is not None:
            self._said[turn_id] = memory_id
        return memory_id

    def turn(self) -> int:
        self._turns += 1
        return self._turns - 1

    def first(self, exchange: Exchange) -> str | None:
        """Memory of the exchange that this one repeats."""
        if exchange.repeats is None:
            return None
        wanted = _turn_id(exchange.repeats, "user")
        if wanted not in self._said:
            known = [turn.partition("/")[0] for turn in self._said]
            tail = nearest(exchange.repeats, known)
            message = (
                f"exchange {exchange.exchange_id!r} repeats {exchange.repeats!r}, which does not "
                f"come before it; {tail}"
            )
            raise ContractError(message)
        return self._said[wanted]


def _turn_id(exchange_id: str, role: str) -> str:
    return f"{exchange_id}/{role}"


def _texts(companion: Companion) -> Iterator[str]:
    for exchange in companion.exchanges:
        yield from (said.text for _, said in _sides(exchange))
    yield from (lived.text for lived in companion.lived)
    yield from (event.text for event in companion.events)


def _sides(exchange: Exchange) -> list[tuple[str, Said]]:
    both = [("user", exchange.user), ("companion", exchange.companion)]
    return [(role, said) for role, said in both if said is not None]


def _of_exchange(written: _Numbers, exchange: Exchange, scope: str, file: str) -> Iterator[Row]:
    for role, said in _sides(exchange):
        turn = Turn(
            turn_id=_turn_id(exchange.exchange_id, role),
            session_id=scope,
            seq=written.turn(),
            role=role,
            text_hash=text_hash(said.text),
            said_at=exchange.at,
            scope=scope,
            source=SOURCE,
            file=file,
        )
        first = written.first(exchange) if role == "user" else None
        memory = _memory(written.memory(turn.turn_id), said, scope)
        yield turn
        yield memory.with_(turn_id=turn.turn_id, duplicate_of=first)
        yield _span(memory, exchange.at, file)
        done = said.gist is not None
        yield Job(
            kind=GIST, ref=memory.memory_id, state="done" if done else "queued", attempts=int(done)
        )


def _of_lived(written: _Numbers, lived: Lived, scope: str, file: str) -> Iterator[Row]:
    hidden = Said(text=lived.text, salience=lived.salience)
    memory = _memory(written.memory(), hidden, scope)
    yield memory.with_(origin="self_life")
    yield _span(memory, lived.at, file)


def _memory(memory_id: str, said: Said, scope: str) -> Memory:
    return Memory(
        memory_id=memory_id,
        text_hash=text_hash(said.text),
        gist=said.gist,
        scope=scope,
        salience=said.salience,
        source=SOURCE,
    )


def _span(memory: Memory, at: datetime, file: str) -> MemorySpan:
    """Shut until the gate opens it."""
    return MemorySpan(
        memory_id=memory.memory_id,
        text_hash=memory.text_hash,
        scope=memory.scope,
        event_at=at,
        known_at=at,
        gated=True,
        file=file,
    )


def _shared(companion: Companion, file: str) -> Iterator[Row]:
    for event in companion.events:
        yield Event(
            event_id=event.event_id,
            scope=companion.scope,
            origin="self_life",
            text_hash=text_hash(event.text),
            happened_at=event.at,
            told_at=event.told_at,
            source=SOURCE,
            file=file,
        )
    for attempt in companion.attempts:
        yield Sharing(
            sharing_id=_turn_id(attempt.exchange_id, "sharing"),
            turn_id=_turn_id(attempt.exchange_id, "companion"),
            candidates=attempt.events,
            acknowledged_at=attempt.acknowledged_at,
            judged_at=attempt.judged_at,
            state=attempt.state,
            file=file,
        )
