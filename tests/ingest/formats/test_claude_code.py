"""Claude Code session logs: which lines are turns, and what becomes of all the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import ingest


def say(uuid: str, text: Any = None, *, role: str = "user", **extra: Any) -> dict[str, Any]:
    content = f"text of {uuid}" if text is None else text
    return {
        "type": role,
        "uuid": uuid,
        "sessionId": "session-one",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": role, "content": content},
        **extra,
    }


def part(kind: str, **extra: Any) -> dict[str, Any]:
    return {"type": kind, **extra}


def turns(lab: store.Lab, *, sidechains: bool = False) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_turns(con, sidechains=sidechains)


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.select("reason", "count").iter_rows())


def test_turns_carry_session_role_time_scope_and_line(lab, write):
    path = write(
        "s.jsonl", [{"type": "summary", "leafUuid": "x"}, say("u1"), say("a1", role="assistant")]
    )
    ingest(lab, path)
    rows = turns(lab).select("turn_id", "session_id", "role", "line", "scope", "text").rows()
    assert rows == [
        ("u1", "session-one", "user", 2, "cc:session-", "text of u1"),
        ("a1", "session-one", "assistant", 3, "cc:session-", "text of a1"),
    ]
    assert turns(lab)["said_at"].to_list() == [1767225600 * 10**6] * 2


def test_bug_77_a_resumed_session_is_counted_once_with_both_files_as_origin(lab, write):
    write("a.jsonl", [say(f"u{n}") for n in range(1, 4)])
    write("b.jsonl", [say(f"u{n}") for n in range(1, 6)])
    report = ingest(lab, write("x", "").parent)
    assert turns(lab)["turn_id"].to_list() == ["u1", "u2", "u3", "u4", "u5"]
    assert reasons(report) == {"message another file holds (resumed session)": 3}
    assert report.frame["already"].to_list() == [0, 3]
    with lab.reading() as con:
        held = store.read_table(con, "turn").select("turn_id", "file", "also_in").rows()
    assert held[0] == ("u1", "src/a.jsonl", ["src/b.jsonl"])
    assert held[4] == ("u5", "src/b.jsonl", [])


def test_bug_77_a_resumed_file_keeps_the_turns_its_first_file_gives_up(lab, write):
    first = write("a.jsonl", [say("u1"), say("u2")])
    write("b.jsonl", [say("u1"), say("u2"), say("u3")])
    ingest(lab, first.parent)
    write("a.jsonl", [say("u9")])
    ingest(lab, first.parent)
    assert sorted(turns(lab)["turn_id"]) == ["u1", "u2", "u3", "u9"]
    with lab.reading() as con:
        held = store.read_table(con, "turn", turn_id="u1").select("file", "also_in").rows()
    assert held == [("src/b.jsonl", [])]


def test_bug_77_a_file_that_only_repeats_another_is_no_error(lab, write):
    write("a.jsonl", [say("u1")])
    ingest(lab, write("a.jsonl", [say("u1")]))
    report = ingest(lab, write("b.jsonl", [say("u1")]))
    assert report.frame.select("kept", "already").rows() == [(0, 1)]


def test_bug_78_same_uuid_with_another_record_is_kept_and_an_exact_copy_is_not(lab, write):
    other = say("u1", toolUseResult="more")
    path = write("s.jsonl", [say("u1"), other, other, say("u2")])
    report = ingest(lab, path)
    assert turns(lab)["turn_id"].to_list() == ["u1", "u1~2", "u2"]
    assert reasons(report) == {"exact copy of an earlier line": 1}
    assert "same uuid, different record: kept under an occurrence number: 1" in report.notices


def test_bug_79_a_machine_recap_is_not_the_users_words(lab, write):
    report = ingest(lab, write("s.jsonl", [say("u1"), say("u2", isCompactSummary=True)]))
    assert turns(lab)["turn_id"].to_list() == ["u1"]
    assert reasons(report) == {"machine recap (compact summary)": 1}


def test_bug_80_a_side_conversation_comes_only_on_request_and_without_its_repeat(lab, write):
    main = [say(f"m{n}") for n in range(4)]
    side = [say("s1", "text of m0", isSidechain=True), say("s2", isSidechain=True)]
    report = ingest(lab, write("s.jsonl", main + side))
    assert turns(lab)["turn_id"].to_list() == ["m0", "m1", "m2", "m3"]
    every = turns(lab, sidechains=True)
    assert every["turn_id"].to_list() == ["m0", "m1", "m2", "m3", "s2"]
    assert every["session_kind"].to_list() == ["interactive"] * 4 + ["subagent"]
    assert reasons(report) == {"side conversation repeats a main message": 1}
    assert "side conversation turn, kept apart (sidechain): 1" in report.notices


def test_bug_81_a_broken_parent_chain_keeps_file_order_and_counts_orphans(lab, write):
    chain = [
        say("u1", parentUuid=None),
        say("u2", parentUuid="u1"),
        say("u3", parentUuid="gone"),
        say("u4", parentUuid="u3"),
    ]
    report = ingest(lab, write("s.jsonl", chain))
    assert turns(lab)["turn_id"].to_list() == ["u1", "u2", "u3", "u4"]
    assert "record whose parent is not in the file (kept in file order): 1" in report.notices


def test_bug_82_one_damaged_and_one_torn_line_cost_only_themselves(lab, write):
    good = [json.dumps(say(f"u{n}")).encode() for n in range(3)]
    damaged = good[0].replace(b"text of", b"text\x00of")
    content = b"\n".join([good[0], good[1], damaged, good[2], good[0][:60]])
    report = ingest(lab, write("s.jsonl", content))
    assert turns(lab).height == 3
    dropped = report.dropped.select("reason", "count", "lines").rows()
    assert dropped == [("damaged line", 1, [3]), ("incomplete line at the end", 1, [5])]


def test_bug_84_bad_bytes_and_half_surrogates_are_repaired_and_the_text_kept(lab, write):
    first = json.dumps(say("u1", "broken BYTE here")).encode().replace(b"BYTE", b"\xff")
    second = json.dumps(say("u2", "half \ud83d pair")).encode()
    report = ingest(lab, write("s.jsonl", first + b"\n" + second + b"\n"))
    assert turns(lab)["text"].to_list() == ["broken \ufffd here", "half \ufffd pair"]
    assert "line with bytes that are not UTF-8, replaced by U+FFFD: 1" in report.notices
    assert "lone surrogate, replaced by U+FFFD: 1" in report.notices


def test_bug_85_a_line_of_many_megabytes_is_passed_over_with_its_size(lab, write):
    huge = json.dumps(say("u2", "x" * (9 * 2**20)))
    content = "\n".join([json.dumps(say("u1")), huge, json.dumps(say("u3")), ""])
    report = ingest(lab, write("s.jsonl", content))
    assert turns(lab)["turn_id"].to_list() == ["u1", "u3"]
    assert "line longer than 8 MiB, passed over (10 MiB): 1" in report.notices


def test_bug_115_bom_crlf_and_blank_lines_are_no_records(lab, write):
    content = "\ufeff" + "\r\n".join([json.dumps(say("u1")), "", json.dumps(say("u2")), ""])
    report = ingest(lab, write("s.jsonl", content))
    assert report.frame.select("read", "kept", "dropped").rows() == [(2, 2, 0)]


def test_bug_115_an_empty_file_is_listed_and_is_no_error(lab, write):
    report = ingest(lab, write("s.jsonl", b""))
    assert report.frame.select("file", "format", "read").rows() == [("src/s.jsonl", "empty", 0)]


def test_bug_116_tool_results_are_not_user_turns(lab, write):
    only = say("u1", [part("tool_result", content="output")])
    mixed = say("u2", [part("text", text="my words"), part("tool_result", content="output")])
    report = ingest(lab, write("s.jsonl", [only, mixed]))
    assert turns(lab).select("turn_id", "text").rows() == [("u2", "my words")]
    assert reasons(report) == {"no text, only tool_result": 1}
    assert "part not imported: tool_result: 2" in report.notices


def test_meta_records_are_dropped_by_reason(lab, write):
    report = ingest(lab, write("s.jsonl", [say("u1"), say("u2", isMeta=True)]))
    assert reasons(report) == {"meta record, not the user's words": 1}


def test_text_parts_are_joined_and_parts_counted(lab, write):
    content = [part("text", text=" one "), part("thinking", thinking="…"), part("text", text="two")]
    ingest(lab, write("s.jsonl", [say("a1", content, role="assistant")]))
    row = turns(lab).row(0, named=True)
    assert row["text"] == "one\n\ntwo"
    assert json.loads(row["meta"]) == {"parts": {"text": 2, "thinking": 1}}


def test_bug_86_lines_without_a_single_message_are_an_error_and_change_nothing(lab, write):
    ingest(lab, write("good.jsonl", [say("u1")]))
    with lab.reading() as con:
        before = store.data_digest(con)
    path = write("bad.jsonl", [say("u2", isMeta=True), say("u3", [part("tool_use")])])
    with pytest.raises(SourceError, match=r"^src/bad\.jsonl:1: 2 records and none to keep \(meta"):
        ingest(lab, path)
    with lab.reading() as con:
        assert store.data_digest(con) == before


def test_bug_86_the_same_file_found_in_a_folder_is_counted_instead(lab, write):
    write("good.jsonl", [say("u1")])
    path = write("bad.jsonl", [say("u2", isMeta=True)])
    report = ingest(lab, path.parent)
    assert "1 file of a folder with records but none to keep: src/bad.jsonl" in report.notices
    assert report.frame["kept"].to_list() == [0, 1]


def test_a_turn_without_a_time_is_kept_and_counted(lab, write):
    record = say("u1")
    record["timesstamp"] = record.pop("timestamp")
    report = ingest(lab, write("s.jsonl", [record]))
    assert turns(lab)["said_at"].to_list() == [None]
    assert "turn without a usable time: 1" in report.notices


def test_turns_become_memories_only_when_asked_and_side_turns_never(lab, write):
    path = write("s.jsonl", [say("u1"), say("a1", role="assistant"), say("s1", isSidechain=True)])
    assert ingest(lab, path).frame["memories"].to_list() == [0]
    assert ingest(lab, path, turns_as_memories=True).frame["memories"].to_list() == [2]
    with lab.reading() as con:
        spans = store.read_spans(con)
    rows = spans.select("memory_id", "layer", "origin", "session", "turn_id", "scope").rows()
    assert rows == [
        ("a1", "log", "agent", "session-one", "a1", "cc:session-"),
        ("u1", "log", "owner", "session-one", "u1", "cc:session-"),
    ]
    assert spans["event_at"].to_list() == [1767225600 * 10**6] * 2


def test_a_scope_given_by_the_caller_replaces_the_sessions(lab, write):
    ingest(lab, write("s.jsonl", [say("u1")]), scope="project:x")
    assert turns(lab)["scope"].to_list() == ["project:x"]


def test_bug_92_a_key_first_seen_late_is_not_lost(lab, write):
    """N92. Kind: late column lost on reading lines."""
    records = [say(f"u{n:03}", timestamp=None) for n in range(150)]
    records += [say(f"u{n:03}") for n in range(150, 300)]
    ingest(lab, write("s.jsonl", records))
    assert turns(lab)["said_at"].null_count() == 150


@pytest.mark.parametrize("message", ["error", None, {"contenst": []}, {"content": None}, 7, []])
def test_a_message_of_another_shape_is_dropped_and_the_file_goes_on(lab, write, message):
    report = ingest(
        lab, write("s.jsonl", [say("u1"), {"type": "user", "uuid": "u2", "message": message}])
    )
    assert reasons(report) == {"message without content": 1}


def test_hostile_values_in_every_field_never_crash_the_import(lab, write: Callable[..., Path]):
    odd = ["", 7, None, [], {}, True, "\x00", "x" * 10_000, 1e308]
    records = [say("ok")]
    for key in ("uuid", "sessionId", "timestamp", "parentUuid", "agentId", "isSidechain", "type"):
        records += [say(f"{key}{n}") | {key: value} for n, value in enumerate(odd)]
    report = ingest(lab, write("s.jsonl", records))
    [(read, kept, dropped)] = report.frame.select("read", "kept", "dropped").rows()
    assert read == len(records) == kept + dropped
