"""The step slider in a real JupyterLab and a real browser, with everything outside blocked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from browser.jupyter_page import Page, chromium_page, jupyter
from walked import CONFIG, HOSTILE, SECRET, make_walk_lab

# One server and one browser: all of it in one worker, in the order written.
pytestmark = [pytest.mark.browser, pytest.mark.stress]

STEPS = 4
CELLS = (
    "import recalltune as rt\n"
    "from recalltune.replay.step_views import followed\n"
    "rt.charts.setup('interactive')",
    "lab, config = rt.open('lab.duckdb'), rt.load_config('config.toml')\n"
    "walk = followed(rt.replay(lab, config, scope='team'), rt.replay(lab, config, cases='s'))",
    "rt.widgets.step_slider(walk)",
)


def build(folder: Path) -> None:
    make_walk_lab(folder / "lab.duckdb")
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "replay.ipynb")


@pytest.fixture(scope="module")
def opened(chromium, tmp_path_factory) -> Iterator[Page]:
    """The notebook, executed, with its slider on the page."""
    folder = tmp_path_factory.mktemp("lab")
    build(folder)
    with (
        jupyter(folder, tmp_path_factory.mktemp("home")) as server,
        chromium_page(chromium) as seen,
    ):
        seen.page.goto(f"{server.url}/lab/tree/replay.ipynb?reset&token={server.token}")
        seen.page.wait_for_function(
            "window.jupyterapp && window.jupyterapp.shell.currentWidget?.sessionContext"
            "?.session?.kernel?.status === 'idle'"
        )
        seen.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        seen.page.locator(".noUi-handle").first.wait_for()
        seen.page.locator(".vega-embed svg").first.wait_for()
        yield seen


def shows(seen: Page, step: int) -> None:
    """Wait until the page shows a step."""
    seen.page.wait_for_function(
        "text => document.body.innerText.includes(text)", arg=f"step {step} of {STEPS}"
    )


def press(seen: Page, key: str, times: int = 1) -> None:
    handle = seen.page.locator(".noUi-handle").first
    handle.focus()
    for _ in range(times):
        handle.press(key)


def cursor(seen: Page) -> float:
    """Left edge of the cursor: the one bar as high as the whole plot."""
    heights = seen.page.evaluate(
        "[...document.querySelectorAll('.vega-embed svg .mark-rect path')]"
        ".map(node => node.getBoundingClientRect()).map(box => [box.height, box.left])"
    )
    return float(max(heights)[1])


def memories(seen: Page) -> str:
    """The list: the table with a column of ranks."""
    table = seen.page.locator("table", has=seen.page.locator("th", has_text="rank"))
    return str(table.first.inner_text())


def test_the_first_step_is_there_at_once(opened):
    shows(opened, 1)
    assert "walked" in opened.page.locator("body").inner_text()
    assert "target, dropped" in memories(opened)


def test_a_moved_slider_moves_turn_list_and_cursor(opened):
    before, stood = memories(opened), cursor(opened)
    children = opened.page.locator(".jp-OutputArea-child").count()
    press(opened, "ArrowRight")
    shows(opened, 2)
    opened.page.wait_for_function(
        "before => ![...document.querySelectorAll('table')].some(t => t.innerText === before)",
        arg=before,
    )
    assert "superseded" in memories(opened)
    opened.page.wait_for_function(
        "left => Math.max(...[...document.querySelectorAll('.vega-embed svg .mark-rect path')]"
        ".map(node => node.getBoundingClientRect()).filter((b, _, all) => b.height === "
        "Math.max(...all.map(a => a.height))).map(b => b.left)) > left + 1",
        arg=stood,
    )
    assert opened.page.locator(".jp-OutputArea-child").count() == children


def test_text_of_the_data_is_shown_and_not_run(opened):
    press(opened, "Home")
    shows(opened, 1)
    press(opened, "ArrowRight")
    shows(opened, 2)
    assert opened.page.evaluate(
        "text => document.body.innerText.includes(text)", HOSTILE.partition(">")[0] + ">"
    )
    assert opened.page.evaluate("typeof window.broken") == "undefined"
    assert opened.page.locator(".jp-OutputArea-output img").count() == 0


def test_what_nobody_was_told_is_nowhere(opened):
    press(opened, "Home")
    shows(opened, 1)
    everything = ""
    for step in range(1, STEPS + 1):
        shows(opened, step)
        everything += str(opened.page.locator(".jp-OutputArea").last.inner_text())
        press(opened, "ArrowRight")
    assert SECRET not in everything
    assert "surprise" not in everything


def test_play_walks_to_the_last_step(opened):
    press(opened, "Home")
    shows(opened, 1)
    opened.page.locator(".jupyter-widgets.widget-play button").first.click()
    shows(opened, 2)
    shows(opened, STEPS)
    assert "Nothing is shown" in opened.page.locator("body").inner_text()


def test_nothing_outside_was_asked_for(opened):
    assert opened.outside == []
    assert opened.errors == []
