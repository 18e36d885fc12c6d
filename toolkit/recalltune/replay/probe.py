"""The experiments of the HEL-847 plan on tables: E1 to E5, W1, J1, expected beside observed.

In: a companion's corpus and the words its experiments ask for. Out: one row an observation. Ids
count up in the order things were said, so every corpus of the plan's shape gives the same ids; what
the corpora say differs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BeforeValidator

from recalltune.errors import Settings
from recalltune.ingest.companion import GIST, Companion, Exchange, write_companion
from recalltune.ingest.json_model import read_model
from recalltune.pipeline.config import preset
from recalltune.replay.companion import CompanionMemory
from recalltune.store import Lab, open, read_table

__all__ = ["ProbeWords", "read_probe", "run_probe"]

_LARGEST_FILE = 1_000_000
_AGAIN = {"m009", "m010", "m011", "m012", "m013"}
"""The five that say the same thing."""

Observed = tuple[str, str, Any, Any]
Words = Annotated[tuple[str, ...], BeforeValidator(tuple)]


class ProbeWords(Settings):
    """What the experiments ask of one corpus."""

    paraphrase: str
    """E1: asks for something in other words than it was said in."""
    named: str
    """E2a: the thing with a name."""
    repeated: str
    """E2b: what was said five times."""
    where_from: str
    """E3: stands in the message and not in its gist."""
    details: Words
    """E3: what the gist of that message lost."""
    name: str
    """E4a: what was lived alone holds it too."""
    both: str
    """E4b: found in a message of the user whose reply was not shared."""
    untold: Words
    """E4b: words of what was never told."""
    arrived: str
    """W1: in what is recorded."""
    late_gist: str
    """J1: the gist that is made late."""
    recorded: Exchange
    """What W1 records."""


def read_probe(path: Path | str) -> ProbeWords:
    """Return the words in a JSON file; its keys are the fields of `ProbeWords`.

    Raises
    ------
    SourceError
        If the file is too large, not JSON, or says something else; the message names the field.
    """
    return read_model(path, ProbeWords, "the words of a probe", at_most=_LARGEST_FILE)


def run_probe(companion: Companion, words: ProbeWords, *, folder: Path | str) -> pl.DataFrame:
    """Run every experiment, each on a lab of its own.

    Parameters
    ----------
    companion
        The corpus.
    words
        What is asked of it.
    folder
        Where the labs are made; emptied of them afterwards.

    Returns
    -------
    pl.DataFrame
        experiment, what, expected, observed (as text), holds.
    """
    only = companion.with_(exchanges=(words.recorded,), lived=(), events=(), attempts=())
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = _written(Path(scratch) / "lab.duckdb", companion)

        def memory(*, recorded: bool = False) -> CompanionMemory:
            copy = Path(scratch) / "copy.duckdb"
            shutil.copy(made.path, copy)
            if recorded:
                write_companion(open(copy), only)
            return CompanionMemory(open(copy), companion.now)

        rows = [
            *_search(memory(), words),
            *_reread(memory(), words),
            *_reopened(memory(), words),
            *_recorded(memory(recorded=True), words),
            *_job(memory(recorded=True), words),
        ]
    return pl.DataFrame(
        [(name, what, str(want), str(got), want == got) for name, what, want, got in rows],
        schema=["experiment", "what", "expected", "observed", "holds"],
        orient="row",
    )


def _written(path: Path, companion: Companion) -> Lab:
    lab = open(path)
    write_companion(lab, companion)
    return lab


def _search(memory: CompanionMemory, words: ProbeWords) -> Iterator[Observed]:
    ported = replace(memory, config=preset("hel847-ported"))
    found = memory.search(words.paraphrase)
    yield "E1", "a paraphrase, letter by letter", "none: nothing", _told(found.mode, found.ids)
    yield "E2a", "candidates", "16 14 7 3 1", _numbers(memory.candidates(words.named))
    yield "E2a", "newest first", "16 14 7 3", _numbers(memory.search(words.named).ids)
    yield "E2a", "with salience and age", "1 7 14 16", _numbers(ported.search(words.named).ids)
    before, after = (one.search(words.repeated).ids for one in (memory, ported))
    yield "E2b", "newest first", "13 12 11 10", _numbers(before)
    yield "E2b", "with salience, age and MMR", "5 12 13 11", _numbers(after)
    yield (
        "E2b",
        "repetitions among four",
        "4, then 3",
        (f"{len(_AGAIN & set(before))}, then {len(_AGAIN & set(after))}"),
    )
    yield "E4a", "found by its name", "3", _numbers(memory.search(words.name).ids)
    yield "E4a", "what was lived alone may be shown", False, memory.passes_gate("m018")


def _reread(memory: CompanionMemory, words: ProbeWords) -> Iterator[Observed]:
    found = memory.search(words.where_from)
    yield "E3", "found", "phrase: 1", _told(found.mode, found.ids)
    again = memory.reread(words.where_from)
    details = len(words.details)
    yield "E3", "details in the block of gists", 0, _said(words.details, again.before)
    yield "E3", "details after rereading", details, _said(words.details, again.text)
    yield (
        "E3",
        "replies that may be shown: of exchanges 1 and 8",
        "no, yes",
        ", ".join("yes" if memory.passes_gate(one) else "no" for one in ("m002", "m017")),
    )
    found = memory.search(words.both)
    yield "E4b", "found: messages of the user only", "like: 16 14 7 3", _told(found.mode, found.ids)
    again = memory.reread(words.both)
    yield "E4b", "the untold in the block", 0, _said(words.untold, again.before)
    yield "E4b", "the untold after rereading", 0, _said(words.untold, again.text)
    yield "E4b", "both within the budget", True, max(len(again.before), len(again.text)) <= 600
    yield "E4b", "the shared reply after rereading", 1, again.text.count('"role": "companion"')


def _reopened(memory: CompanionMemory, words: ProbeWords) -> Iterator[Observed]:
    before = memory.remember(words.where_from)
    after = memory.reopened().later(seconds=1).remember(words.where_from)
    yield "E5", "the same block from a reopened file", True, before == after


def _recorded(memory: CompanionMemory, words: ProbeWords) -> Iterator[Observed]:
    with memory.lab.reading() as con:
        queued = read_table(con, "job", kind=GIST, state="queued").height
    found = memory.reopened().search(words.arrived)
    yield "W1", "gists to be made", 2, queued
    yield "W1", "found by the next conversation", "like: 19", _told(found.mode, found.ids)


def _job(memory: CompanionMemory, words: ProbeWords) -> Iterator[Observed]:
    first = memory.claim("first")
    yield "J1", "first claim", "19, attempt 1", _job_told(first)
    yield (
        "J1",
        "taken back before the lease ends, and after",
        "0, 1",
        (f"{memory.later(seconds=39).recover()}, {memory.later(seconds=60).recover()}"),
    )
    yield "J1", "gist after the crash", None, _gist(memory)
    again = memory.later(seconds=61).claim("second")
    yield "J1", "second claim", "19, attempt 2", _job_told(again)
    if again is not None:
        memory.later(seconds=62).complete(again, words.late_gist)
    yield "J1", "gist in the end", words.late_gist, _gist(memory)
    for second, when, want in (
        (62, "as it is written", "none: nothing"),
        (63, "from then on", "phrase: 19"),
    ):
        found = memory.later(seconds=second).search(words.late_gist[:4])
        yield "J1", f"found by the gist, {when}", want, _told(found.mode, found.ids)


def _gist(memory: CompanionMemory) -> str | None:
    with memory.lab.reading() as con:
        found: str | None = read_table(con, "memory", memory_id="m019")["gist"][0]
    return found


def _job_told(job: Any) -> str:
    return "none" if job is None else f"{_numbers([job.ref])}, attempt {job.attempts}"


def _told(mode: str, ids: tuple[str, ...]) -> str:
    return f"{mode}: {_numbers(ids) or 'nothing'}"


def _numbers(ids: Any) -> str:
    return " ".join(str(int(one[1:])) for one in ids)


def _said(words: tuple[str, ...], text: str) -> int:
    return sum(word in text for word in words)
