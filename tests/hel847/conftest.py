"""The two corpora: our own wording, and the plan's, which is read where the shared folder is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hel847.companion_memory import CompanionMemory
from recalltune.ingest.companion import Companion, Exchange, Said, read_companion, write_companion
from recalltune.production.golden.hel847_plan import read_plan
from recalltune.store import open

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Shelf:
    """A corpus and the words its experiments ask for."""

    companion: Companion
    recorded: Companion
    """What W1 adds."""
    paraphrase: str
    named: str
    """Query of E2a: the thing with a name."""
    eaten: str
    """Query of E2b: said five times again."""
    where_from: str
    details: tuple[str, str]
    """Said in the message, lost in its gist."""
    name: str
    both: str
    untold: tuple[str, ...]
    """Words of what was never told."""
    arrived: str
    late_gist: str
    memory: Callable[[], CompanionMemory]


def own() -> tuple[Companion, Companion, dict]:
    companion = read_companion(ROOT / "data" / "companion" / "shelf.json")
    pair = Exchange(
        exchange_id="t9",
        at=companion.now.replace(hour=companion.now.hour - 1),
        user=Said(text="新木箱到了，霜信旁边留出一格"),
        companion=Said(text="好，那一格给下一只风筝"),
    )
    words = {
        "paraphrase": "之前那只会飞的玩具，尾巴是什么颜色",
        "named": "风筝",
        "eaten": "红薯",
        "where_from": "旧货市集",
        "details": ("橙色尾巴", "松脂"),
        "name": "霜信",
        "both": "风筝 阳台",
        "untold": ("铜铃", "没跟用户提"),
        "arrived": "木箱",
        "late_gist": "用户提到新木箱",
    }
    recorded = companion.with_(exchanges=(pair,), lived=(), events=(), attempts=())
    return companion, recorded, words


def plan(shared: Path) -> tuple[Companion, Companion, dict]:
    companion, recorded = read_plan(shared / "notes")
    words = {
        "paraphrase": "之前买的那本诗歌选集，封面是什么颜色",
        "named": "诗集",
        "eaten": "栗子",
        "where_from": "旧书店",
        "details": ("蓝色封面", "受潮"),
        "name": "海雾",
        "both": "诗集 床头",
        "untold": ("银杏书签", "没有讲给用户"),
        "arrived": "书架",
        "late_gist": "用户提到新书架",
    }
    return companion, recorded, words


@pytest.fixture(scope="session", params=["own", pytest.param("plan", marks=pytest.mark.shared)])
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    made = own() if request.param == "own" else plan(request.getfixturevalue("shared"))
    companion, recorded, words = made
    folder = tmp_path_factory.mktemp(request.param)
    write_companion(open(folder / "0.duckdb"), companion)
    copies = iter(range(1, 1000))

    def memory() -> CompanionMemory:
        """A lab of its own for whoever writes to it."""
        path = folder / f"{next(copies)}.duckdb"
        shutil.copy(folder / "0.duckdb", path)
        return CompanionMemory(open(path), companion.now)

    return Shelf(companion=companion, recorded=recorded, memory=memory, **words)
