"""Obsidian vaults: one note one memory, tags, links, times, and what is passed over."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import ParameterError, SourceError
from recalltune.ingest import ingest, vault_as_connector
from recalltune.ingest.note_marks import read_marks, tag_of_link, unique_tags
from steps import grows_with_its_input


def us(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp()) * 10**6


def notes_of(lab: store.Lab) -> dict[str, dict[str, Any]]:
    with lab.reading() as con:
        return {row["memory_id"]: row for row in store.read_spans(con).to_dicts()}


def meta_of(lab: store.Lab) -> dict[str, Any]:
    with lab.reading() as con:
        rows = store.read_table(con, "memory").select("memory_id", "meta").iter_rows()
        return {memory_id: json.loads(meta) for memory_id, meta in rows}


def reasons(report) -> dict[str, int]:
    return dict(report.dropped.group_by("reason").agg(pl.col("count").sum()).iter_rows())


@pytest.fixture
def vault(write, src):
    """Write notes into ``src``, which is a vault of Obsidian's."""
    write(".obsidian/app.json", "{}")

    def fill(**notes: str):
        for name, text in notes.items():
            write(name, text)
        return src

    return fill


def test_a_note_becomes_one_memory_with_title_tags_links_and_times(lab, vault):
    text = """---
title: Q2 Planning
date: 2026-04-13T10:00:00Z
tags: [meeting, '#q2']
aliases: Spring plan, The plan
mood: {calm: 'true'}
---
# Agenda

Met with [[people/Team Goals#Q2|the team]], see ![[Budget.md]] and ![[chart.png]].
#Follow-up #MEETING #2026 and `#code [[Code]]`

## Next
- [[Ann]]
"""
    report = ingest(lab, vault(**{"Work notes/q2 plan.md": text}))
    [(memory_id, row)] = notes_of(lab).items()
    assert memory_id == "obsidian:Work notes/q2 plan.md"
    assert row["text"] == f"[Q2 Planning] {text.split('---', 2)[2].strip()}"
    assert (row["title"], row["scope"], row["layer"]) == ("Q2 Planning", "vault:src", "log")
    assert (row["event_at"], row["known_at"]) == (us(2026, 4, 13, 10), us(2026, 4, 13, 10))
    assert row["tags"] == [
        "meeting",
        "q2",
        "Follow-up",
        "Work-notes",
        "link:Team-Goals",
        "link:Budget",
        "link:Ann",
    ]
    assert meta_of(lab)[memory_id] == {
        "filePath": "Work notes/q2 plan.md",
        "frontmatter": {
            "title": "Q2 Planning",
            "date": "2026-04-13T10:00:00Z",
            "tags": ["meeting", "#q2"],
            "aliases": "Spring plan, The plan",
            "mood": {"calm": "true"},
        },
        "aliases": ["Spring plan", "The plan"],
        "headings": ["Agenda", "Next"],
    }
    assert report.frame.select("format", "read", "kept").rows() == [("obsidian", 1, 1)]
    assert "picture or other file in a note, not read: 1" in report.notices


@pytest.mark.parametrize(
    ("text", "title", "remembered"),
    [
        ("---\ntitle: Front\n---\n# Head\nbody", "Front", "[Front] # Head\nbody"),
        ("# Head\n\nbody", "Head", "[Head] body"),
        ("before\n# Head\nbody", "Head", "[Head] before\n# Head\nbody"),
        ("# Head", "Head", "[Head] # Head"),
        ("```\n# no head\n```\nbody", "Pump seal", "[Pump seal] ```\n# no head\n```\nbody"),
        ("## Part\nbody", "Pump seal", "[Pump seal] ## Part\nbody"),
    ],
)
def test_the_title_is_the_front_matters_then_the_first_heading_then_the_file_name(
    lab, vault, text, title, remembered
):
    ingest(lab, vault(**{"Pump seal.md": text}))
    row = notes_of(lab)["obsidian:Pump seal.md"]
    assert (row["title"], row["text"]) == (title, remembered)


