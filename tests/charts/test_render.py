"""Pictures offline, patches without a rebuild, and the two ways a notebook shows charts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from recalltune import charts
from recalltune.charts import look, setup
from recalltune.errors import ParameterError

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n"


def shape(node: Any) -> Any:
    """A specification without its data, titles and notes."""
    if isinstance(node, dict):
        left_out = ("datasets", "title", "description", "usermeta")
        return {name: shape(part) for name, part in node.items() if name not in left_out}
    return [shape(part) for part in node] if isinstance(node, list) else node


def test_a_png_is_written_at_the_scale_asked_for(demos: dict[str, Any], tmp_path: Path) -> None:
    chart = demos["loss_stages"].draw(demos["loss_stages"].frame)
    one = charts.save_png(chart, tmp_path / "new" / "one.png", scale=1).read_bytes()
    two = charts.save_png(chart, tmp_path / "two.png", scale=2).read_bytes()
    assert one.startswith(PNG)
    # Width is bytes 16 to 20 of the header.
    widths = [int.from_bytes(png[16:20], "big") for png in (one, two)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)
    with pytest.raises(ParameterError, match=r"scale must lie in \(0, 4\], got 9"):
        charts.save_png(chart, tmp_path / "x.png", scale=9)


@pytest.mark.parametrize("name", ["case_flips", "decay_curves", "quota_account"])
def test_a_patched_chart_equals_one_built_anew(demos: dict[str, Any], name: str) -> None:
    demo = demos[name]
    changed = {
        "case_flips": pl.col("rank_b").fill_null(9).alias("rank_b"),
        "quota_account": (pl.col("dropped") + 3).alias("dropped"),
        "decay_curves": (pl.col("weight") / 2).alias("weight"),
    }[name]
    fresh = demo.frame.with_columns(changed)
    fixed: dict[str, Any] = {
        "case_flips": {"fixed_rows": True}, "decay_curves": {"enlarge": False},
    }.get(name, {})  # fmt: skip
    make = getattr(charts, f"{name}_drawing")
    options = {"half_life_days": 60.0} if name == "decay_curves" else {}
    before = charts.compiled(demo.draw(demo.frame, **fixed))
    after = charts.compiled(demo.draw(fresh, **fixed))
    patched = charts.patch(before, make(fresh, **options))
    assert patched == after
    assert shape(patched) == shape(before)
    assert patched["datasets"] != before["datasets"]


def test_a_patch_leaves_the_compiled_chart_as_it_was(demos: dict[str, Any]) -> None:
    demo = demos["case_flips"]
    before = charts.compiled(demo.draw(demo.frame, fixed_rows=True))
    kept = json.dumps(before)
    patched = charts.patch(before, {"cases": []}, "Nothing moved")
    assert json.dumps(before) == kept
    assert patched["title"]["text"] == ["Nothing moved"]
    assert patched["title"]["subtitle"] == before["title"]["subtitle"]
    assert "<svg" in charts.svg(patched)


def test_a_patch_of_an_unknown_data_set_is_refused_with_the_nearest(demos: dict[str, Any]) -> None:
    spec = charts.compiled(demos["case_flips"].draw(demos["case_flips"].frame))
    with pytest.raises(ParameterError, match=r"data set 'case' .*nearest: 'cases'"):
        charts.patch(spec, {"case": []})
    with pytest.raises(ParameterError, match="must hold no digit"):
        charts.patch(spec, {}, "7 better")


def test_a_picture_refuses_data_from_outside(demos: dict[str, Any]) -> None:
    spec = charts.compiled(demos["loss_stages"].draw(demos["loss_stages"].frame))
    spec["layer"][0]["data"] = {"url": "http://203.0.113.1/rows.json"}
    with pytest.raises(ValueError, match=r"(?i)url|external|allow"):
        charts.svg(spec)


@pytest.mark.stress
@pytest.mark.slow
def test_months_do_not_move_with_the_zone_of_the_reader(tmp_path: Path) -> None:
    script = (
        "import polars as pl, datetime as d\n"
        "from recalltune import charts\n"
        "f = pl.DataFrame({'layer': ['log'] * 3, 'n': [1, 2, 3], 'status': ['current'] * 3,\n"
        "                  'month': [d.date(2025, m, 1) for m in (1, 2, 3)]})\n"
        "print(charts.svg(charts.profile(f, form='over_time')))\n"
    )
    toolkit = Path(charts.__file__).parent.parent.parent
    pictures = set()
    for zone in ("UTC", "Asia/Shanghai", "America/Los_Angeles"):
        env = {**os.environ, "TZ": zone, "PYTHONPATH": str(toolkit)}
        run = subprocess.run([sys.executable, "-c", script], env=env, check=True,
                             capture_output=True, text=True, cwd=tmp_path)  # fmt: skip
        pictures.add(run.stdout)
    assert len(pictures) == 1


@pytest.fixture
def _altair_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("RECALLTUNE_CHARTS", "JPY_SESSION_NAME"):
        monkeypatch.delenv(name, raising=False)
    renderer, theme, colours = alt.renderers.active, alt.theme.active, look.current().name
    yield
    alt.renderers.enable(renderer)
    alt.theme.enable(theme)
    look.activate(colours)


@pytest.mark.usefixtures("_altair_as_before")
def test_static_setup_shows_svg_with_alt_text(demos: dict[str, Any]) -> None:
    assert charts.setup("static") == "static"
    chart = demos["loss_stages"].draw(demos["loss_stages"].frame)
    bundle = chart._repr_mimebundle_(None, None)
    assert set(bundle) == {"image/svg+xml", "text/plain"}
    assert 'role="img"' in bundle["image/svg+xml"]
    assert bundle["text/plain"].startswith("17 of 171 targets are lost at arms")


@pytest.mark.usefixtures("_altair_as_before")
@pytest.mark.parametrize(
    ("session", "switch", "mode"),
    [
        (None, None, "static"),
        ("tour.ipynb", None, "interactive"),
        ("tour.ipynb", "static", "static"),
    ],
)
def test_auto_is_interactive_in_a_lab_session_only(
    monkeypatch: pytest.MonkeyPatch, session: str | None, switch: str | None, mode: str
) -> None:
    switches = []
    monkeypatch.setattr(alt.JupyterChart, "enable_offline", lambda: switches.append("offline"))
    if session:
        monkeypatch.setenv("JPY_SESSION_NAME", session)
    if switch:
        monkeypatch.setenv("RECALLTUNE_CHARTS", switch)
    assert charts.setup() == mode
    # Both switches, or a chart put into JupyterChart by hand asks a CDN.
    assert switches == (["offline"] if mode == "interactive" else [])
    assert alt.renderers.active == ("jupyter" if mode == "interactive" else "recalltune")
    if mode == "interactive":
        assert alt.renderers.options["offline"] is True


@pytest.mark.usefixtures("_altair_as_before")
def test_an_unknown_mode_or_theme_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"mode must be one of .*nearest: 'static'"):
        charts.setup("statik")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="theme must be one of light, dark, got 'blue'"):
        charts.setup("static", "blue")  # type: ignore[arg-type]


@pytest.mark.usefixtures("_altair_as_before")
def test_a_missing_chinese_font_is_warned_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["recalltune.charts.setup"]
    monkeypatch.setattr(module, "_warned", False)
    monkeypatch.setattr(module, "cjk_font_found", lambda: False)
    with pytest.warns(UserWarning, match="no CJK sans font found"):
        setup("static")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        setup("static")


def test_a_font_is_found_by_its_file_name(tmp_path: Path) -> None:
    from recalltune.charts.setup import cjk_font_found

    assert not cjk_font_found([str(tmp_path)])
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "NotoSansCJK-Regular.ttc").touch()
    assert cjk_font_found([str(tmp_path)])


def test_the_theme_is_restored_after_a_with_block() -> None:
    with charts.using("dark"):
        assert look.current().name == "dark"
    assert look.current().name == "light"
