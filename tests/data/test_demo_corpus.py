"""The demo corpus: counts, identity, times, glosses, and what each ranking switch does to it."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalltune.rank.tokens import tokenize

MAIN = "project:heronfield"
KINDS = {
    "date",
    "hard_negative",
    "multi_evidence",
    "nothing_to_find",
    "preference",
    "scope_isolation",
    "single_fact",
    "update",
}
SOURCES = ("connector", "memory", "transcripts", "search_log")
CHINESE = re.compile("[\u4e00-\u9fff]")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def chinese(text: str) -> bool:
    # A Chinese name inside an English sentence does not make it Chinese.
    return len(CHINESE.findall(text)) > 6


@pytest.fixture(scope="module")
def data(root: Path) -> Path:
    return root / "data"


@pytest.fixture(scope="module")
def records(data: Path) -> list[dict[str, Any]]:
    payload = json.loads((data / "connector/agent_memory.json").read_text("utf-8"))
    assert payload["version"] == "connector-v1"
    assert payload["scope"] == MAIN
    return payload["records"]


@pytest.fixture(scope="module")
def cases(data: Path) -> list[dict[str, Any]]:
    return json.loads((data / "cases/demo.json").read_text("utf-8"))


def entries_of(path: Path) -> list[tuple[str | None, str, datetime]]:
    """Own id or none, text, time of each entry of a dated file."""
    text = path.read_text("utf-8")
    found = []
    for clock, body in re.findall(r"^## (\d\d:\d\d)\n\n(.+?)(?=\n\n## |\n?\Z)", text, re.M | re.S):
        body, _, braces = body.strip().partition(" {#")
        at = datetime.fromisoformat(f"{path.stem}T{clock}").replace(tzinfo=UTC)
        found.append((braces.removesuffix("}") or None, body, at))
    return found


@pytest.fixture(scope="module")
def log(data: Path) -> dict[str, list[tuple[str | None, str, datetime]]]:
    return {path.stem: entries_of(path) for path in sorted((data / "memory/memory").glob("*.md"))}


@pytest.fixture(scope="module")
def standing(data: Path) -> list[tuple[str, str]]:
    text = (data / "memory/MEMORY.md").read_text("utf-8")
    return [(id_, body) for body, id_ in re.findall(r"^- (.+) \{#(\S+)\}$", text, re.M)]


@pytest.fixture(scope="module")
def memories(
    records: list[dict[str, Any]],
    log: dict[str, list[tuple[str | None, str, datetime]]],
    standing: list[tuple[str, str]],
) -> dict[str, dict[str, Any]]:
    """Every memory by id: text, layer, scope, and from when it may be seen (none = always)."""
    found: dict[str, dict[str, Any]] = {}

    def put(id_: str, text: str, **more: Any) -> None:
        assert id_ not in found, id_
        found[id_] = {"text": text, "told": True, "scope": MAIN, "from": None} | more

    for record in records:
        meta = record["sourceMetadata"]
        told = meta.get("toldAt", record["timestamp"])
        put(
            record["id"],
            f"[{record['title']}] {record['text']}",
            layer=meta["layer"],
            scope=meta.get("scope", MAIN),
            told=told is not None,
            **{"from": max(moment(record["timestamp"]), moment(told)) if told else None},
        )
    for id_, text in standing:
        put(id_, text, layer="project")
    for day, entries in log.items():
        for number, (own, text, at) in enumerate(entries, start=1):
            put(own or f"md:memory/{day}#{number}", text, layer="log", **{"from": at})
    return found


def test_every_file_is_utf8_with_unix_line_ends_and_the_whole_is_small(data: Path) -> None:
    files = [path for path in data.rglob("*") if path.is_file()]
    for path in files:
        assert b"\r" not in path.read_bytes(), path
        path.read_text("utf-8")
    assert sum(path.stat().st_size for path in files) <= 2_000_000


def test_the_log_spans_half_a_year_and_drowns_the_conclusions(
    log: dict[str, list[tuple[str | None, str, datetime]]], memories: dict[str, dict[str, Any]]
) -> None:
    layers = Counter(m["layer"] for m in memories.values() if m["scope"] == MAIN)
    assert 150 <= len(log) <= 180
    assert {2, 3, 4, 5} >= {len(entries) for entries in log.values()}
    assert (moment(max(log)) - moment(min(log))).days > 180
    assert layers["log"] >= 449
    # The field measurement this stands for: 449 log entries beside 16 conclusions.
    assert layers["log"] > 6 * layers["project"]
    for entries in log.values():
        assert all(earlier[2] < later[2] for earlier, later in pairwise(entries))


def test_every_layer_holds_its_minimum_of_curated_memories(records: list[dict[str, Any]]) -> None:
    current = Counter(
        record["sourceMetadata"]["layer"]
        for record in records
        if "scope" not in record["sourceMetadata"]
        and record["sourceMetadata"].get("status", "current") == "current"
    )
    least = {"project": 18, "whiteboard": 10, "user": 14, "reflection": 9}
    assert {layer: current[layer] >= n for layer, n in least.items()} == dict.fromkeys(least, True)
    others = {r["sourceMetadata"].get("scope", MAIN) for r in records} - {MAIN}
    assert others == {"project:frostline", "project:harbour-desk"}


def test_superseded_conclusions_point_at_a_later_successor(records: list[dict[str, Any]]) -> None:
    by_id = {record["id"]: record for record in records}
    superseded = [r for r in records if r["sourceMetadata"].get("status") == "superseded"]
    chained = 0
    for record in superseded:
        meta = record["sourceMetadata"]
        successor = by_id[meta["supersededBy"]]
        assert moment(record["timestamp"]) < moment(successor["timestamp"])
        assert meta["supersededAt"] == successor["timestamp"]
        chained += successor["sourceMetadata"].get("status") == "superseded"
    assert len(superseded) >= 10
    assert chained == 1
    retracted = [r for r in records if r["sourceMetadata"].get("status") == "retracted"]
    assert 1 <= len(retracted) <= 2
    assert all(r["sourceMetadata"]["reason"] for r in retracted)


def test_oversize_private_pinned_and_unrated_memories_are_there(
    records: list[dict[str, Any]],
) -> None:
    metas = [record["sourceMetadata"] for record in records]
    assert sum(len(record["text"]) > 2_000 for record in records) >= 4
    private = [meta for meta in metas if meta["origin"] == "self_life"]
    assert sum(meta["toldAt"] is None for meta in private) >= 5
    assert sum(meta["toldAt"] is not None for meta in private) >= 2
    assert all("toldAt" not in meta for meta in metas if meta["origin"] != "self_life")
    assert sum(meta.get("pinned", False) for meta in metas) >= 3
    assert 1 <= sum("importanceHint" not in record for record in records) <= 5
    assert {meta.get("tier") for meta in metas} >= {"core", "working", "peripheral"}


def test_no_id_is_a_prefix_of_another(memories: dict[str, dict[str, Any]]) -> None:
    # In sorted order an id that starts with another follows it before anything else does.
    assert [(a, b) for a, b in pairwise(sorted(memories)) if b.startswith(a)] == []


def test_near_duplicates_are_only_the_planned_ones(memories: dict[str, dict[str, Any]]) -> None:
    ids = sorted(memories)
    tokens = {id_: frozenset(tokenize(memories[id_]["text"])) for id_ in ids}
    twin = re.compile(r"(\w+-\d+)b?-")
    pairs, holders = 0, set()
    for at, one in enumerate(ids):
        for other in ids[:at]:
            shared = len(tokens[one] & tokens[other])
            if 5 * shared > 4 * len(tokens[one] | tokens[other]):
                if memories[one]["layer"] == memories[other]["layer"] == "log":
                    holders |= {one, other}
                else:
                    mine, yours = twin.match(one), twin.match(other)
                    assert mine is not None
                    assert yours is not None
                    assert mine[1] == yours[1]
                    pairs += 1
    assert pairs >= 6
    routine = (
        r"GW-C restarted by|dryshed 夜间备份完成|ST-19 at \d|Monthly klaxon test|清理 ST-22 雨量筒"
        r"|millrace 积压 \d|Hand reading at|值班交接：无"
    )
    planned = {id_ for id_ in ids if re.match(routine, memories[id_]["text"])}
    assert len(holders - planned) < 0.05 * len(ids)
    assert len(planned) == 79


def test_every_chinese_memory_and_case_has_a_gloss_and_nothing_else_has(
    data: Path, memories: dict[str, dict[str, Any]], cases: list[dict[str, Any]]
) -> None:
    glosses = [json.loads(line) for line in (data / "gloss.jsonl").read_text("utf-8").splitlines()]
    named = Counter(gloss["id"] for gloss in glosses)
    assert max(named.values()) == 1
    assert all(gloss["en"] and not chinese(gloss["en"]) for gloss in glosses)
    known = set(memories) | {case["name"] for case in cases}
    assert set(named) <= known
    texts = {id_: memory["text"] for id_, memory in memories.items()}
    assert {id_ for id_, text in texts.items() if chinese(text)} <= set(named)
    assert {case["name"] for case in cases if case["lang"] == "zh"} == set(named) - set(memories)
    share = len(set(named) & set(memories)) / len(memories)
    assert share == pytest.approx(0.45, abs=0.05)


def test_cases_have_their_fields_kinds_and_clusters(cases: list[dict[str, Any]]) -> None:
    kinds = Counter(case["kind"] for case in cases)
    sessions = Counter(case["session"] for case in cases)
    assert len(cases) >= 96
    assert len({case["name"] for case in cases}) == len(cases)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 8
    assert kinds["update"] >= 14
    assert len(sessions) >= 48
    assert max(sessions.values()) <= 3
    for case in cases:
        assert moment(case["at"]).tzinfo is not None
        assert case["scope"]
        assert case["limit"] in (8, 10)
        assert "split" not in case
        assert bool(case["targets"]) == (case["kind"] != "nothing_to_find")
        assert case["kind"] != "preference" or case["expectContentAny"]
        assert case["kind"] != "multi_evidence" or len(case["targets"]) <= 4
        if case["kind"] == "update":
            assert case["hardNegatives"]
    share = sum(case["lang"] == "zh" for case in cases) / len(cases)
    assert share == pytest.approx(0.45, abs=0.05)


def test_what_a_case_names_existed_strictly_before_it_in_its_scope_and_was_told(
    cases: list[dict[str, Any]], memories: dict[str, dict[str, Any]]
) -> None:
    for case in cases:
        for id_ in case["targets"] + case.get("hardNegatives", []) + case.get("expectOrder", []):
            memory = memories[id_]
            assert memory["told"], (case["name"], id_)
            assert memory["scope"] == case["scope"], (case["name"], id_)
            assert memory["from"] is None or memory["from"] < moment(case["at"]), case["name"]


def test_targets_stand_in_every_layer_and_are_hours_to_months_old(
    cases: list[dict[str, Any]], memories: dict[str, dict[str, Any]]
) -> None:
    layers, days = Counter(), []
    for case in cases:
        for id_ in case["targets"]:
            layers[memories[id_]["layer"]] += 1
            if memories[id_]["from"] is not None:
                days.append((moment(case["at"]) - memories[id_]["from"]).total_seconds() / 86_400)
    assert min(layers[name] for name in ("log", "user", "whiteboard", "reflection")) >= 8
    assert layers["project"] >= 40
    assert min(days) < 0.5
    assert sum(age > 150 for age in days) >= 8


def test_the_search_log_shows_only_what_could_be_shown(
    data: Path, memories: dict[str, dict[str, Any]]
) -> None:
    lines = (data / "search_log/search_log.jsonl").read_text("utf-8").splitlines()
    searches = [json.loads(line) for line in lines]
    assert len(searches) >= 60
    assert len({search["query_id"] for search in searches}) == len(searches)
    # To some questions production shows nothing: trivial ones, and those no memory is near to.
    assert sum(not search["shown"] for search in searches) == 6
    for search in searches:
        assert len(search["shown"]) == len(search["scores"]) <= 8
        # Production's variety moves rows of a list and leaves their scores.
        assert all(0.0 < score <= 1.0 for score in search["scores"])
        for id_ in search["shown"]:
            memory = memories[id_]
            assert memory["told"]
            assert memory["scope"] == search["scope"]
            assert memory["from"] is None or memory["from"] < moment(search["asked_at"])


def test_the_words_of_untold_memories_stand_nowhere_else(
    data: Path, memories: dict[str, dict[str, Any]]
) -> None:
    untold = [memory["text"] for memory in memories.values() if not memory["told"]]
    told = "\n".join(memory["text"] for memory in memories.values() if memory["told"])
    told += "\n".join(
        path.read_text("utf-8")
        for folder in ("transcripts", "search_log")
        for path in sorted((data / folder).iterdir())
    )
    for text in untold:
        body = text.partition("] ")[2]
        assert body[:24] not in told


def test_transcripts_hold_the_lines_a_reader_must_survive(data: Path) -> None:
    seen: Counter[str] = Counter()
    for path in sorted((data / "transcripts").glob("*.jsonl")):
        lines = path.read_text("utf-8").splitlines()
        assert 30 <= len(lines) <= 120
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
            except ValueError:
                seen["cut short"] += 1
                assert number == len(lines)
                continue
            if not isinstance(entry, dict):
                seen["no object"] += 1
                continue
            seen[str(entry.get("type"))] += 1
            seen["meta"] += entry.get("isMeta") is True
            seen["sidechain"] += entry.get("isSidechain") is True
            seen["recap"] += entry.get("isCompactSummary") is True
            content = entry.get("message", {}).get("content", [])
            seen.update(part["type"] for part in content if isinstance(part, dict))
    wanted = (
        "user assistant summary system text thinking tool_use tool_result image "
        "meta sidechain recap"
    )
    assert all(seen[name] > 0 for name in wanted.split())
    assert (seen["cut short"], seen["no object"], seen["None"]) == (1, 1, 1)


def test_case_clusters_of_transcripts_ask_in_the_same_words_at_the_same_moment(
    data: Path, cases: list[dict[str, Any]]
) -> None:
    asked: dict[str, set[tuple[str, datetime]]] = defaultdict(set)
    for path in sorted((data / "transcripts").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            if '"type": "user"' in line and '"role": "user", "content": "' in line:
                entry = json.loads(line)
                text = entry["message"]["content"]
                asked[entry["sessionId"]].add((text, moment(entry["timestamp"])))
    shared = [case for case in cases if case["session"] in asked]
    assert len({case["session"] for case in shared}) == 4
    for case in shared:
        assert (case["query"], moment(case["at"])) in asked[case["session"]], case["name"]


def test_the_production_config_keeps_secrets_and_foreign_keys_as_they_are(data: Path) -> None:
    config = json.loads((data / "recallnest/config.json").read_text("utf-8"))
    assert config["embedding"]["apiKey"] == "${EMBED_API_KEY}"
    retrieval = config["retrieval"]
    code_defaults = {
        "mode": "vector",
        "vectorWeight": 0.7,
        "bm25Weight": 0.3,
        "recencyHalfLifeDays": 14,
        "timeDecayHalfLifeDays": 60,
        "hardMinScore": 0.35,
    }
    assert {key: retrieval[key] for key in code_defaults} == code_defaults
    assert {"x-heron", "uiTheme"} <= set(config)


def test_the_readme_tells_the_right_numbers(
    data: Path, records: list[dict[str, Any]], cases: list[dict[str, Any]], log: dict[str, Any]
) -> None:
    readme = (data / "README.md").read_text("utf-8")
    transcripts = sorted((data / "transcripts").glob("*.jsonl"))
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in transcripts)
    sessions = len({case["session"] for case in cases})
    told = [
        f"{len(records)} records",
        f"{sum(map(len, log.values()))} items in {len(log)} files",
        f"{lines} lines in {len(transcripts)} files",
        f"{len((data / 'search_log/search_log.jsonl').read_text('utf-8').splitlines())} searches",
        f"{len(cases)} cases in {sessions} sessions",
        f"{sum(case['lang'] == 'zh' for case in cases)} in Chinese",
        f"{len((data / 'gloss.jsonl').read_text('utf-8').splitlines())} glosses",
    ]
    assert [words for words in told if words not in readme] == []


@pytest.fixture(scope="module")
def demo(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The corpus and its cases in a lab, by the real importers."""
    from recalltune.evaluate.cases import load_cases
    from recalltune.ingest import ingest
    from recalltune.store import open as open_lab

    lab = open_lab(tmp_path_factory.mktemp("demo") / "demo.duckdb")
    ingest(lab, [data / name for name in SOURCES])
    load_cases(lab, data / "cases/demo.json", case_set="demo")
    return lab


