"""What every committed notebook is: a short pair with one question, executed, fit to be read."""

from __future__ import annotations

import base64
import json
import re
import statistics
from pathlib import Path

import jupytext
import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = ROOT / "notebooks"
STEMS = sorted(path.stem for path in NOTEBOOKS.glob("*.py"))
MOST_CELLS = {"00_tour": 20}
DEFINITION = re.compile(r"^\s*(?:async )?def ", re.MULTILINE)
# Not prose: code spans, names of files and notebooks, dates.
NO_PROSE = re.compile(r"`[^`]*`|\b\d\d_[a-z_]+|\b\d{4}-\d\d-\d\d\b")
PLACES = re.compile(r"(?:/root|/home|/tmp|/work|/Users|/var|[A-Z]:\\)[/\\]?\w")


def test_the_notebooks_are_there():
    assert [stem[:2] for stem in STEMS] == ["00", "01", "02", "03", "04", "06", "08", "10"]


def source(stem: str) -> nbformat.NotebookNode:
    return jupytext.read(NOTEBOOKS / f"{stem}.py")


def executed(stem: str) -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOKS / f"{stem}.ipynb", as_version=4)


def code(stem: str) -> list[str]:
    return [cell.source for cell in source(stem).cells if cell.cell_type == "code"]


def prose(stem: str) -> list[str]:
    return [cell.source for cell in source(stem).cells if cell.cell_type == "markdown"]


def outputs(stem: str) -> list[tuple[str, str]]:
    """(mime type, text) of everything a reader or a program can find in the outputs."""
    found: list[tuple[str, str]] = []
    for cell in executed(stem).cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                found.append(("stream", output.text))
            for mime, data in output.get("data", {}).items():
                found.append((mime, data if isinstance(data, str) else json.dumps(data)))
    return found


def decoded(text: str) -> str:
    """A text with its base64 parts and escapes opened up."""
    parts = [text]
    for blob in re.findall(r"base64,([A-Za-z0-9+/=]+)", text):
        parts.append(base64.b64decode(blob).decode("utf-8", "replace"))
    return "\n".join(parts)


@pytest.fixture(scope="module")
def untold() -> set[str]:
    """Parts of the demo texts that nobody has been told, and that stand in no told one."""
    payload = json.loads((ROOT / "data/connector/agent_memory.json").read_text(encoding="utf-8"))
    texts: dict[bool, list[str]] = {True: [], False: []}
    for record in payload["records"]:
        told = record["sourceMetadata"].get("toldAt", "told") is not None
        texts[told].append(record["text"])
    assert len(texts[False]) >= 6
    said = "\n".join(texts[True])
    for folder in ("memory", "transcripts", "search_log"):
        for path in sorted((ROOT / "data" / folder).rglob("*")):
            said += path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = {
        text[start : start + 12]
        for text in texts[False]
        for start in range(0, max(len(text) - 12, 1), 12)
    }
    return {part for part in parts if part not in said}


@pytest.mark.parametrize("stem", STEMS)
class TestNotebook:
    def test_script_and_notebook_hold_the_same_cells(self, stem):
        ours = [(cell.cell_type, cell.source.strip()) for cell in source(stem).cells]
        theirs = [(cell.cell_type, cell.source.strip()) for cell in executed(stem).cells]
        assert ours == theirs

    def test_the_title_is_one_question(self, stem):
        first = prose(stem)[0].splitlines()[0]
        assert first.startswith("# ")
        assert first.endswith("?")
        headings = [line for text in prose(stem) for line in text.splitlines() if line[:2] == "# "]
        assert headings == [first]

    def test_it_is_short(self, stem):
        lines = [len(text.splitlines()) for text in code(stem)]
        assert len(source(stem).cells) <= MOST_CELLS.get(stem, 30)
        assert statistics.median(lines) <= 6
        assert max(lines) <= 25

    def test_it_defines_next_to_nothing(self, stem):
        for text in code(stem):
            assert not re.search(r"^class ", text, re.MULTILINE)
            for start in DEFINITION.finditer(text):
                body = text[start.start() :].strip("\n").split("\n\n")[0]
                assert len(body.splitlines()) <= 5

    def test_it_ends_with_decision_and_stamp(self, stem):
        assert "rt.report.decision(" in code(stem)[-2]
        assert code(stem)[-1].startswith("rt.widgets.stamp(")
        assert [cell.cell_type for cell in source(stem).cells[-2:]] == ["code", "code"]

    def test_one_cell_reads_whether_the_run_is_small(self, stem):
        reading = [text for text in code(stem) if "RECALLTUNE_SMALL" in text]
        assert len(reading) == 1
        assert "os.environ" not in "".join(text for text in code(stem) if text not in reading)

    def test_prose_names_no_number(self, stem):
        for text in prose(stem):
            assert not re.search(r"\d", NO_PROSE.sub("", text)), text

    def test_a_chart_is_followed_by_how_to_read_it(self, stem):
        cells = source(stem).cells
        charts = [at for at, cell in enumerate(cells) if "rt.charts." in cell.source
                  and cell.cell_type == "code" and "setup" not in cell.source]  # fmt: skip
        for at in charts:
            after = [cell for cell in cells[at + 1 :] if "rt.charts." not in cell.source]
            assert after[0].cell_type == "markdown"

    def test_it_was_executed_in_order_without_an_error(self, stem):
        cells = [cell for cell in executed(stem).cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        kinds = {output.output_type for cell in cells for output in cell.outputs}
        assert "error" not in kinds
        assert not [1 for cell in cells for output in cell.outputs
                    if output.output_type == "stream" and output.name == "stderr"]  # fmt: skip

    def test_it_was_a_full_run(self, stem):
        told = [text for mime, text in outputs(stem) if mime == "text/plain"][-1]
        assert re.search(r"^run\s+full$", told, re.MULTILINE)

    def test_charts_are_still_pictures_with_a_text(self, stem):
        drawn = [text for mime, text in outputs(stem) if mime == "image/svg+xml"]
        assert len(drawn) >= 1
        assert all('role="img"' in text and "aria-label=" in text for text in drawn)
        kinds = {mime for mime, _ in outputs(stem)}
        assert kinds <= {"stream", "text/plain", "text/html", "image/svg+xml"}

    def test_it_is_no_larger_than_a_reader_can_bear(self, stem):
        assert (NOTEBOOKS / f"{stem}.ipynb").stat().st_size <= 800_000

    def test_nothing_in_it_differs_from_run_to_run(self, stem):
        notebook = executed(stem)
        assert "widgets" not in notebook.metadata
        assert all("execution" not in cell.metadata for cell in notebook.cells)
        for _, text in outputs(stem):
            assert not re.search(r"\b\d+(\.\d+)? ?(ms|seconds|settings/s)\b| at 0x[0-9a-f]+", text)

    def test_outputs_name_no_place_on_a_machine(self, stem):
        for _, text in outputs(stem):
            assert not PLACES.search(decoded(text))

    def test_outputs_hold_no_text_that_was_not_told(self, stem, untold):
        shown = "\n".join(decoded(text) for _, text in outputs(stem))
        assert len(untold) >= 20
        assert not [part for part in untold if part in shown]
