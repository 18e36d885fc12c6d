"""Section 11: what these cases cannot say."""

from __future__ import annotations

from collections.abc import Sequence

from recalltune.charts.findings import TOO_FEW
from recalltune.evaluate.wording import about
from recalltune.report.html import Html, el, long_text
from recalltune.report.story import Journey

__all__ = ["limits"]


def limits(journey: Journey, figures_: Sequence[Html]) -> Html:
    """Return the content of the section."""
    del figures_
    said = []
    choice = journey.choice
    if choice is None:
        said.append("No sweep was run: nothing here says whether another setting is better.")
    else:
        d = choice.decision
        said.append(
            f"{choice.tuned_on} cases were tuned on; figures that include them are in sample. "
            + (
                f"{choice.heldout_cases} held-out cases were scored for the choice and the default "
                "only, after the choice was made."
                if choice.heldout_cases
                else "No case was held out."
            )
        )
        needed = d.evidence.cases_needed
        if needed is not None:
            said.append(
                f"To see a difference of {d.target_gain:g} about {about(needed):,} cases are "
                f"needed; there are {d.n_cases:,} in {d.n_clusters:,} sessions."
            )
        if d.dropped:
            said.append(
                f"The metric is undefined for {len(d.dropped)} tuning cases; they take no part."
            )
    small = [
        f"{name} ({n})"
        for name, n in journey.candidates.queries.group_by("kind").len().sort("kind").iter_rows()
        if n < TOO_FEW
    ]
    if small:
        said.append(f"Kinds with fewer than {TOO_FEW} cases, about which nothing is claimed: "
                    f"{', '.join(small)}.")  # fmt: skip
    not_yet = journey.default.counts.get("labels_not_yet", 0)
    if not_yet:
        said.append(
            f"{not_yet} labels name a memory that was not known when asked; they judge nothing."
        )
    said.append(
        "Untold items take part in nothing and stand nowhere on this page: "
        f"{journey.candidates.notices.get('untold_spans', 0)} were left out."
    )
    if journey.candidates.notices.get("dense_arm_missing"):
        said.append("No embedding model could run: every figure is lexical only.")
    return el("ul", *(el("li", long_text(line)) for line in said))