@pytest.mark.slow
def test_the_importers_read_every_memory_with_its_text_time_and_telling(
    demo: Any, memories: dict[str, dict[str, Any]]
) -> None:
    with demo.reading() as con:
        rows = con.sql(
            "SELECT memory_id, memory.layer, memory_span.scope, text, event_at, gated, told_at "
            "FROM memory_span JOIN memory USING (memory_id) "
            "JOIN text ON text.text_hash = memory_span.text_hash ORDER BY memory_id"
        ).fetchall()
    assert [row[0] for row in rows] == sorted(memories)
    for memory_id, layer, scope, text, event_at, gated, told_at in rows:
        memory = memories[memory_id]
        assert (layer, scope, text) == (memory["layer"], memory["scope"], memory["text"])
        assert (not gated or told_at is not None) == memory["told"]
        if memory["from"] is not None and not gated:
            assert event_at == memory["from"]


@pytest.fixture(scope="module")
def verdicts(demo: Any) -> dict[str, dict[str, bool]]:
    """Strict verdict of every case under the textbook preset, and with one switch turned."""
    from recalltune.candidates.build import candidates
    from recalltune.evaluate.run import evaluate
    from recalltune.pipeline.address import set_many
    from recalltune.pipeline.config import preset

    base = set_many(preset("textbook"), {"select.top_k": 8})
    hidden = base.with_(admit=base.admit.with_(superseded="hide", retracted="hide"))
    shown = candidates(demo, "demo", base, encoder="multilingual")
    without = candidates(demo, "demo", hidden, encoder="multilingual")
    thirty = {"decay.family": "exponential", "decay.half_life_days": 30.0}
    runs = {
        "textbook": (shown, base),
        "decay 30 days": (shown, set_many(base, thirty)),
        "decay 60 days": (shown, set_many(base, thirty | {"decay.half_life_days": 60.0})),
        "superseded hidden": (without, hidden),
        "floors": (shown, set_many(base, {"select.floors": {"project": 2, "user": 1}})),
        "mmr": (shown, set_many(base, {"mmr.lambda_": 0.7})),
    }
    return {
        name: dict(
            evaluate(table, config, split="all").cases.select("query_id", "passed").iter_rows()
        )
        for name, (table, config) in runs.items()
    }


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize(
    "switch", ["decay 30 days", "decay 60 days", "superseded hidden", "floors", "mmr"]
)
def test_each_switch_mends_at_least_seven_cases_and_breaks_at_least_three(
    verdicts: dict[str, dict[str, bool]], switch: str
) -> None:
    before, after = verdicts["textbook"], verdicts[switch]
    mended = {name for name in before if after[name] and not before[name]}
    broken = {name for name in before if before[name] and not after[name]}
    assert len(mended) >= 7
    assert len(broken) >= 3


