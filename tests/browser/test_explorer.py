"""The explorer in a real JupyterLab and a real browser, with everything outside blocked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import recalltune as rt
from browser.jupyter_page import Page, chromium_page, jupyter
from recalltune.charts.figures import metric
from small_lab import Ask, Note, make_lab

# One server and one browser: all of it in one worker, in the order written.
pytestmark = [pytest.mark.browser, pytest.mark.slow]

CONFIG = """
name = "lexical"
[arms.lexical]
[[stages]]
kind = "rrf"
[[stages]]
kind = "decay"
family = "exponential"
half_life_days = 30.0
[[stages]]
kind = "select"
top_k = 5
"""
HOSTILE = "<script>window.broken = 1</script><img src=x onerror='window.broken = 1'>"
CELLS = (
    "import recalltune as rt\nrt.charts.setup('interactive')",
    "lab = rt.open('lab.duckdb')\nconfig = rt.load_config('config.toml')\n"
    "cases = rt.candidates(lab, 's', config)",
    "explorer = rt.widgets.explorer(cases, config, ['decay.half_life_days', 'select.top_k'])\n"
    "explorer",
)


def build(folder: Path) -> None:
    """A lab in which a slower decay lets older notes win, with one hostile question."""
    topics = [f"topic{number} 备份" for number in range(24)]
    notes, asks = [], []
    for n, topic in enumerate(topics):
        notes.append(Note(f"old-{n:02}", f"{topic} {topic} kettle answer", 10.0 + n))
        notes.append(Note(f"new-{n:02}", f"{topic} kettle noise", 60.0 + n))
        text = f"{topic} kettle {HOSTILE if n == 0 else ''}"
        split = "held_out" if n % 6 == 5 else "tune"
        asks.append(Ask(f"q-{n:02}", text, 100.0, (f"old-{n:02}",), session=f"s{n}", split=split))
    make_lab(folder / "lab.duckdb", notes, asks)
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "explorer.ipynb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("lab")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def opened(folder, chromium, tmp_path_factory) -> Iterator[Page]:
    """The notebook, executed, with its explorer on the page."""
    with (
        jupyter(folder, tmp_path_factory.mktemp("home")) as server,
        chromium_page(chromium) as seen,
    ):
        seen.page.goto(f"{server.url}/lab/tree/explorer.ipynb?reset&token={server.token}")
        seen.page.wait_for_function(
            "window.jupyterapp && window.jupyterapp.shell.currentWidget?.sessionContext"
            "?.session?.kernel?.status === 'idle'"
        )
        run_all(seen)
        yield seen


def run_all(seen: Page) -> None:
    seen.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    seen.page.locator(".noUi-handle").first.wait_for()
    seen.page.locator(".vega-embed svg").first.wait_for()


def strip(seen: Page) -> dict[str, list[str]]:
    rows = seen.page.locator("table").first.locator("tr").all()
    cells = [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]
    return {line[0]: line[1:] for line in cells}


def titles(seen: Page) -> str:
    return " ".join(seen.page.locator(".vega-embed svg text").all_text_contents())


def press(seen: Page, slider: int, key: str, times: int = 1) -> None:
    """Move a slider by keyboard and wait until the strip counts the new setting."""
    before = seen.page.locator("table").first.inner_html()
    handle = seen.page.locator(".noUi-handle").nth(slider)
    handle.focus()
    for _ in range(times):
        handle.press(key)
    seen.page.wait_for_function(
        "before => document.querySelector('table').innerHTML !== before", arg=before
    )


def expected(folder: Path, **changes: float) -> dict[str, float]:
    lab, base = rt.open(folder / "lab.duckdb"), rt.load_config(folder / "config.toml")
    config = rt.set_many(base, {name.replace("__", "."): v for name, v in changes.items()})
    run = rt.evaluate(rt.candidates(lab, "s", base), config, split="tune")
    return {"nDCG@10": run.value("ndcg@10"), "Hit@10": run.value("recall_any@10")}


def test_a_key_press_moves_strip_and_chart_to_what_evaluate_says(opened, folder):
    at_start = strip(opened)
    drawn = titles(opened)
    assert at_start["nDCG@10"][0] == metric(expected(folder)["nDCG@10"])
    children = opened.page.locator(".jp-OutputArea-child").count()

    press(opened, 0, "ArrowRight", 6)  # 30, 60, 90, 120, 180, 365, off

    wanted = expected(folder, decay__family="none")
    opened.page.wait_for_function(
        "value => document.querySelector('table').innerText.includes(value)",
        arg=metric(wanted["nDCG@10"]),
    )
    moved = strip(opened)
    for name, value in wanted.items():
        assert moved[name][1] == metric(value), name
    assert moved["nDCG@10"][0] == at_start["nDCG@10"][0]
    assert moved["nDCG@10"][1] != moved["nDCG@10"][0]
    opened.page.wait_for_function(
        "before => [...document.querySelectorAll('.vega-embed svg text')]"
        ".map(node => node.textContent).join(' ') !== before",
        arg=drawn,
    )
    assert opened.page.locator(".jp-OutputArea-child").count() == children


def test_a_value_out_of_range_shows_the_message_and_changes_nothing_else(opened):
    before = strip(opened)
    field = opened.page.locator(".widget-text input").first
    field.fill("-3")
    field.press("Enter")
    opened.page.locator("[role=alert]").wait_for()
    assert "half_life_days" in opened.page.locator("[role=alert]").inner_text()
    assert strip(opened) == before


def test_text_of_the_data_is_shown_and_not_run(opened):
    shown = "document.body.innerText.includes('<script>')"
    if not opened.page.evaluate(shown):
        press(opened, 0, "ArrowRight", 6)  # changed cases are listed once something has moved
    opened.page.wait_for_function(shown)
    assert opened.page.evaluate("typeof window.broken") == "undefined"


def test_held_out_cases_never_appear(opened):
    # 24 cases, every sixth held out.
    assert "20 tuning cases" in opened.page.locator("body").inner_text()


def test_a_cell_run_again_does_not_answer_twice(opened):
    opened.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    opened.page.wait_for_function(
        "document.querySelector('.jp-OutputArea-output table')?.innerText.length > 0 && "
        "document.body.innerText.includes('0 settings looked at')"
    )
    press(opened, 1, "ArrowLeft")
    opened.page.wait_for_function("document.body.innerText.includes('1 setting looked at')")


def test_nothing_outside_was_asked_for(opened):
    assert opened.outside == []
    assert opened.errors == []
