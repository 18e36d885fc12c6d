"""What becomes of a turn that is to be a memory: noise, chunks, paths, injected blocks."""

from __future__ import annotations

from typing import Any

import pytest

from recalltune import store
from recalltune.ingest import ingest

LONG = "The relay in house four clicks at night. " * 120


def say(uuid: str, text: str, role: str = "user") -> dict[str, Any]:
    return {
        "type": role,
        "uuid": uuid,
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": role, "content": text},
    }


def memories(lab: store.Lab) -> list[dict[str, Any]]:
    with lab.reading() as con:
        return store.read_memories(con).to_dicts()


def test_noise_stays_a_turn_and_makes_no_memory(lab, write):
    lines = [say("a", "ok"), say("b", "The relay clicks at night, why?"), say("c", "/compact")]
    report = ingest(lab, write("s.jsonl", lines), turns_as_memories=True)
    assert report.frame.select("kept", "turns", "memories").rows() == [(3, 3, 1)]
    assert [row["memory_id"] for row in memories(lab)] == ["b"]
    assert "turn not made a memory: greeting or acknowledgement: 1" in report.notices
    assert "turn not made a memory: command or its output: 1" in report.notices


def test_a_long_turn_is_cut_into_memories_that_name_it_and_hold_every_word(lab, write):
    report = ingest(lab, write("s.jsonl", [say("a", LONG)]), turns_as_memories=True)
    made = memories(lab)
    assert report.frame.select("turns", "memories").rows() == [(1, len(made))]
    assert [row["memory_id"] for row in made] == [f"a#{n + 1}" for n in range(len(made))]
    assert {row["turn_id"] for row in made} == {"a"}
    assert all(len(row["text"]) <= 2_000 for row in made)
    assert sum(len(row["text"]) for row in made) >= len(LONG.strip())
    assert "turn cut into several memories: 1" in report.notices


def test_a_changed_turn_takes_its_memories_with_it(lab, write):
    ingest(lab, write("s.jsonl", [say("a", LONG)]), turns_as_memories=True)
    ingest(lab, write("s.jsonl", [say("a", "The relay is silent now.")]), turns_as_memories=True)
    assert [row["memory_id"] for row in memories(lab)] == ["a"]


@pytest.mark.parametrize(
    ("folder", "kind", "origin"),
    [
        ("cron", "cron", "system"),
        ("heartbeats", "heartbeat", "system"),
        ("talks", "interactive", "owner"),
    ],
)
def test_the_path_tells_the_kind_of_session_and_its_origin(lab, write, folder, kind, origin):
    path = write(f"{folder}/s.jsonl", [say("a", "Water the tomatoes in house four.")])
    ingest(lab, path.parent.parent, turns_as_memories=True)
    with lab.reading() as con:
        assert store.read_turns(con)["session_kind"].to_list() == [kind]
    assert [row["origin"] for row in memories(lab)] == [origin]


INJECTED = (
    "<relevant-memories>\n- [mem-1] [fact:global] likes tea (71%)\n- [mem-2] [fact:global] hates "
    "coffee (64%)\n</relevant-memories>"
)


def test_memories_an_agent_put_into_its_prompt_are_taken_out_and_kept_as_a_search(lab, write):
    lines = [
        say("a", f"{INJECTED}\n\nWhat should I order for the guests?"),
        say("b", "<system-reminder>\nThe todo list is empty.\n</system-reminder>"),
        say("c", f"As I told you: {INJECTED}", role="assistant"),
    ]
    report = ingest(lab, write("s.jsonl", lines), turns_as_memories=True)
    assert report.frame.select("read", "kept", "dropped").rows() == [(3, 2, 1)]
    assert report.dropped.select("reason", "count").rows() == [("injected", 1)]
    assert ("src/s.jsonl", "injected", 1) in report.parts.rows()
    texts = {row["memory_id"]: row["text"] for row in memories(lab)}
    assert texts["a"] == "What should I order for the guests?"
    assert "likes tea" in texts["c"], "what the agent itself says is its own"
    with lab.reading() as con:
        [search] = store.read_search_log(con).to_dicts()
    assert search["query"] == "What should I order for the guests?"
    assert search["shown"] == ["mem-1", "mem-2"]
    assert "search of the memory, kept in the search log: 1" in report.notices


def test_a_secret_that_a_cut_would_go_through_is_gone_before_the_cut(lab, write):
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for before in range(1_940, 2_000, 7):
        text = f"{'word ' * (before // 5)}{token} {'more ' * 200}"
        ingest(lab, write(f"{before}.jsonl", [say(f"u{before}", text)]), turns_as_memories=True)
    assert not any(token[:12] in row["text"] or token[-12:] in row["text"] for row in memories(lab))
