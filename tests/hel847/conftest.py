"""The two corpora: our own wording, and the plan's, which is read where the shared folder is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from recalltune.ingest.companion import Companion, read_companion, write_companion
from recalltune.production.golden.hel847_plan import read_plan
from recalltune.replay.companion import CompanionMemory
from recalltune.replay.probe import ProbeWords, read_probe
from recalltune.store import open

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Shelf:
    """A corpus, the words its experiments ask for, and labs that hold it."""

    companion: Companion
    words: ProbeWords
    memory: Callable[[], CompanionMemory]

    @property
    def recorded(self) -> Companion:
        """What W1 adds."""
        only = {"exchanges": (self.words.recorded,), "lived": (), "events": (), "attempts": ()}
        return self.companion.with_(**only)


def own() -> tuple[Companion, ProbeWords]:
    folder = ROOT / "data" / "companion"
    return read_companion(folder / "shelf.json"), read_probe(folder / "probe" / "shelf.json")


def plan(shared: Path) -> tuple[Companion, ProbeWords]:
    companion, recorded = read_plan(shared / "notes")
    words = ProbeWords(
        paraphrase="之前买的那本诗歌选集，封面是什么颜色",
        named="诗集",
        repeated="栗子",
        where_from="旧书店",
        details=("蓝色封面", "受潮"),
        name="海雾",
        both="诗集 床头",
        untold=("银杏书签", "没有讲给用户"),
        arrived="书架",
        late_gist="用户提到新书架",
        recorded=recorded.exchanges[0],
    )
    return companion, words


@pytest.fixture(scope="session", params=["own", pytest.param("plan", marks=pytest.mark.shared)])
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    companion, words = own() if request.param == "own" else plan(request.getfixturevalue("shared"))
    folder = tmp_path_factory.mktemp(request.param)
    write_companion(open(folder / "0.duckdb"), companion)
    copies = iter(range(1, 1000))

    def memory() -> CompanionMemory:
        """A lab of its own for whoever writes to it."""
        path = folder / f"{next(copies)}.duckdb"
        shutil.copy(folder / "0.duckdb", path)
        return CompanionMemory(open(path), companion.now)

    return Shelf(companion, words, memory)