@pytest.mark.parametrize(
    ("name", "front", "event", "known"),
    [
        ("a.md", "date: 2026-01-02", us(2026, 1, 2), us(2026, 1, 2)),
        ("a.md", "created: 2026-01-02 03:04", us(2026, 1, 2, 3, 4), us(2026, 1, 2, 3, 4)),
        ("a.md", "date created: 2026-01-02", us(2026, 1, 2), us(2026, 1, 2)),
        ("a.md", "date: [[2026-01-02]]", us(2026, 1, 2), us(2026, 1, 2)),
        ("a.md", "date: 2026-01-05\ncreated: 2026-01-02", us(2026, 1, 5), us(2026, 1, 5)),
        ("a.md", "created: 2026-01-02\nupdated: 2026-03-01", us(2026, 1, 2), us(2026, 3, 1)),
        ("a.md", "created: 2026-01-02\nmodified: 2026-01-01", us(2026, 1, 2), us(2026, 1, 2)),
        ("a.md", "updated: 2026-03-01", None, us(2026, 3, 1)),
        ("a.md", "date: 2026-05-02\nknownAt: 2026-01-03", us(2026, 5, 2), us(2026, 1, 3)),
        ("a.md", "date: Friday\ncreated: 2026-01-02", us(2026, 1, 2), us(2026, 1, 2)),
        ("a.md", "mood: calm", None, None),
        ("daily/2026-05-14.md", "created: 2026-05-13", us(2026, 5, 14), us(2026, 5, 14)),
        ("2026-05-14 Call.md", "date: 2026-05-20", us(2026, 5, 20), us(2026, 5, 20)),
        ("2026-13-40.md", "mood: calm", None, None),
    ],
)
def test_the_event_is_what_the_note_says_and_it_is_known_from_its_last_change(
    lab, vault, name, front, event, known
):
    report = ingest(lab, vault(**{name: f"---\n{front}\n---\nbody"}))
    row = notes_of(lab)[f"obsidian:{name}"]
    assert (row["event_at"], row["known_at"]) == (event, known)
    changed = "note changed after its event: known from the change on: 1" in report.notices
    assert changed == (event != known)


def test_the_path_gives_layer_origin_and_kind_of_session_unless_the_note_says_otherwise(lab, vault):
    notes = {
        "2026-05-14.md": "a",
        "Reflections/why.md": "b",
        "Clippings/page.md": "c",
        "cron/nightly.md": "d",
        "Whiteboard/board.md": "---\nlayer: user\norigin: owner\n---\ne",
        "reflection is all.md": "# Reflection\nf",
    }
    ingest(lab, vault(**notes))
    found = {key[9:]: (row["layer"], row["origin"]) for key, row in notes_of(lab).items()}
    assert found == {
        "2026-05-14.md": ("log", None),
        "Reflections/why.md": ("reflection", "agent"),
        "Clippings/page.md": ("log", "untrusted"),
        "cron/nightly.md": ("log", "system"),
        "Whiteboard/board.md": ("user", "owner"),
        "reflection is all.md": ("log", None),
    }
    assert meta_of(lab)["obsidian:cron/nightly.md"]["session_kind"] == "cron"


def test_what_is_no_note_is_passed_over_and_counted(lab, vault, write):
    write("pic.png", b"\x89PNG")
    write("board.canvas", "{}")
    report = ingest(
        lab,
        vault(
            **{
                "note.md": "kept",
                ".trash/old.md": "deleted",
                "Templates/daily.md": "---\n<% tp.date %>: {{x}}\n---\n{{title}}",
                "Extras/00 - Templates/t.md": "x",
                "sketch.excalidraw.md": "{}",
                "AGENTS.md": "rules",
                ".claude/rules.md": "rules",
                "empty.md": "",
                "bare.md": "---\ntags: [a]\n---\n\n",
            }
        ),
    )
    assert list(notes_of(lab)) == ["obsidian:note.md"]
    assert reasons(report) == {
        "template, not a note": 2,
        "drawing, not a note": 1,
        "in a hidden folder of the vault": 1,
        "note without a text": 1,
    }
    assert report.frame["read"].sum() == report.frame["kept"].sum() + report.frame["dropped"].sum()
    assert "file of a vault's settings or trash passed over: 2" in report.notices
    assert any(told.startswith("3 files of another kind") for told in report.notices)


