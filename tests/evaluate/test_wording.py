"""The sentences: exactly these words, with the numbers filled in."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from recalltune.errors import ContractError
from recalltune.evaluate.decide import Decision, decide
from recalltune.evaluate.wording import sentence

VALUE = r"-?[0-9]*\.[0-9]{3}"
GAIN = r"[+-][0-9]*\.[0-9]{3}"
P = r"(?:\.[0-9]{2,5}|1\.00)"


def matrix(gain: float, cases: int = 200, settings: int = 30) -> np.ndarray:
    rng = np.random.default_rng(0)
    base = rng.random(cases)
    values = np.where(rng.random((settings, cases)) < 0.3, rng.random((settings, cases)), base)
    values += base.mean() - values.mean(axis=1, keepdims=True)
    values[0] = base
    values[3] = base + gain * (rng.random(cases) < 0.5)
    return values


def told(values: np.ndarray, clusters: list[str], **more: object) -> tuple[str, Decision]:
    decision = decide(values, 0, clusters, rng=np.random.default_rng(1), **more)  # type: ignore[arg-type]
    names = ["today", *(f"setting {g}" for g in range(1, len(values)))]
    return sentence(decision, names, "nDCG@10"), decision


def each_own(cases: int) -> list[str]:
    return [f"c{n:03d}" for n in range(cases)]


def grouped(cases: int, groups: int) -> list[str]:
    return [f"g{n % groups:02d}" for n in range(cases)]


def test_a_winner_is_announced_with_bound_expectation_and_ties() -> None:
    text, decision = told(matrix(0.3), grouped(200, 50))
    pattern = (
        rf"setting 3 replaces today: nDCG@10 {VALUE} against {VALUE}, {GAIN}; at least {GAIN} "
        rf"after allowing for all 29 settings looked at \(95 %, 50 sessions\)\. Expected on new "
        rf"cases: {GAIN}\. {len(decision.ties)} settings cannot be told apart from the best; this "
        r"one is the nearest to the default within one standard error\."
    )
    assert re.match(pattern, text), text


def test_no_winner_says_what_could_have_been_shown() -> None:
    text, _ = told(matrix(0.0), grouped(200, 50))
    pattern = (
        rf"No setting is shown to be better than today after allowing for 29 settings \(best: "
        rf"{GAIN}, adjusted p {P}\)\. This data could have shown a gain of {VALUE} or more; to see "
        r"\+\.01 takes about [0-9,]+ cases\. The default stays\."
    )
    assert re.fullmatch(pattern, text), text


def test_few_conversations_limit_the_claim_to_their_like() -> None:
    text, _ = told(matrix(0.5), grouped(200, 12), unit="conversation")
    assert "Only 12 conversations: the claim covers conversations like these." in text
    assert "Only 12 conversations differ; the interval is a widened one." in text


def test_too_few_sessions_say_so_first() -> None:
    text, _ = told(matrix(0.5), grouped(200, 3))
    assert text.startswith("Only 3 sessions: no winner can be declared across sessions")
    assert "The default stays." in text


def test_few_differing_cases_say_that_the_interval_is_widened() -> None:
    values = np.full((2, 100), 0.5)
    values[1, :6] = 0.9
    text, _ = told(values, each_own(100))
    assert "Only 6 cases differ; the interval is a widened one." in text


def test_a_winner_found_with_low_power_is_said_to_be_overstated() -> None:
    # noisier settings look as good, so folds rarely choose the steady one and gain little
    text, decision = told(matrix(0.04), grouped(200, 50))
    assert decision.verdict == "winner"
    assert decision.evidence.power < 0.5
    assert text.count("Found with power .00: the size is probably overstated.") == 1


def test_a_winner_that_hardly_ever_loses_names_what_could_be_unseen() -> None:
    text, decision = told(matrix(0.3), grouped(200, 50))
    assert decision.evidence.losses == 0
    assert "Only 0 sessions lose: a kind of loss in up to 6.0 % of sessions" in text
    assert "overstated" not in text


@pytest.mark.parametrize(
    ("p", "shown"), [(1.0, "1.00"), (0.9995, ".99"), (0.384, ".38"), (0.0005, ".0005")]
)
def test_p_keeps_the_digits_that_matter(p: float, shown: str) -> None:
    _, decision = told(matrix(0.0), grouped(200, 50))
    names = ["today", *(f"setting {g}" for g in range(1, 30))]
    text = sentence(dataclasses.replace(decision, p=p), names, "nDCG@10")
    assert f"adjusted p {shown})" in text


def test_identical_settings_are_said_to_give_the_same() -> None:
    text, _ = told(np.full((4, 60), 0.5), each_own(60))
    assert "All of them give the same nDCG@10 on these cases. The default stays." in text


def test_a_metric_where_lower_is_better_falls() -> None:
    text, _ = told(1 - matrix(0.3), grouped(200, 50), direction="lower")
    assert re.search(rf"nDCG@10 {VALUE} against {VALUE}, -{VALUE}; at least -{VALUE} after", text)


def test_names_must_be_one_per_setting() -> None:
    _, decision = told(matrix(0.0), grouped(200, 50))
    with pytest.raises(ContractError, match="names must be one per setting, 30, got 1"):
        sentence(decision, ["today"], "nDCG@10")
