"""The strict verdict, part by part, and the scores of RecallNest's own harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalltune.evaluate.canary import canary_score, retrieval_score
from recalltune.evaluate.labels import CaseLabels
from recalltune.evaluate.verdict import CaseVerdict, strict_parts, strict_verdict, terms_found

NAN = np.nan


def judge(
    ranks: dict[str, float],
    *,
    targets: tuple[str, ...] = (),
    negatives: tuple[str, ...] = (),
    order: tuple[str, ...] = (),
    kind: str | None = None,
    top_k: int = 8,
    texts: tuple[str, ...] = ("some text",),
    **expectations: Any,
) -> CaseVerdict:
    return strict_verdict(
        kind=kind,
        expectations=expectations,
        top_k=top_k,
        ranks=ranks,
        gains=[float(m in targets) for m in ranks],
        hard_negative=[m in negatives for m in ranks],
        order=[order.index(m) if m in order else -1 for m in ranks],
        shown_texts=texts,
    )


def test_every_target_must_stand_within_the_first_places() -> None:
    assert judge({"a": 1, "b": 3}, targets=("a", "b")).passed is True
    verdict = judge({"a": 1, "b": 4, "c": NAN}, targets=("a", "b", "c"))
    assert verdict.passed is False
    assert verdict.reasons == (
        "target b at 4, expected within 3",
        "target c not shown, expected within 3",
    )


def test_the_number_of_places_is_the_case_s_own() -> None:
    assert judge({"a": 4}, targets=("a",), expectTopK=4).passed is True
    assert judge({"a": 2}, targets=("a",), expectTopK=1).passed is False


def test_multi_evidence_may_use_the_whole_list_but_not_for_hard_negatives() -> None:
    assert judge({"a": 8}, targets=("a",), kind="multi_evidence").passed is True
    assert judge({"a": 9}, targets=("a",), kind="multi_evidence").passed is False
    near = judge({"a": 8, "n": 3}, targets=("a",), negatives=("n",), kind="multi_evidence")
    far = judge({"a": 8, "n": 4}, targets=("a",), negatives=("n",), kind="multi_evidence")
    assert (near.passed, far.passed) == (False, True)


def test_a_hard_negative_in_the_first_places_fails_the_case() -> None:
    verdict = judge({"a": 1, "n": 3}, targets=("a",), negatives=("n",))
    assert (verdict.passed, verdict.reason) == (False, "hard negative n at 3")


@pytest.mark.parametrize(
    ("first", "then", "holds"),
    [(1, 2, True), (2, 1, False), (NAN, 1, False), (1, NAN, True), (NAN, NAN, False)],
)
def test_the_earlier_memory_must_be_found_and_stand_above(
    first: float, then: float, holds: bool
) -> None:
    assert judge({"a": first, "b": then}, order=("a", "b")).passed is holds


def test_one_expected_term_suffices_and_no_forbidden_one_may_occur() -> None:
    texts = ("Likes GREEN tea", "lives in Oslo")
    said = {"expectContentAny": ["coffee", "green"], "forbid": ["Bergen"]}
    assert judge({}, texts=texts, **said).passed is True
    # Which one is not said: it may be the word of a memory that nobody was told.
    assert judge({}, texts=texts, expectContentAny=["coffee"]).reason == "no expected term shown"
    assert judge({}, texts=texts, forbid=["oslo"]).reason == "forbidden term shown: oslo"


def test_nothing_to_find_passes_only_with_an_empty_list() -> None:
    assert judge({}, kind="nothing_to_find", texts=()).passed is True
    assert judge({}, kind="nothing_to_find").reason == "1 shown, none expected"


def test_one_of_several_alternatives_is_enough() -> None:
    ranks = {"a": NAN, "b": 2.0, "c": 1.0}
    said = {"alternatives": [["a", "b"]]}
    assert judge(ranks, targets=("a", "b", "c"), **said).passed is True
    assert judge(ranks, targets=("a", "b", "c")).passed is False
    assert judge({**ranks, "c": NAN}, targets=("a", "b", "c"), **said).reasons == (
        "target c not shown, expected within 3",
    )


def test_a_case_that_expects_nothing_is_neither_passed_nor_failed() -> None:
    assert judge({}).passed is None


def test_a_whole_grid_is_judged_as_each_case_alone() -> None:
    rng = np.random.default_rng(8)
    case = np.sort(rng.integers(0, 30, 120))
    ranks = np.where(rng.random((5, 120)) < 0.3, NAN, rng.integers(1, 9, (5, 120)))
    gains = rng.integers(0, 2, 120).astype(float)
    negative = (rng.random(120) < 0.3) & (gains == 0)
    order = np.where(rng.random(120) < 0.4, rng.permutation(120), -1)
    labels = CaseLabels.build(case, n_cases=30, gains=gains, hard_negative=negative, order=order)
    top = rng.integers(1, 6, 30)
    parts = strict_parts(
        ranks, labels, target_depth=top, top_depth=top, shown=np.ones((5, 30))
    ).passed
    for setting in range(5):
        for i in range(30):
            rows = np.flatnonzero(case == i)
            if not len(rows):
                continue
            alone = strict_verdict(
                kind=None,
                expectations={"expectTopK": int(top[i])},
                top_k=8,
                ranks={f"m{r}": float(ranks[setting, r]) for r in rows},
                gains=gains[rows],
                hard_negative=negative[rows],
                order=order[rows],
                shown_texts=["x"],
            )
            assert alone.passed == parts[setting, i]


def test_terms_are_found_whatever_their_case() -> None:
    assert terms_found(["STRASSE", "x"], ["die Straße"]) == [True, False]


def test_canary_penalties_and_passes_by_hand() -> None:
    # any target suffices; a hard negative at the last place still costs .3 and the pass
    ids, texts = ["a1", "b1", "c1"], ["s\none", "s\ntwo", "s\nthree"]
    score = canary_score(ids, texts, targets=["zz", "a"], hard_negatives=["c"])
    assert (score.score, score.passed, score.target_ranks) == (0.7, False, (1,))
    within = canary_score(ids, texts, targets=["a"], hard_negatives=["c"], limit=2)
    assert (within.score, within.passed) == (1.0, True)


@pytest.mark.shared
def test_canary_scores_agree_with_production(shared: Path) -> None:
    group = json.loads((shared / "golden/recallnest.json").read_text())["groups"]["eval_canary"]
    names = {
        "targets": "targets",
        "hardNegatives": "hard_negatives",
        "expectOrder": "expect_order",
        "expectContentAny": "expect_content_any",
        "forbid": "forbid",
        "expectTopK": "expect_top_k",
    }
    assert len(group["cases"]) == 15
    for entry in group["cases"]:
        ids, case, out = entry["in"]["resultIds"], entry["in"]["case"], entry["out"]
        texts = [
            f"{scope}\n{text}"
            for scope, text in zip(group["resultScopes"], group["resultTexts"], strict=True)
        ][: len(ids)]
        got = canary_score(ids, texts, **{names[key]: value for key, value in case.items()})
        assert got.score == pytest.approx(out["score"], abs=1e-12)
        assert list(got.target_ranks) == out["ranks"]
        assert [got.passed, got.top1, got.top3] == [out["passed"], out["top1"], out["top3"]]
        assert got.order_ok == out["orderOk"]
        assert got.forbidden_ids == out["forbiddenIds"]


@pytest.mark.shared
def test_retrieval_scores_agree_with_production(shared: Path) -> None:
    groups = json.loads((shared / "golden/recallnest.json").read_text())["groups"]
    results = groups["eval_canary"]
    names = {
        "expectAny": "expect_any",
        "expectAll": "expect_all",
        "expectScopePrefixes": "expect_scope_prefixes",
        "forbid": "forbid",
    }
    assert len(groups["eval_retrieval"]["cases"]) == 7
    for entry in groups["eval_retrieval"]["cases"]:
        n, case = entry["in"]["nResults"], entry["in"]["case"]
        got = retrieval_score(
            results["resultTexts"][:n],
            results["resultScopes"][:n],
            **{names[key]: value for key, value in case.items()},
        )
        assert got.score == pytest.approx(entry["out"]["score"], abs=1e-12)
        assert got.passed == bool(entry["out"]["passed"])