@pytest.fixture(scope="module")
def arm_ranks(demo: Any) -> dict[str, list[tuple[float, float]]]:
    """Case with targets -> lexical and dense rank of each target, inf where the arm lacks it."""
    from recalltune.candidates.build import candidates
    from recalltune.pipeline.config import preset

    table = candidates(demo, "demo", preset("textbook"), encoder="multilingual")
    place = {
        (query_id, table.memory_id(row, column)): tuple(
            float(np.nan_to_num(table.feature(f"{arm}_rank")[row, column], nan=np.inf))
            for arm in ("lexical", "dense")
        )
        for row, query_id in enumerate(table.queries["query_id"].to_list())
        for column in np.flatnonzero(table.valid[row]).tolist()
    }
    with demo.reading() as con:
        targets = con.sql(
            "SELECT case_id, memory_id FROM label WHERE role = 'target' ORDER BY case_id, memory_id"
        ).fetchall()
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for case, memory in targets:
        found[case].append(place.get((case, memory), (np.inf, np.inf)))
    return found


@pytest.mark.slow
@pytest.mark.model
def test_bm25_alone_is_neither_hopeless_nor_enough(
    arm_ranks: dict[str, list[tuple[float, float]]],
) -> None:
    recall = [np.mean([lexical <= 5 for lexical, _ in case]) for case in arm_ranks.values()]
    assert 0.40 <= np.mean(recall) <= 0.75


@pytest.mark.slow
@pytest.mark.model
def test_each_arm_finds_targets_that_the_other_misses(
    arm_ranks: dict[str, list[tuple[float, float]]],
) -> None:
    cases = list(arm_ranks.values())
    dense_only = [any(d <= 10 < lexical for lexical, d in case) for case in cases]
    lexical_only = [any(lexical <= 10 < d for lexical, d in case) for case in cases]
    assert np.mean(dense_only) >= 0.12
    assert np.mean(lexical_only) >= 0.12
