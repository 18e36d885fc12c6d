"""The import as a whole: its account, its idempotence, its atomicity."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import ParameterError, SourceError
from recalltune.ingest import importing, ingest, parsed, reader
from recalltune.ingest.format import Source
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.parsed import Parsed

pytestmark = pytest.mark.slow

SESSION = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": "hi"}}


def payload(*ids: str) -> dict:
    return {
        "version": "connector-v1",
        "source": "notes",
        "scope": "mine",
        "producedAt": "2026-02-01T00:00:00Z",
        "records": [
            {"id": memory, "text": f"text of {memory}", "timestamp": "2026-01-01T00:00:00Z"}
            for memory in ids
        ],
    }


def digest(lab: store.Lab) -> str:
    with lab.reading() as con:
        return store.data_digest(con)


def ids(lab: store.Lab) -> list[str]:
    with lab.reading() as con:
        return store.read_memories(con)["memory_id"].to_list()


@pytest.fixture
def mixed(write) -> Path:
    write("session.jsonl", [SESSION])
    write("memory/2026-01-05.md", "- one\n- two {#own}")
    write("MEMORY.md", "- always")
    write("log.jsonl", [{"query_id": "q", "query": "x", "shown": [], "scores": []}])
    return write("batch.json", payload("a", "b")).parent


def test_one_call_takes_every_format_of_a_folder(lab, mixed):
    report = ingest(lab, mixed)
    assert report.frame.select("file", "format", "read", "turns", "memories").rows() == [
        ("src/MEMORY.md", "markdown_folder", 1, 0, 1),
        ("src/batch.json", "connector_v1", 2, 0, 2),
        ("src/log.jsonl", "search_log", 1, 0, 0),
        ("src/session.jsonl", "claude_code", 1, 1, 0),
        ("src/memory/2026-01-05.md", "markdown_folder", 2, 0, 2),
    ]
    assert ids(lab) == ["a", "b", "md:MEMORY#1", "md:memory/2026-01-05#1", "own"]


def test_importing_again_changes_nothing_and_says_already(lab, mixed):
    first = ingest(lab, mixed)
    before = digest(lab)
    again = ingest(lab, mixed)
    assert digest(lab) == before
    assert again.frame["already"].to_list() == first.frame["read"].to_list()
    assert again.frame.select("read", "kept", "dropped").sum().row(0) == (0, 0, 0)


def test_a_changed_file_replaces_exactly_its_own_rows(lab, write):
    ingest(lab, write("one.json", payload("a", "b")))
    ingest(lab, write("two.json", payload("c")))
    ingest(lab, write("one.json", payload("b", "d")))
    assert ids(lab) == ["b", "c", "d"]


def test_a_lab_rebuilt_from_changed_sources_equals_one_updated_in_place(
    lab, mixed, write, tmp_path
):
    ingest(lab, mixed)
    write("batch.json", payload("b", "z"))
    write("MEMORY.md", "- never\n- sometimes")
    ingest(lab, mixed)
    rebuilt = store.open(tmp_path / "rebuilt.duckdb")
    ingest(rebuilt, mixed)
    assert digest(lab) == digest(rebuilt)


def test_other_settings_read_an_unchanged_file_again(lab, write):
    path = write("one.json", payload("a"))
    ingest(lab, path)
    assert ingest(lab, path, scope="other").frame["read"].to_list() == [1]
    assert ingest(lab, path, scope="other").frame["already"].to_list() == [1]


def test_the_order_of_files_does_not_change_the_data(lab, mixed, tmp_path):
    files = sorted(path for path in mixed.rglob("*") if path.is_file())
    ingest(lab, files)
    other = store.open(tmp_path / "other.duckdb")
    ingest(other, files[::-1])
    assert digest(lab) == digest(other)


@pytest.mark.parametrize(
    ("module", "bound"),
    [(importing, "_GROUP_ROWS"), (importing, "_GROUP_BYTES"), (parsed, "_FULL_ROWS")],
    ids=["files", "transactions", "rows"],
)
def test_a_lab_written_piece_by_piece_is_the_same_lab(
    lab, mixed, tmp_path, monkeypatch, module, bound
):
    whole = ingest(lab, mixed)
    monkeypatch.setattr(module, bound, 1)
    other = store.open(tmp_path / "other.duckdb")
    pieces = ingest(other, mixed)
    assert digest(lab) == digest(other)
    assert whole.frame.equals(pieces.frame)
    assert whole.dropped.equals(pieces.dropped)
    assert whole.notices == pieces.notices


def test_a_bad_file_among_good_ones_imports_none_of_them(lab, write):
    ingest(lab, write("held.json", payload("held")))
    before = digest(lab)
    good, bad = write("a.json", payload("a")), write("b.json", payload("b") | {"version": "x"})
    with pytest.raises(SourceError):
        ingest(lab, [good, bad], format="connector_v1")
    assert digest(lab) == before


@pytest.mark.parametrize(
    "step", ["merge", "put_hashed_texts", "insert_rows", "settle_spans", "forget_file"]
)
def test_a_crash_at_any_step_leaves_the_lab_as_it_was(lab, mixed, write, monkeypatch, step):
    ingest(lab, mixed)
    before = digest(lab)
    write("batch.json", payload("x", "y"))
    write("memory/2026-01-05.md", "- changed")
    genuine, calls = getattr(importing, step), []

    def breaking(*arguments):
        calls.append(step)
        # These two run once a file: let the first file through, so that something is written.
        if len(calls) > (step in ("merge", "forget_file")):
            raise KeyboardInterrupt
        return genuine(*arguments)

    monkeypatch.setattr(importing, step, breaking)
    with pytest.raises(KeyboardInterrupt):
        ingest(lab, mixed)
    assert digest(lab) == before
    monkeypatch.undo()
    assert ingest(lab, mixed).frame["kept"].sum() == 3


def test_the_account_of_the_last_import_stays_in_the_lab(lab, write):
    ingest(lab, write("one.json", payload("a", "a")))
    with lab.reading() as con:
        row = store.read_table(con, "ingest_file").row(0, named=True)
    assert (row["path"], row["format"]) == ("src/one.json", "connector_v1")
    assert (row["records"], row["kept"], row["dropped"]) == (2, 1, 1)
    assert json.loads(row["reasons"]) == {"exact copy of an earlier record": 1}


LINES = st.lists(
    st.one_of(
        st.just(json.dumps(SESSION)),
        st.builds(lambda n: json.dumps(SESSION | {"uuid": f"u{n}"}), st.integers(0, 5)),
        st.sampled_from(
            ["", "  ", "{", "[]", "7", '"x"', '{"type": "user"}', '{"type": "progress"}']
        ),
        st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=20),
    ),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
def test_every_line_that_is_not_blank_is_kept_or_dropped(write, lines):
    path = write("s.jsonl", "\n".join(lines))
    parsed = Parsed("claude_code", "src/s.jsonl")
    FORMATS["claude_code"].read(Source(path, "s.jsonl", "src/s.jsonl"), parsed)
    assert parsed.kept + parsed.dropped == sum(bool(line.encode().strip()) for line in lines)
    assert parsed.records == parsed.kept + parsed.dropped
    assert len(parsed.turns) == parsed.kept


def test_the_account_of_a_file_agrees_with_what_is_in_the_lab(lab, write):
    lines = [
        json.dumps(SESSION),
        "",
        "{",
        "[]",
        json.dumps(SESSION | {"uuid": "v"}),
        '{"type": "x"}',
    ]
    report = ingest(lab, write("s.jsonl", "\n".join(lines)), format="claude_code")
    assert report.frame.select("read", "kept", "dropped").rows() == [(5, 2, 3)]
    assert report.dropped["count"].sum() == 3
    with lab.reading() as con:
        assert store.read_turns(con, sidechains=True).height == 2


def test_a_file_that_is_gone_from_its_folder_is_named_and_its_records_stay(lab, src, write):
    for name in ("a", "b", "c"):
        write(f"{name}.json", payload(name))
    assert ingest(lab, src).notices == ()
    (src / "b.json").unlink()
    said = f"1 file imported earlier from this folder is gone; its records stay: {src.name}/b.json"
    before = digest(lab)
    assert said in ingest(lab, src).notices
    assert digest(lab) == before
    # A file that is named speaks for itself; one of another format is still there.
    assert ingest(lab, src / "a.json").notices == ()
    assert said in ingest(lab, src, format="claude_code").notices
    (src / "c.json").unlink()
    assert any(
        note.startswith("2 files imported earlier from this folder are gone; their records stay: ")
        for note in ingest(lab, src).notices
    )
    write("b.json", "")
    assert not any(f"{src.name}/b.json" in note for note in ingest(lab, src).notices)
    assert digest(lab) != before


def test_a_file_that_is_too_large_keeps_the_others_of_its_folder_in(lab, write, monkeypatch):
    monkeypatch.setattr(reader, "MAX_FILE_BYTES", 500)
    large = write("large.jsonl", [SESSION | {"uuid": f"u{n}"} for n in range(20)])
    small = write("small.jsonl", [SESSION])
    report = ingest(lab, small.parent)
    assert report.frame.select("file", "format", "kept").rows() == [
        ("src/large.jsonl", "unreadable", 0),
        ("src/small.jsonl", "claude_code", 1),
    ]
    assert any("src/large.jsonl: " in told for told in report.notices)
    with pytest.raises(SourceError, match="file must be at most 500 bytes"):
        ingest(lab, large)


def test_a_line_nested_too_deeply_is_told_apart_from_a_damaged_one(lab, write):
    deep = json.dumps(SESSION)[:-1] + ', "x": ' + "[" * 80 + "]" * 80 + "}"
    report = ingest(
        lab, write("s.jsonl", f"{json.dumps(SESSION)}\n{deep}\n{{\n"), format="claude_code"
    )
    assert dict(report.dropped.select("reason", "count").iter_rows()) == {
        "nested deeper than 64 levels": 1,
        "damaged line": 1,
    }


def test_a_damaged_file_of_a_folder_is_named_and_the_others_are_in(lab, write):
    packed = gzip.compress(
        "".join(json.dumps(SESSION | {"uuid": f"u{n}"}) + "\n" for n in range(9)).encode()
    )
    torn = write("torn.jsonl.gz", packed[: len(packed) // 2])
    ingest(lab, write("torn.json", '{"version": "connector-v1", "records": [').parent)
    report = ingest(lab, write("whole.jsonl", [SESSION]).parent)
    assert report.frame.filter(format="claude_code")["file"].to_list() == ["src/whole.jsonl"]
    assert set(report.frame["format"]) == {"claude_code", "unknown", "unreadable"}
    with pytest.raises(SourceError, match="damaged gzip file"):
        ingest(lab, torn)


def test_a_file_that_is_damaged_later_keeps_what_it_said_until_it_can_be_read_again(lab, write):
    lines = "".join(json.dumps(SESSION | {"uuid": f"u{n}"}) + "\n" for n in range(9)).encode()
    path = write("s.jsonl.gz", gzip.compress(lines))
    ingest(lab, path.parent)
    before = digest(lab)
    write("s.jsonl.gz", gzip.compress(lines)[:30])
    report = ingest(lab, path.parent)
    assert report.frame["format"].to_list() == ["unreadable"]
    assert any("what was read stays: src/s.jsonl.gz" in told for told in report.notices)
    assert digest(lab) == before
    write("s.jsonl.gz", gzip.compress(lines[: len(lines) // 3]))
    ingest(lab, path.parent)
    assert digest(lab) != before
    write("s.jsonl.gz", b"")
    ingest(lab, path.parent)
    with lab.reading() as con:
        assert store.read_turns(con).height == 0


def test_another_folder_of_the_same_name_does_not_replace_the_first(lab, write, src):
    ingest(lab, write("a/notes/s.jsonl", [SESSION]).parent)
    other = write("b/notes/s.jsonl", [SESSION | {"uuid": "other"}])
    before = digest(lab)
    with pytest.raises(ParameterError, match=r"notes/s\.jsonl was imported from another folder"):
        ingest(lab, other.parent)
    assert digest(lab) == before
    # A folder that was moved as it is, is the same folder.
    (src / "a").rename(src / "c")
    assert ingest(lab, src / "c" / "notes").frame["already"].to_list() == [1]


def test_blank_lines_before_the_first_record_do_not_make_a_file_empty(lab, write):
    path = write("s.jsonl", "\n" * 70_000 + json.dumps(SESSION) + "\n")
    assert ingest(lab, path).frame["kept"].to_list() == [1]
