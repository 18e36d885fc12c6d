"""Which files are read, under which name, and as which format."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from recalltune.errors import ParameterError, SourceError
from recalltune.ingest import FORMATS, Source, detect, ingest
from recalltune.ingest.folder import find_sources

EVERY = tuple(FORMATS.values())
SESSION = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "hi"}}
SEARCH = {"query_id": "q", "query": "x", "shown": [], "scores": []}
PAYLOAD = {
    "version": "connector-v1",
    "source": "s",
    "scope": "s",
    "producedAt": "2026-01-01",
    "records": [],
}
LOCOMO = [{"sample_id": "conv-1", "conversation": {}, "qa": []}]


@pytest.mark.parametrize(
    ("name", "content", "format", "confidence"),
    [
        ("a.jsonl", [SESSION], "claude_code", 1.0),
        ("a.jsonl", [SESSION, {"odd": 1}, 7, "text"], "claude_code", None),
        ("a.jsonl", [{"type": "summary", "leafUuid": "x"}, SESSION, [1]], "claude_code", 2 / 3),
        ("a.jsonl", [SEARCH], "search_log", 1.0),
        ("a.json", PAYLOAD, "connector_v1", 1.0),
        ("a.txt", json.dumps(PAYLOAD, indent=2), "connector_v1", 1.0),
        ("a.json", PAYLOAD | {"version": "connector-v9"}, "connector_v1", 1.0),
        ("a.json", json.dumps(LOCOMO), "locomo", 1.0),
        ("a.md", "- x", "markdown_folder", 1.0),
        ("a.jsonl", "", None, None),
    ],
)
def test_a_format_is_known_by_content_with_a_stated_confidence(
    write, name, content, format, confidence
):
    path = write(name, content)
    source = Source(path, name, f"src/{name}")
    if confidence is None and format is not None:
        with pytest.raises(SourceError, match="format not recognised"):
            detect(source)
        return
    found = detect(source)
    assert (found and found.format, found and found.confidence) == (format, confidence)


def test_a_document_on_one_very_long_line_is_still_known_by_its_content(write):
    padded = PAYLOAD | {"padding": "x" * (9 * 2**20)}
    found = detect(Source(write("a.json", padded), "a.json", "src/a.json"))
    assert found is not None
    assert found.format == "connector_v1"


@pytest.mark.parametrize("content", ["{}", "[1, 2]", "plain words", '{"mapping": {}}', "\x00\x01"])
def test_an_unknown_format_names_the_known_ones_and_what_was_seen(lab, write, content):
    with pytest.raises(SourceError, match=r"^src/x\.json:1: format not recognised.*claude_code.*"):
        ingest(lab, write("x.json", content))


def test_an_unknown_file_inside_a_folder_is_counted_and_the_rest_imported(lab, write):
    write("other.json", "{}")
    report = ingest(lab, write("s.jsonl", [SESSION]).parent)
    assert report.frame.select("file", "format", "kept").rows() == [
        ("src/other.json", "unknown", 0),
        ("src/s.jsonl", "claude_code", 1),
    ]
    assert "file of an unknown format in a folder, passed over: 1" in report.notices


def test_a_misspelt_format_names_the_nearest(lab, write):
    with pytest.raises(ParameterError, match="nearest: 'claude_code'"):
        ingest(lab, write("s.jsonl", [SESSION]), format="claude-cod")


@pytest.mark.parametrize(
    ("format", "taken"),
    [
        ("claude_code", ["a.jsonl"]),
        ("connector_v1", ["b.json"]),
        ("markdown_folder", ["2026-05-14.md"]),
    ],
)
def test_a_named_format_takes_only_its_own_files_from_a_folder(write, src, format, taken):
    for name in ("a.jsonl", "b.json", "2026-05-14.md", "d.txt", "e.png"):
        write(name, "")
    found = find_sources([src], [FORMATS[format]], Counter())
    assert [source.inside for source in found] == taken


def test_links_and_what_they_lead_to_are_passed_over_and_counted(lab, write, src, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.jsonl").write_text(json.dumps(SESSION | {"uuid": "secret"}))
    write("s.jsonl", [SESSION])
    (src / "file.jsonl").symlink_to(outside / "secret.jsonl")
    (src / "folder").symlink_to(outside)
    (src / "self").symlink_to(src)
    report = ingest(lab, src)
    assert report.frame["file"].to_list() == ["src/s.jsonl"]
    assert "symbolic link passed over: 3" in report.notices


def test_a_link_named_by_the_user_is_refused_with_its_target(lab, write, src):
    write("s.jsonl", [SESSION])
    (src / "link.jsonl").symlink_to(src / "s.jsonl")
    with pytest.raises(ParameterError, match=r"symbolic link, got .*link\.jsonl; give .*s\.jsonl"):
        ingest(lab, src / "link.jsonl")


def test_a_pipe_is_never_opened(lab, write, src):
    write("s.jsonl", [SESSION])
    os.mkfifo(src / "pipe.jsonl")
    report = ingest(lab, src)
    assert "special file passed over: 1" in report.notices
    with pytest.raises(ParameterError, match="neither file nor folder"):
        ingest(lab, src / "pipe.jsonl")


def test_a_missing_path_is_named(lab, src):
    with pytest.raises(ParameterError, match=r"nowhere \(not there\)"):
        ingest(lab, src / "nowhere")


def test_names_start_at_the_given_folder_and_say_nothing_of_the_machine(write, src):
    write("deep/er/s.jsonl", [SESSION])
    [source] = find_sources([src / "deep" / ".." / "deep"], EVERY, Counter())
    assert (source.file, source.inside) == ("deep/er/s.jsonl", "er/s.jsonl")


def test_a_file_given_twice_is_read_once(lab, write, src):
    path = write("s.jsonl", [SESSION])
    assert ingest(lab, [path, src, str(path)]).frame.height == 1


def test_two_files_that_would_share_a_name_are_refused_together(lab, write, src):
    for parent in ("a", "b"):
        write(f"{parent}/memory/s.jsonl", [SESSION])
    with pytest.raises(ParameterError, match=r"both be known as memory/s\.jsonl"):
        ingest(lab, [src / "a" / "memory", src / "b" / "memory"])


def test_a_file_name_that_is_not_unicode_is_read(lab, src):
    name = os.fsdecode(b"odd\xff.jsonl")
    (src / name).write_text(json.dumps(SESSION))
    assert ingest(lab, src).frame["file"].to_list() == ["src/odd?.jsonl"]


def test_files_are_read_in_the_order_of_their_names(write, src):
    for name in ("b.jsonl", "a/z.jsonl", "a.jsonl", "c/a.jsonl"):
        write(name, [SESSION])
    found = [source.inside for source in find_sources([src], EVERY, Counter())]
    assert found == ["a.jsonl", "b.jsonl", "a/z.jsonl", "c/a.jsonl"]


def test_a_folder_of_another_users_data_is_not_needed(tmp_path: Path):
    assert find_sources([tmp_path], EVERY, Counter()) == []
