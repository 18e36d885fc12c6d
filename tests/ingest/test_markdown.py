"""Markdown memory folders: blocks, dates, front matter, braces."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import SourceError
from recalltune.ingest import ingest
from recalltune.ingest.front_matter import split_front_matter
from recalltune.ingest.kinds import KINDS
from recalltune.ingest.markdown_blocks import markdown_blocks

DAY = int(datetime(2026, 5, 14, tzinfo=UTC).timestamp()) * 10**6
MINUTE = 60 * 10**6


def spans(lab: store.Lab) -> pl.DataFrame:
    with lab.reading() as con:
        return store.read_spans(con).sort("memory_id")


def blocks(text: str, *, timed: bool = False) -> list[tuple[int, str, str | None]]:
    found = markdown_blocks(text.split("\n"), first=0, timed=timed)
    return [(block.line, block.text, block.heading) for block in found]


def test_items_paragraphs_and_fences_are_blocks_under_their_heading():
    text = """# Title
First line
goes on.

## Part
- one
  - nested
  more
* two

  still two
1. three

```sh
# no heading
- no item
```
---
last"""
    assert blocks(text) == [
        (2, "First line\ngoes on.", "Title"),
        (6, "one\n  - nested\n  more", "Part"),
        (9, "two\n\n  still two", "Part"),
        (12, "three", "Part"),
        (14, "```sh\n# no heading\n- no item\n```", "Part"),
        (19, "last", "Part"),
    ]


def test_an_unclosed_fence_takes_the_rest_and_nothing_is_lost():
    assert blocks("a\n\n```\n# b\n\n- c") == [(1, "a", None), (3, "```\n# b\n\n- c", None)]


def test_a_timed_heading_opens_one_block_up_to_its_peer():
    text = "## 09:30 Stand-up\n- one\n\n### Detail\ntext\n## 10:00\nbody\n## Notes\n- item"
    found = list(markdown_blocks(text.split("\n"), first=0, timed=True))
    assert [(block.text, block.heading, block.minutes) for block in found] == [
        ("Stand-up\n- one\n\nDetail\ntext", "Stand-up", 570),
        ("body", None, 600),
        ("item", "Notes", None),
    ]


@pytest.mark.parametrize("heading", ["25:00 late", "9:75", "12:345"])
def test_a_heading_that_is_no_time_of_day_opens_no_section(heading: str):
    assert blocks(f"## {heading}\n- item", timed=True) == [(2, "item", heading)]


@given(st.text(st.sampled_from("ab#-*1.` \t\n>~{}|:"), max_size=200))
def test_every_word_of_a_file_ends_up_in_a_block_or_a_heading(text: str):
    found = list(markdown_blocks(text.split("\n"), first=0, timed=False))
    kept = "".join(block.text for block in found)
    headings = "".join(line for line in text.split("\n") if line.lstrip().startswith("#"))
    for letter in "ab":
        assert kept.count(letter) + headings.count(letter) >= text.count(letter)
    assert [block.line for block in found] == sorted({block.line for block in found})


# bug bank F40
def test_dated_files_date_their_items_and_others_are_undated(lab, write):
    names = [
        "memory/2026-05-14.md",
        "memory/a/b/2026-05-14.md",
        "memory/2026-05-14-notes.md",
        "memory/2026-05-14-1530.md",
        "MEMORY.md",
        "memory/topic.md",
        "memory/2026-13-40.md",
    ]
    for name in names:
        write(name, "- item")
    report = ingest(lab, write("README.md", "- no memory").parent)
    found = dict(spans(lab).select("memory_id", "event_at").iter_rows())
    dated = {f"md:{name[:-3]}#1": DAY + 1 for name in names[:4]}
    undated = {f"md:{name[:-3]}#1": None for name in names[4:]}
    assert found == dated | undated
    assert "memory without an event time (always there, no age): 3" in report.notices
    assert "file name with an impossible date, taken as undated: 1" in report.notices
    assert any(told.startswith("1 file of another kind") for told in report.notices)
    layers = dict(spans(lab).select("memory_id", "layer").iter_rows())
    assert {layers[key] for key in dated} == {"log"}
    assert {layers[key] for key in undated} == {"project"}


# bug bank F40
def test_backslashes_in_a_name_date_its_items_all_the_same(lab, write, src):
    for name in ("memory\\2026-05-14.md", "memory\\a\\2026-05-14-1530.md", "memory\\topic.md"):
        write(name, "- item")
    report = ingest(lab, src)
    assert spans(lab)["event_at"].to_list() == [DAY + 1, DAY + 1, None]
    assert report.frame["kept"].to_list() == [1, 1, 1]


def test_what_an_agent_is_told_before_every_session_is_no_memory_unless_it_is_named(lab, write):
    for name in ("SOUL.md", "AGENTS.md", "memory/HEARTBEAT.md"):
        write(name, "- rules")
    path = write("USER.md", "- likes tea")
    report = ingest(lab, path.parent)
    assert report.frame.height == 0
    assert any(told.startswith("4 files of another kind") for told in report.notices)
    ingest(lab, path)
    assert spans(lab).select("text", "layer").rows() == [("likes tea", "user")]


def test_the_path_gives_layer_origin_and_kind_of_session_and_never_the_content(lab, write, src):
    text = "# Whiteboard\n- reflection by cron"
    names = {
        "MEMORY.md": ("project", None, None),
        "memory/topic.md": ("project", None, None),
        "memory/2026-05-14.md": ("log", None, None),
        "memory/DREAMS.md": ("reflection", "agent", None),
        "memory/Reflections/2026-05-14.md": ("reflection", "agent", None),
        "memory/whiteboard/now.md": ("whiteboard", None, None),
        "memory/cron/2026-05-14.md": ("log", "system", "cron"),
        "memory/heartbeat/beat.md": ("project", "system", "heartbeat"),
        "memory/subagents/found.md": ("project", "agent", "subagent"),
        "memory/cronies/x.md": ("project", None, None),
    }
    for name in names:
        write(name, text)
    ingest(lab, src)
    with lab.reading() as con:
        rows = store.read_table(con, "memory").to_dicts()
    found = {
        row["memory_id"]: (
            row["layer"],
            row["origin"],
            json.loads(row["meta"]).get("session_kind"),
        )
        for row in rows
    }
    assert found == {f"md:{name[:-3]}#1": kind for name, kind in names.items()}


def test_the_documented_table_of_paths_is_the_one_in_the_code(root):
    text = (root / "docs" / "tables.md").read_text(encoding="utf-8")
    table = text.split("### What a path says")[1].split("###")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ")][1:]
    written = [tuple(cell.strip() for cell in row) for row in rows if "named after" not in str(row)]

    def cell(names) -> str:
        return ", ".join(f"`{name}`" for name in sorted(filter(None, names)))

    in_code = []
    for rule in KINDS:
        kind = rule.kind
        said = [cell([value]) for value in (kind.layer, kind.origin, kind.session_kind)]
        in_code.append((cell(rule.folders), cell(rule.files), *said))
    assert written == in_code


def test_what_an_item_or_the_caller_says_goes_before_the_path(lab, write, src):
    write("memory/dreams/a.md", "- one\n- two {#two layer=user origin=owner}")
    ingest(lab, src, layer="log")
    rows = spans(lab).select("text", "layer", "origin").rows()
    assert rows == [("one", "log", "agent"), ("two", "user", "owner")]


@pytest.mark.shared
def test_the_real_memory_folder_is_read_item_by_item(lab, shared):
    report = ingest(lab, shared / "data" / "transcripts" / "openclaw_memory" / "brainx")
    # Counted with grep in MEMORY.md: list items that are not indented, paragraphs, and fences but
    # for the one that follows its paragraph without a blank line.
    standing = 73 + 36 + 11
    # Counted by eye in memory/2026-02-10.md: the line of the record, the symptoms' headline and
    # its 3 items, the needs' headline and its 9, 4 things done, 3 key files, 1 connection string.
    of_the_day = 1 + 1 + 3 + 1 + 9 + 4 + 3 + 1
    assert report.frame.select("file", "read", "kept", "dropped").rows() == [
        ("brainx/MEMORY.md", standing, standing, 0),
        ("brainx/memory/2026-02-10.md", of_the_day, of_the_day, 0),
    ]
    day = spans(lab).filter(pl.col("memory_id").str.starts_with("md:memory/"))
    assert day["layer"].unique().to_list() == ["log"]
    texts = dict(day.select("memory_id", "text").iter_rows())
    assert texts["md:memory/2026-02-10#16"].startswith("**PostgreSQL Instalado**\n   - Versión")


def test_items_of_a_day_follow_one_another_by_a_microsecond_or_by_their_heading(lab, write):
    write("memory/2026-05-14.md", "- one\n- two\n## 09:30 Talk\nwords\n## Rest\n- three")
    ingest(
        lab,
        write(
            "memory/2026-05-14.md", "- one\n- two\n## 09:30 Talk\nwords\n## Rest\n- three"
        ).parent,
    )
    rows = spans(lab).select("memory_id", "text", "title", "event_at", "known_at").rows()
    at = DAY + 570 * MINUTE
    assert rows == [
        ("md:2026-05-14#1", "one", None, DAY + 1, DAY + 1),
        ("md:2026-05-14#2", "two", None, DAY + 2, DAY + 2),
        ("md:2026-05-14#3", "Talk\nwords", "Talk", at, at),
        ("md:2026-05-14#4", "three", "Rest", DAY + 4, DAY + 4),
    ]


@pytest.mark.parametrize(
    ("item", "dated"),
    [
        ("- 2026-05-14: moved", True),
        ("- **2026-05-14** moved", True),
        ("- moved (2026-05-14)", True),
        ("### 2026-05-14 - the move\n- moved", True),
        ("- due by 2026-05-14 at the latest", False),
        ("- moved", False),
    ],
)
def test_an_undated_file_dates_an_item_that_opens_or_closes_with_a_date(lab, write, item, dated):
    ingest(lab, write("MEMORY.md", item))
    assert spans(lab)["event_at"].to_list() == ([DAY + 1] if dated else [None])


def test_front_matter_speaks_for_all_items_and_braces_for_one(lab, write):
    text = """---