def test_an_agents_memory_inside_a_vault_stays_an_agents_memory(lab, vault):
    ingest(
        lab,
        vault(
            **{
                "MEMORY.md": "- [[one]]",
                "memory/2026-05-14.md": "- two",
                "2026-05-14.md": "- three",
                "Index.md": "four",
            }
        ),
    )
    assert sorted(notes_of(lab)) == [
        "md:MEMORY#1",
        "md:memory/2026-05-14#1",
        "obsidian:2026-05-14.md",
        "obsidian:Index.md",
    ]


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.md", "see [[b]]", "obsidian"),
        ("a.md", "---\ntags: [x]\n---\nb", "obsidian"),
        ("a.md", "---\naliases: [x]\n---\nb", "obsidian"),
        ("a.md", "---\nlayer: user\n---\nb", None),
        ("a.md", "`[[b]]`", None),
        ("README.md", "plain", None),
        ("CLAUDE.md", "see [[b]]", None),
        ("2026-05-14.md", "see [[b]]", "markdown_folder"),
        ("memory/a.md", "see [[b]]", "markdown_folder"),
    ],
)
def test_without_obsidians_folder_the_content_tells_a_note(lab, write, src, name, text, format):
    write(name, text)
    report = ingest(lab, src)
    assert report.frame["format"].to_list() == ([format] if format else [])


def test_ids_start_at_the_vault_whatever_part_of_it_is_given(lab, vault, src):
    folder = vault(**{"deep/er/note.md": "tea"})
    ingest(lab, folder / "deep" / "er" / "note.md")
    report = ingest(lab, folder / "deep")
    assert list(notes_of(lab)) == ["obsidian:deep/er/note.md"]
    assert notes_of(lab)["obsidian:deep/er/note.md"]["scope"] == "vault:src"
    assert reasons(report) == {"memory another file holds": 1}


def test_front_matter_that_cannot_be_read_costs_one_note_and_not_the_vault(lab, vault, src):
    bad = {"a.md": "---\ntitle: Plan: two\n---\nx", "b.md": "---\na: 1\nb: *x\n---\ny"}
    folder = vault(**bad, **{"c.md": "kept"})
    with pytest.raises(SourceError, match=r"^src/b\.md:3: front matter .*alias"):
        ingest(lab, src / "b.md")
    report = ingest(lab, folder)
    assert list(notes_of(lab)) == ["obsidian:c.md"]
    dropped = report.dropped.select("reason", "lines").rows()
    reason = "note whose front matter cannot be read"
    assert dropped == [(reason, [2]), (reason, [3])]


def test_a_note_that_was_not_told_is_kept_from_everyone(lab, vault):
    ingest(lab, vault(**{"a.md": "---\ntoldAt: null\n---\nsecret", "b.md": "open"}))
    rows = notes_of(lab)
    assert (rows["obsidian:a.md"]["gated"], rows["obsidian:a.md"]["enters_at"]) == (True, None)
    assert not rows["obsidian:b.md"]["gated"]


@pytest.mark.parametrize("broken", ["---\ntold_at: *x\n---\nsecret", "told_at: null\nsecret"])
def test_a_dropped_note_that_may_not_have_been_told_silences_what_another_file_says(
    lab, vault, write, broken
):
    record = {"id": "obsidian:a.md", "text": "secret"}
    head = {"version": "connector-v1", "source": "obsidian", "scope": "vault:src"}
    path = write("out.json", head | {"producedAt": "2026-01-01T00:00:00Z", "records": [record]})
    ingest(lab, path)
    assert not notes_of(lab)["obsidian:a.md"]["gated"]
    ingest(lab, vault(**{"a.md": broken}))
    assert notes_of(lab)["obsidian:a.md"]["enters_at"] is None


def test_a_status_of_the_notes_own_never_costs_the_note(lab, vault):
    report = ingest(lab, vault(**{"a.md": "---\nstatus: in progress\n---\nx"}))
    assert notes_of(lab)["obsidian:a.md"]["status"] == "current"
    assert meta_of(lab)["obsidian:a.md"]["frontmatter"] == {"status": "in progress"}
    assert "status of the note's own, kept in meta: 1" in report.notices


