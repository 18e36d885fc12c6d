"""An import that is killed, starved or doubled: the lab is as before or after a group of files.

Processes are forked from one that has imported the library already, so that a hundred kills take
a minute. Whole tables are compared, not only what a ranking reads.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from attack.import_process import GROUP_BYTES, run_import
from recalltune import store
from recalltune.ingest import FORMATS, importing, ingest
from recalltune.ingest.folder import find_sources
from recalltune.store import read_table
from recalltune.store.schema import ORDER_KEYS

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["recalltune.ingest"])


def whole_digest(path: Path) -> str:
    """SHA-256 over every row of every table."""
    digest = hashlib.sha256()
    with store.open(path).reading() as con:
        for table in ORDER_KEYS:
            rows = sorted(map(repr, read_table(con, table).rows()))
            digest.update(f"{table}:{rows}".encode())
    return digest.hexdigest()


def session(name: str, words: str, lines: int = 20) -> str:
    return "".join(
        json.dumps(
            {
                "type": "user" if n % 2 else "assistant",
                "uuid": f"{name}-{n}",
                "sessionId": name,
                "timestamp": f"2026-01-01T00:{n:02d}:00Z",
                "message": {"role": "user", "content": f"{words} {n} of {name}"},
            }
        )
        + "\n"
        for n in range(lines)
    )


def write_corpus(folder: Path, words: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "memory").mkdir(exist_ok=True)
    for n in range(6):
        (folder / f"s{n}.jsonl").write_text(session(f"session-{n}", words))
    (folder / "s6.jsonl").write_text(session("session-0", words))  # the first one, resumed
    items = "".join(f"- {words} item {n}\n" for n in range(40))
    (folder / "memory" / "2026-05-14.md").write_text(items)
    records = [
        {"id": f"r{n}", "text": f"{words} record {n}", "timestamp": "2026-02-01T00:00:00Z"}
        for n in range(40)
    ]
    payload = {"version": "connector-v1", "source": "s", "scope": "x", "records": records}
    payload["producedAt"] = "2026-03-01T00:00:00Z" if words == "old" else "2026-04-01T00:00:00Z"
    (folder / "payload.json").write_text(json.dumps(payload))


@dataclass(frozen=True)
class Stage:
    """A lab of old files, the same files changed, and what the lab may look like on the way."""

    lab: Path
    corpus: Path
    states: list[str]
    """Digest before, and after each group of files."""
    steps: int
    """Steps of a whole import."""

    def copy(self, folder: Path) -> Path:
        """Lab of its own: a killed one leaves its log beside it."""
        folder.mkdir()
        return Path(shutil.copy(self.lab, folder / "lab.duckdb"))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    home = tmp_path_factory.mktemp("stage")
    corpus, lab, reached = home / "corpus", home / "lab.duckdb", home / "reached.duckdb"
    write_corpus(corpus, "old")
    ingest(store.open(lab), corpus, turns_as_memories=True)
    write_corpus(corpus, "new")
    shutil.copy(lab, reached)
    states, groups = [whole_digest(reached)], importing._groups
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "_GROUP_BYTES", GROUP_BYTES)
        count = len(list(groups(find_sources([corpus], list(FORMATS.values()), Counter(), []))))
        for number in range(1, count + 1):
            patch.setattr(importing, "_groups", lambda given, n=number: list(groups(given))[:n])
            ingest(store.open(reached), corpus, turns_as_memories=True)
            states.append(whole_digest(reached))
    again, told = Path(shutil.copy(lab, home / "again.duckdb")), home / "told"
    start(Stage(lab, corpus, states, 0), again, told).join()
    assert told.read_text() == "done"
    assert whole_digest(again) == states[-1]
    assert len(set(states)) == len(states) >= 4
    return Stage(lab, corpus, states, told.with_suffix(".steps").stat().st_size)


def start(stage: Stage, lab: Path, told: Path, limit: int | None = None) -> BaseProcess:
    """Process that has come to where it imports."""
    told.unlink(missing_ok=True)
    process = CONTEXT.Process(target=run_import, args=(lab, stage.corpus, told, limit))
    process.start()
    while not told.exists() and process.is_alive():
        time.sleep(0.001)
    return process


def wait_for(steps: Path, count: int, process: BaseProcess) -> None:
    while process.is_alive() and (steps.stat().st_size if steps.exists() else 0) < count:
        time.sleep(0.0005)


def resumed(stage: Stage, lab: Path) -> str:
    ingest(store.open(lab), stage.corpus, turns_as_memories=True)
    return whole_digest(lab)


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(6, marks=pytest.mark.slow, id="a_few"),
        pytest.param(120, marks=pytest.mark.stress, id="ten_dozen"),
    ],
)
def test_an_import_killed_at_any_moment_leaves_whole_groups_and_is_resumed(
    stage: Stage, tmp_path: Path, kills: int
):
    draw = random.Random(kills)
    seen = Counter[int]()
    for number in range(kills):
        lab = stage.copy(tmp_path / f"{number}")
        process = start(stage, lab, tmp_path / "told")
        # After so many steps, and somewhere between that one and the next.
        wait_for(tmp_path / "told.steps", number * stage.steps // kills, process)
        time.sleep(draw.uniform(0.0, 0.02))
        process.kill()
        process.join()
        state = whole_digest(lab)
        assert state in stage.states
        seen[stage.states.index(state)] += 1
        if number % 6 == 0:
            assert resumed(stage, lab) == stage.states[-1]
    # Kills that all came too early or too late would prove nothing.
    assert len(seen) >= min(kills // 2, len(stage.states) - 2), seen


@pytest.mark.slow
def test_a_full_disk_leaves_whole_groups_and_says_so(stage: Stage, tmp_path: Path):
    size, failed = stage.lab.stat().st_size, 0
    for limit in (4_000, 40_000, 200_000, size // 2, size):
        lab, told = stage.copy(tmp_path / f"{limit}"), tmp_path / "told"
        start(stage, lab, told, limit=limit).join()
        outcome = told.read_text()
        assert outcome == "done" or outcome.startswith("UnwrittenError"), outcome
        if outcome != "done":
            failed += 1
            assert "the lab is as it was before" in outcome
        assert whole_digest(lab) in stage.states
        assert resumed(stage, lab) == stage.states[-1]
    assert failed


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_to_is_said_and_left_alone(stage: Stage):
    # Not below pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        corpus, closed = home / "corpus", home / "closed"
        shutil.copytree(stage.corpus, corpus)
        lab = stage.copy(closed)
        lab.chmod(0o444)
        closed.chmod(0o555)
        home.chmod(0o777)
        told = home / "told"
        process = CONTEXT.Process(target=run_import, args=(lab, corpus, told, None, True))
        process.start()
        process.join()
        closed.chmod(0o755)
        lab.chmod(0o600)
        assert told.read_text().startswith("ReadOnlyError"), told.read_text()
        assert "may not be written to" in told.read_text()
        assert whole_digest(lab) == stage.states[0]


@pytest.mark.slow
def test_control_c_leaves_whole_groups(stage: Stage, tmp_path: Path):
    for share in (0.3, 0.5, 0.7, 0.9):
        lab, told = stage.copy(tmp_path / f"{share}"), tmp_path / "told"
        process = start(stage, lab, told)
        wait_for(tmp_path / "told.steps", int(share * stage.steps), process)
        with suppress(ProcessLookupError):  # it may be done before
            os.kill(process.pid, signal.SIGINT)
        process.join()
        assert whole_digest(lab) in stage.states
        assert resumed(stage, lab) == stage.states[-1]


@pytest.mark.slow
def test_two_imports_at_once_take_turns(stage: Stage, tmp_path: Path):
    lab = stage.copy(tmp_path / "lab")
    told = [tmp_path / "one", tmp_path / "two"]
    for process in [start(stage, lab, note) for note in told]:
        process.join()
    assert {note.read_text() for note in told} == {"done"}
    assert whole_digest(lab) == stage.states[-1]