scope: project:x
layer: whiteboard
origin: self_life
toldAt: null
tags: [a, b]
mood: calm
---
- private
- told {#told layer=user told_at=2026-05-14T00:00:00Z confidence=0.5 session="a b"}
"""
    ingest(lab, write("MEMORY.md", text))
    private, told = spans(lab).sort("memory_id").to_dicts()
    assert (private["memory_id"], private["layer"], private["scope"]) == (
        "md:MEMORY#1",
        "whiteboard",
        "project:x",
    )
    assert (private["origin"], private["gated"], private["told_at"]) == ("self_life", True, None)
    assert private["enters_at"] is None
    assert (told["memory_id"], told["text"], told["layer"]) == ("told", "told", "user")
    assert (told["gated"], told["told_at"], told["enters_at"]) == (True, DAY, DAY)
    assert (told["confidence"], told["session"], told["tags"]) == (0.5, "a b", ["a", "b"])
    with lab.reading() as con:
        assert store.read_table(con, "memory")["meta"].to_list() == ['{"mood": "calm"}'] * 2


def test_a_told_time_that_cannot_be_read_means_not_told(lab, write):
    report = ingest(lab, write("MEMORY.md", "- secret {#s told_at=someday}"))
    assert spans(lab)["enters_at"].to_list() == [None]
    assert "told_at unreadable, not used: 1" in report.notices


@pytest.mark.parametrize("rule", ["toldAt: null", '"told_at": none', "told-at:", "told_at: soon"])
def test_a_telling_rule_of_the_front_matter_is_heard_in_every_spelling_that_is_read(
    lab, write, rule
):
    ingest(lab, write("MEMORY.md", f"---\n{rule}\n---\n- secret"))
    assert spans(lab).select("gated", "enters_at").rows() == [(True, None)]


def test_a_superseded_item_names_its_successor_and_its_time(lab, write):
    text = """- old {#a status=superseded by=b at=2026-05-14T00:00:00Z}
- older {#c by=b superseded_at=2026-05-14}
- gone {#d status=retracted at=2026-05-14 reason=wrong}
- new {#b}"""
    ingest(lab, write("MEMORY.md", text))
    rows = spans(lab).select(
        "memory_id", "status", "superseded_by", "superseded_at", "retracted_at", "event_at"
    )
    assert rows.rows() == [
        ("a", "superseded", "b", DAY, None, None),
        ("b", "current", None, None, None, None),
        ("c", "superseded", "b", DAY, None, None),
        ("d", "retracted", None, None, DAY, None),
    ]


def test_an_unknown_brace_key_names_file_line_and_the_nearest(lab, write):
    path = write("MEMORY.md", "# T\n\n- a\n- b {#x layr=user}")
    with pytest.raises(SourceError, match=r"^src/MEMORY\.md:4: 'layr' .*nearest: 'layer'"):
        ingest(lab, path)


def test_braces_without_an_id_are_text(lab, write):
    ingest(lab, write("MEMORY.md", "- set {a=1}\n- {#only}\n- {#tail} goes on"))
    assert spans(lab)["text"].to_list() == ["set {a=1}", "{#tail} goes on"]


def test_an_empty_item_is_dropped_with_its_line_and_keeps_its_number(lab, write):
    report = ingest(lab, write("MEMORY.md", "- a\n-\n- c"))
    assert report.dropped.select("reason", "count", "lines").rows() == [("empty item", 1, [2])]
    assert spans(lab)["memory_id"].to_list() == ["md:MEMORY#1", "md:MEMORY#3"]


def test_an_unknown_status_drops_the_item_by_reason(lab, write):
    report = ingest(lab, write("MEMORY.md", "- a\n- b {#b status=archived}"))
    assert report.dropped["reason"].to_list() == ["status is not current, superseded or retracted"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("a: &anchor x", r"an anchor \(&anchor\)"),
        ("&anchor a: x", r"an anchor \(&anchor\)"),
        ("a: *alias", r"an alias \(\*alias\)"),
        ("<<: *alias", r"an alias \(\*alias\)"),
        ("a: !!python/object x", "a tag"),
        ("? [a]\n: b", "must have texts as keys"),
        ("--- b", "must be one document"),
        ("a: [1, 2", "expected ',' or '\\]'"),
        ("a: 'open", "unexpected end"),
        ("a: @x", "cannot start any token"),
        ("\ta: b", "cannot start any token"),
        ("a: b: c", "not allowed here"),
        ("  nested: x", "not allowed here"),
        ("no colon", "could not find expected ':'"),
        ("first: again", "'first' is given twice"),
        ("a: {b: 1, b: 2}", "'b' is given twice"),
        ('a: "\\ud800"', "half a surrogate pair"),
        ("a: \x07", "must be printable"),
        ("a: " + "[" * 17, "at most 16 levels"),
        ("a: " + "[" * 60_000, "at most 16 levels"),
    ],
)
def test_front_matter_that_is_no_plain_yaml_is_refused_by_line(line: str, what: str):
    with pytest.raises(SourceError, match=rf"^f\.md:3: front matter .*{what}"):
        split_front_matter(["---", "first: 1", *line.split("\n"), "---"], "f.md")


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["a:", "  told_at: null"], 3),
        (["a: {toldAt: null}"], 2),
        (["a:", "- Told-At: 2026-05-14"], 3),
        (["told at: null"], 2),
        (["TOLDAT: null"], 2),
        (["a: |", "  secret", "  told_at: null"], 2),
    ],
)
def test_a_telling_rule_where_front_matter_is_not_read_for_it_is_refused(
    lines: list[str], line: int
):
    with pytest.raises(SourceError, match=rf"^f\.md:{line}: .*telling rule"):
        split_front_matter(["---", *lines, "---"], "f.md")


def test_front_matter_larger_than_its_bound_is_refused_and_just_below_it_is_read():
    value = "x" * (64 * 1024 - len("a: \n"))
    assert split_front_matter(["---", f"a: {value}", "---"], "f.md") == ({"a": value}, 3)
    with pytest.raises(SourceError, match=r"^f\.md:1: front matter must be at most 65,536 bytes"):
        split_front_matter(["---", f"a: {value}x", "---"], "f.md")


def test_front_matter_may_nest_and_hold_texts_of_several_lines():
    lines = [
        "---",
        "date created: 2026-05-14 10:00",
        "标签: [甲, 乙]",
        "deep:",
        "  - {a: [1, 'true', true]}",
        "  - ~",
        "text: >",
        "  one",
        "  two",
        "\"quoted\": 'false'",
        "---",
    ]
    values, taken = split_front_matter(lines, "f.md")
    assert values == {
        "date created": "2026-05-14 10:00",
        "标签": ["甲", "乙"],
        "deep": [{"a": ["1", "true", True]}, None],
        "text": "one two\n",
        "quoted": "false",
    }
    assert taken == len(lines)


@given(st.lists(st.text("abkt: -[]{}&*!|>'\"#\t,~?%@`", max_size=12), max_size=8))
def test_any_front_matter_gives_values_or_an_error_of_its_own_line(lines: list[str]):
    refused = None
    try:
        values, taken = split_front_matter(["---", "key: x", *lines, "---"], "f.md")
    except SourceError as error:
        refused = str(error)
    if refused is None:
        assert "key" in values
        assert taken >= 3
    else:
        assert 2 <= int(refused.split(":")[1]) <= len(lines) + 3


def test_front_matter_reads_texts_quotes_lists_and_the_words_of_nothing():
    lines = [
        "---",
        "a: x # note",
        "b: 'y: z'",
        "c: [p, 'q']",
        "d: null",
        "e:",
        "f:",
        "- r",
        "g: true",
        "---",
    ]
    values, taken = split_front_matter(lines, "f.md")
    assert values == {
        "a": "x",
        "b": "y: z",
        "c": ["p", "q"],
        "d": None,
        "e": None,
        "f": ["r"],
        "g": True,
    }
    assert taken == 10


@pytest.mark.parametrize("lines", [["---", "", "text", "---"], ["---", "key: no end"], [], ["---"]])
def test_three_dashes_alone_are_a_rule_and_no_front_matter(lines: list[str]):
    assert split_front_matter(lines, "f.md") == ({}, 0)


def test_hostile_markdown_is_read_in_linear_time(lab, write):
    text = "- " + "{#" * 50_000 + "\n" + "*" * 100_000 + "\n" + "- " * 50_000 + "\n" + "`" * 50_000
    report = ingest(lab, write("MEMORY.md", text))
    [(read, kept)] = report.frame.select("read", "kept").rows()
    assert read == kept == 2


def test_two_folders_with_the_same_item_ids_do_not_overwrite_each_other(lab, write):
    write("a/MEMORY.md", "- of a")
    ingest(lab, write("a/MEMORY.md", "- of a").parent)
    path = write("b/MEMORY.md", "- of b\n- second of b")
    report = ingest(lab, path.parent)
    assert spans(lab)["text"].to_list() == ["of a", "second of b"]
    assert report.dropped["reason"].to_list() == [
        "id held by another file's memory (moved, or two folders alike?)"
    ]
