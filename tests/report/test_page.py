"""The page: whole, readable, the same twice, and harmless whatever stands in the memory."""

from __future__ import annotations

import base64
import importlib
import re
import stat
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import polars as pl
import pytest

from recalltune.errors import ContractError
from recalltune.report.html import Html, chart_image, el, join, table
from recalltune.report.journey import write_journey, write_report
from recalltune.report.sections import TITLES, sections
from recalltune.report.text import escaped, plain
from report import made_up

pytestmark = pytest.mark.slow

HOSTILE = {
    "m000": "</script><script>alert(1)</script> valve number0",
    "m004": '<img src=x onerror=alert(1)> gauge"><svg onload=alert(2)>',
    "m008": "valve &lt; number8 \u202etxet desrever\u202c javascript:alert(1)",
    "m012": "valve " + "long" * 12_500,
    "m016": "valve \u200b\u2066zero\u2069 \x07 \ufeff number16",
    "m020": "a" + "\u0301" * 20_000,
    "q0": '"><img src=x onerror=alert(3)> </title><script>valve</script> \u202e',
}
SVG = "{http://www.w3.org/2000/svg}"


class Reader(HTMLParser):
    """Collects what matters for safety and for reading."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def drawings(page: str) -> list[str]:
    found = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", page)
    return [base64.b64decode(part).decode("utf-8") for part in found]


def page_of(story, folder, *, pngs=False) -> str:
    """The page; its pictures stand in it as SVG, and the PNGs beside it take half the time."""
    with pytest.MonkeyPatch.context() as patch:
        if not pngs:
            patch.setattr("recalltune.report.journey.write_picture", lambda picture, out: out)
        return write_journey(story, folder)[0].read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sheet(written):
    return (written / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    story = made_up.journey(made_up.filled(folder, cases=24, texts=HOSTILE))
    return page_of(story, folder / "out", pngs=True)


def assert_harmless(page: str) -> None:
    reader = read(page)
    assert not {"script", "iframe", "object", "embed", "svg", "link", "form"} & set(reader.tags)
    assert not [a for a in reader.attributes if a[1].startswith("on") or a[1] == "style"]
    for tag, name, value in reader.attributes:
        if name in ("src", "href", "action", "srcset", "poster", "background"):
            assert value is not None
            assert value.startswith(("data:image/svg+xml;base64,", "#s")), (tag, name, value[:40])
    for drawn in drawings(page):
        for node in ElementTree.fromstring(drawn).iter():
            assert node.tag.removeprefix(SVG) not in {"script", "foreignObject", "image", "a"}
            assert not [name for name in node.attrib if name.lower().startswith("on")]


def test_all_thirteen_sections_are_there_in_order(sheet):
    heads = re.findall(r"<h2>(\d+) ([^<]+)</h2>", sheet)
    assert [(int(number), title) for number, title in heads] == list(TITLES)


def test_the_page_loads_and_runs_nothing(sheet):
    assert_harmless(sheet)
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in sheet


def test_the_page_can_be_read_aloud(sheet):
    reader = read(sheet)
    assert ("html", "lang", "en") in reader.attributes
    levels = [int(tag[1]) for tag in reader.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    scopes = [value for tag, name, value in reader.attributes if tag == "th" and name == "scope"]
    assert len(scopes) == reader.tags.count("th") > 0
    assert set(scopes) == {"col", "row"}
    alts = [value for tag, name, value in reader.attributes if tag == "img" and name == "alt"]
    assert len(alts) == reader.tags.count("img")
    assert all(alt and len(alt) > 20 for alt in alts)


def test_each_chart_is_a_png_too_and_nobody_else_can_read_them(written, sheet):
    pngs = sorted(written.glob("*.png"))
    assert len(pngs) >= 7
    assert len(pngs) == len(drawings(sheet))
    for file in [*pngs, written / "report.html"]:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert all(file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" for file in pngs)


def test_the_same_results_give_the_same_bytes(story, sheet, tmp_path):
    assert page_of(story, tmp_path) == sheet


def test_hostile_texts_stay_texts(hostile):
    assert_harmless(hostile)
    assert len(hostile.encode()) < 4_000_000
    shown = "".join(read(hostile).text)
    assert "<script>alert(1)</script>" in shown
    assert "onerror=alert(3)" in shown
    assert "long" * 200 not in shown
    for sign in "\u202e\u202c\u200b\u2066\u2069\x07\ufeff":
        assert sign not in hostile
        assert not any(sign in drawn for drawn in drawings(hostile))
    assert "[U+202E]" in hostile
    assert "\u0301" * 1_000 not in hostile


def test_what_nobody_was_told_stands_nowhere(story, written, sheet):
    secret = made_up.SECRET
    assert story.candidates.notices["untold_spans"] == 1
    for text in (sheet, *drawings(sheet)):
        assert secret not in text
        assert "secret" not in text
    for file in written.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_the_same_item_told_does_appear(tmp_path):
    # The pair of the test above: without the gate its search would have found the text.
    lab = made_up.filled(tmp_path, cases=24, texts={"m000": f"{made_up.SECRET} valve number0"})
    page = page_of(made_up.journey(lab), tmp_path / "out")
    assert made_up.SECRET in "".join(read(page).text)
    assert any("plum" in drawn for drawn in drawings(page))


def test_an_expected_word_of_an_untold_item_is_not_printed(tmp_path):
    made = made_up.journey(made_up.filled(tmp_path, cases=24))
    run = made.default
    told = run.cases.with_columns(
        pl.lit(value=False).alias("passed"),
        pl.lit(f"no expected term shown: {made_up.SECRET}").alias("reason"),
    )
    story = replace(made, results={"lexical": replace(run, cases=told)}, sweep=None, choice=None)
    body = str(sections(story, []))
    assert "no expected term shown" in body
    assert made_up.SECRET not in body


def test_sections_without_data_say_why(story):
    bare = replace(story, sweep=None, choice=None, exported=(), commands=())
    body = str(sections(bare, []))
    assert re.findall(r"<h2>(\d+) ", body) == [str(number) for number, _ in TITLES]
    assert body.count("No sweep was run") >= 4
    assert "Nothing was exported in this run" in body
    for part in body.split("<section")[1:]:
        assert len(re.sub(r"<[^>]*>", "", part.split("</h2>", 1)[1]).strip()) > 20


def test_a_default_that_stays_is_said_to_stay(story):
    decision = replace(
        story.choice.decision, verdict="no_winner", chosen=story.choice.decision.default
    )
    kept = replace(
        story.choice, decision=decision, chosen=story.choice.default, changes={}, heldout=None
    )
    shown = "".join(read(sections(replace(story, choice=kept), [])).text)
    assert "Keep the default" in shown
    assert "Change the default" not in shown
    assert "best tried, not chosen" in shown


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without charts, where a test is about something else."""
    monkeypatch.setattr("recalltune.report.journey.pictures", lambda journey, drawn=(): iter(()))


