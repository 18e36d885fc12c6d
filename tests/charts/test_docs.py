"""The page notebook authors work from names every chart, column and option there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from recalltune import charts

FORMS = (
    "age_strata", "case_flips", "churn", "decay_curves", "exposure_share", "feedback_drift",
    "lockup_phase", "loss_stages",
    "pareto_quality_tokens", "preset_dots", "profile", "quota_account", "rank_flow",
    "score_waterfall", "sweep_heatmap", "sweep_line",
)  # fmt: skip


def sections(root: Path) -> dict[str, str]:
    page = (root / "docs" / "charts.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_sixteen_forms_have_an_entry_with_the_same_four_parts(root: Path) -> None:
    entries = sections(root)
    assert set(FORMS) <= set(entries)
    for form in FORMS:
        for part in ("At a glance", "Shows", "How to read it", "Actions to take"):
            assert f"**{part}**" in entries[form], (form, part)


def test_every_option_stands_in_the_entry_with_its_default(root: Path) -> None:
    entries = sections(root)
    for form in FORMS:
        shown = entries[form].split("`" + form + "(")[1].split(")`")[0].replace("\n", " ")
        for name, option in inspect.signature(getattr(charts, form)).parameters.items():
            if option.kind is not inspect.Parameter.KEYWORD_ONLY:
                continue
            needed = option.default is inspect.Parameter.empty
            said = name if needed else f"{name}={option.default!r}".replace("'", '"')
            assert re.search(rf"(^|[ (]){re.escape(said)}(,|$)", shown), (form, said)


def test_every_needed_column_stands_in_the_entry_of_its_form(
    root: Path, demos: dict[str, Any]
) -> None:
    entries = sections(root)
    for name, demo in demos.items():
        form = next(form for form in FORMS if name.startswith(form))
        assert [column for column in demo.needs if f"`{column}`" not in entries[form]] == []


def test_everything_public_is_on_the_page(root: Path) -> None:
    page = (root / "docs" / "charts.md").read_text(encoding="utf-8")
    assert [name for name in charts.__all__ if name not in page] == []