def test_importing_a_vault_again_changes_nothing_and_an_edit_replaces_its_note(lab, vault, write):
    folder = vault(**{"a.md": "one", "b.md": "two"})
    ingest(lab, folder)
    before = notes_of(lab)
    assert ingest(lab, folder).frame["kept"].sum() in (0, 2)
    assert notes_of(lab) == before
    write("a.md", "other")
    ingest(lab, folder)
    assert notes_of(lab)["obsidian:a.md"]["text"] == "[a] other"
    assert len(notes_of(lab)) == 2


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[[A b]]", ["A b"]),
        ("[[dir/A|x]] ![[B#h]] [[C^block]]", ["A", "B", "C"]),
        ("[[A.md]] [[B.MARKDOWN]] [[v1.2]]", ["A", "B", "v1.2"]),
        ("| [[A\\|x]] |", ["A"]),
        ("[[#here]] [[ ]] [[]] [[..]]", []),
        ("[[a [[b]] c]]", ["b"]),
        ("[[open\nend]]", []),
        ("`` [[a]] ` `` [[b]]", ["b"]),
        ("` [[a]]", ["a"]),
        ("~~~\n[[a]]\n```\n~~~\n[[b]]", ["b"]),
        ("[[团队 目标]]", ["团队 目标"]),
        (f"[[{'x' * 501}]]", []),
    ],
)
def test_wikilinks_are_read_outside_code_by_the_name_of_the_note(text, links):
    assert read_marks(text.split("\n")).links == links


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a #b/c #d-e_f", ["a", "b/c", "d-e_f"]),
        ("#1984 #y1984 #/ ## #", ["y1984"]),
        ("x#a (#b) #c, #d.", ["c", "d"]),
        ("#标签，后 #हिन्दी #🎉", ["标签", "हिन्दी", "🎉"]),
        ("# Title #t", ["t"]),
        ("[[N#h|#x]] `#y` https://z/#q", []),
    ],
)
def test_inline_tags_stand_alone_and_hold_more_than_digits(text, tags):
    assert read_marks([text]).tags == tags


def test_a_link_tag_has_hyphens_for_blanks_and_a_tag_is_listed_once_in_any_case():
    assert tag_of_link(" Team   Goals ") == "link:Team-Goals"
    assert unique_tags(["B", "a", "b", "A", "c"]) == ["B", "a", "c"]


@given(st.text(st.sampled_from("ab[]#|`~! \n\\^"), max_size=80))
def test_marks_are_read_from_any_text_and_come_from_it(text: str):
    found = read_marks(text.split("\n"))
    assert all(name in " ".join(text.replace("\\", "/").split()) for name in found.links)
    assert all(f"#{tag}" in text for tag in found.tags)