def test_a_report_is_written_from_a_filled_lab(tmp_path, undrawn):
    lab = made_up.filled(tmp_path, cases=24)
    target = tmp_path / "sub" / "page.html"
    found = write_report(lab, "made_up", made_up.lexical(), target, presets=[])
    assert found == target
    assert "recalltune report --db FILE --cases made_up" in "".join(read(target.read_text()).text)


def test_held_out_cases_are_scored_for_the_default_and_the_choice_and_for_nothing_else(
    tmp_path, undrawn, monkeypatch
):
    """Whatever judges goes through `judge`: count the tables in which a held-out case stands."""
    lab = made_up.filled(tmp_path, cases=24)
    judged, right = [], importlib.import_module("recalltune.evaluate.judged").judge

    def counted(candidates):
        judged.append(candidates.queries["split"].to_list())
        return right(candidates)

    users = [module for module in list(sys.modules.values()) if vars(module).get("judge") is right]
    assert len(users) > 2
    for module in users:
        monkeypatch.setattr(module, "judge", counted)
    write_report(lab, "made_up", made_up.lexical(), tmp_path / "page.html", presets=[])
    assert [splits for splits in judged if "held_out" in splits] == [["held_out"] * 6] * 2
    assert len(judged) > 3


def test_a_page_that_grows_too_large_is_refused(story, tmp_path, monkeypatch, undrawn):
    monkeypatch.setattr("recalltune.report.journey.LARGEST_PAGE", 10_000)
    with pytest.raises(ContractError, match="more than 10,000"):
        write_journey(story, tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_elements_escape_what_they_are_given_and_refuse_what_they_must_not_write():
    assert el("p", "<b>", Html("<i></i>")) == "<p>&lt;b&gt;<i></i></p>"
    assert join(["<", None, 3]) == "&lt;3"
    assert 'scope="row"' in table(["a"], [["<x>"]])
    for bad in ({"onclick": "x"}, {"style": "x"}, {"href": "x"}, {"title": 'a"b'}):
        with pytest.raises(ContractError):
            el("p", "x", **bad)
    with pytest.raises(ContractError):
        el("script", "x")


def test_an_alt_text_cannot_leave_its_attribute():
    image = chart_image({"description": 'x" onload="alert(1)'}, "<svg/>")
    reader = read(image)
    assert [name for _, name, _ in reader.attributes] == ["alt", "src"]


def test_text_is_shown_with_its_odd_characters_named_and_its_length_bounded():
    assert escaped("a\ud800b\u202ec") == "a[U+D800]b[U+202E]c"
    assert escaped("a \n\t  b ") == "a b"
    assert plain("  a") == "  a"
    assert len(escaped("x" * 50_000)) < 260
    assert len(plain("e" + "\u0301" * 50_000)) < 1_100
    assert escaped("\"'<&") == "&quot;&#x27;&lt;&amp;"


@pytest.mark.browser
def test_a_browser_offline_asks_for_nothing_and_complains_about_nothing(written, chromium):
    from playwright.sync_api import sync_playwright

    asked, said = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(offline=True, viewport={"width": 520, "height": 900}).new_page()
        page.on("request", lambda r: asked.append(r.url) if r.url[:5] != "data:" else None)
        page.on("console", lambda message: said.append(message.text))
        page.goto((written / "report.html").as_uri())
        images = page.evaluate(
            "Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth)))"
        )
        wide = page.evaluate("document.documentElement.scrollWidth")
        browser.close()
    assert len(asked) == 1
    assert said == []
    assert images
    assert all(width > 100 for width in images)
    assert wide <= 520