@pytest.mark.parametrize(
    "piece",
    ["[[", "]]", "`", "#a", "[[a|", "# ", "```\n", "``` `` ` ", "[[a]]", "told_at: ", "`` ` ``` "],
)
def test_the_work_grows_with_the_note_alone(piece):
    def work(chars: int) -> None:
        read_marks((piece * (chars // len(piece))).split("\n"))

    assert grows_with_its_input(work, 5_000, 40_000)


def test_tags_beyond_a_thousand_are_counted(lab, vault):
    text = " ".join(f"[[n{number}]]" for number in range(1500))
    report = ingest(lab, vault(**{"a.md": text}))
    assert len(notes_of(lab)["obsidian:a.md"]["tags"]) == 1000
    assert "tag beyond the first 1,000 of a note, not kept: 500" in report.notices


ROUND_TRIP = {
    "Work notes/q2.md": """---
title: Q2
tags: [meeting]
created: 2026-04-13T10:00:00+02:00
updated: 2026-05-01
category: facts
importance: 0.75
origin: owner
tier: core
pinned: true
validUntil: 2027-01-01
status: in progress
---
# Agenda
see [[Team Goals]] #q2""",
    "private.md": "---\ntoldAt: null\nscope: me\n---\nsecret",
    "told.md": "---\ntold_at: 2026-05-02T08:00:00Z\n---\ntold",
    "old.md": "---\nstatus: superseded\nby: 'obsidian:told.md'\nat: 2026-05-03\n---\nold words",
    "gone.md": "---\nstatus: retracted\nretracted_at: 2026-05-03\nreason: wrong\n---\ngone",
    "only a heading.md": "# Buy milk",
    "brackets.md": "[not a title] body",
    "2026-05-14.md": "a day\u2028with a strange line end",
    "cron/nightly.md": "done",
}


def test_a_vault_and_its_connector_file_give_the_same_memories(lab, vault, tmp_path):
    folder = vault(**ROUND_TRIP, **{"broken.md": "---\na: *x\n---\nlost"})
    out = tmp_path / "vault.json"
    export = vault_as_connector(folder, out, produced_at=datetime(2026, 6, 1, tzinfo=UTC))
    assert (export.records, dict(export.dropped)) == (
        len(ROUND_TRIP),
        {"note whose front matter cannot be read": 1},
    )
    ingest(lab, folder)
    other = store.open(tmp_path / "other.duckdb")
    report = ingest(other, out)
    assert report.frame.select("format", "kept", "dropped").rows() == [
        ("connector_v1", len(ROUND_TRIP), 0)
    ]
    direct, by_file = notes_of(lab), notes_of(other)
    assert len(direct) == len(ROUND_TRIP)
    # All but where they were read.
    for note in (*direct.values(), *by_file.values()):
        del note["file"]
    assert by_file == direct
    added = {"contentHash", "categoryHint", "importanceHint"}
    for memory_id, meta in meta_of(other).items():
        assert {key: meta[key] for key in meta.keys() - added} == meta_of(lab)[memory_id]


def test_the_connector_file_of_a_vault_is_the_same_bytes_each_time_and_private(vault, tmp_path):
    folder = vault(**ROUND_TRIP)
    outs = [tmp_path / name for name in ("a.json", "b.json")]
    for out in outs:
        vault_as_connector(folder, out, produced_at=datetime(2026, 6, 1, tzinfo=UTC), batch_id="b1")
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert outs[0].stat().st_mode & 0o777 == 0o600
    payload = json.loads(outs[0].read_text(encoding="utf-8"))
    head = {key: value for key, value in payload.items() if key != "records"}
    assert head == {
        "version": "connector-v1",
        "source": "obsidian",
        "scope": "vault:src",
        "batchId": "b1",
        "producedAt": "2026-06-01T00:00:00+00:00",
    }
    [record] = [one for one in payload["records"] if one["id"] == "obsidian:Work notes/q2.md"]
    assert (record["title"], record["text"]) == ("Q2", "# Agenda\nsee [[Team Goals]] #q2")
    assert record["timestamp"] == "2026-04-13T08:00:00+00:00"
    assert record["sourceMetadata"]["knownAt"] == "2026-05-01T00:00:00+00:00"
    assert (record["categoryHint"], record["importanceHint"]) == ("entities", 0.75)


def test_a_vault_is_written_only_with_a_zone_and_from_a_folder(vault, tmp_path):
    with pytest.raises(ParameterError, match="produced_at needs a time zone"):
        vault_as_connector(vault(), tmp_path / "o.json", produced_at=datetime(2026, 6, 1))  # noqa: DTZ001
    with pytest.raises(ParameterError, match="folder must be a folder"):
        vault_as_connector(
            tmp_path / "no", tmp_path / "o", produced_at=datetime(2026, 6, 1, tzinfo=UTC)
        )


def test_a_note_of_many_long_headings_still_fits_into_a_record(lab, vault, tmp_path):
    heading = "# " + "长" * 400
    folder = vault(**{"a.md": "\n".join([heading] * 500)})
    out = tmp_path / "o.json"
    export = vault_as_connector(folder, out, produced_at=datetime(2026, 6, 1, tzinfo=UTC))
    assert export.notes == {
        "file of a vault's settings or trash passed over": 1,
        "headings and aliases of a note too large for a record, left out": 1,
    }
    assert ingest(lab, out).frame["kept"].to_list() == [1]
