from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from recalltune.encode import (
    Lengths,
    cache,
    check_same_space,
    coverage,
    identity,
    unit_rows,
    vectors_for,
)
from recalltune.errors import ContractError
from recalltune.store import LockedError

pytestmark = pytest.mark.slow


@dataclass
class Toy:
    """An encoder that spreads characters over ``dim`` places and remembers what it was asked."""

    model: str = "m1"
    revision: str = "r1"
    prompts: dict = field(default_factory=lambda: {"query": "", "passage": ""})
    dim: int = 16
    normalisation: str = "unit"
    limit: int | None = None
    asked: list = field(default_factory=list)

    @property
    def encoder_id(self):
        same = len(set(self.prompts.values())) == 1
        return self._identity(self.prompts["query"] if same else self.prompts)

    def id_of(self, kind):
        return self._identity(self.prompts[kind])

    def _identity(self, prompt):
        told = {"dim": self.dim, "normalisation": self.normalisation}
        return identity(self.model, self.revision, prompt=prompt, **told)

    def encode(self, texts, kind):
        self.asked += texts
        rows = np.zeros((len(texts), self.dim))
        for row, text in zip(rows, texts, strict=True):
            for character in (self.prompts[kind] + text)[: self.limit]:
                row[ord(character) % self.dim] += 1.0
        return unit_rows(rows, texts, dim=self.dim, encoder_id=self.encoder_id)

    def lengths(self, texts, kind):
        if self.limit is None:
            return None
        whole = np.array([len(self.prompts[kind] + text) for text in texts], dtype=np.int64)
        return Lengths(whole=whole, kept=np.minimum(whole, self.limit))


def test_texts_come_back_in_their_order_and_repeats_are_encoded_once(lab):
    toy = Toy()
    found = vectors_for(lab, toy, ["fox", "owl", "fox"], "passage")
    assert toy.asked == ["fox", "owl"]
    assert (found.new, found.cached) == (2, 0)
    np.testing.assert_array_equal(found.vectors, toy.encode(["fox", "owl", "fox"], "passage"))


def test_five_ways_to_embed_one_text_are_computed_five_times_and_never_again(lab):
    """D31. Kind: cache keyed by text only."""
    prefixed = {"query": "query: ", "passage": ""}
    ways = [
        (Toy(), "query"),
        (Toy(model="m2"), "query"),
        (Toy(prompts=prefixed), "query"),
        (Toy(normalisation="none"), "query"),
        (Toy(revision="r2"), "query"),
    ]
    first = [vectors_for(lab, toy, ["hello"], kind).new for toy, kind in ways]
    again = [vectors_for(lab, toy, ["hello"], kind).new for toy, kind in ways]
    assert (first, again) == ([1] * 5, [0] * 5)
    assert [toy.asked for toy, _ in ways] == [["hello"]] * 5


def test_queries_and_passages_share_vectors_only_where_the_model_has_no_prompts(lab):
    plain = Toy()
    vectors_for(lab, plain, ["fox"], "passage")
    assert vectors_for(lab, plain, ["fox"], "query").cached == 1
    prompted = Toy(model="e5", prompts={"query": "query: ", "passage": "passage: "})
    vectors_for(lab, prompted, ["fox"], "passage")
    assert vectors_for(lab, prompted, ["fox"], "query").new == 1


def test_what_the_lab_holds_is_the_truth_even_if_the_model_would_now_differ(lab):
    before = vectors_for(lab, Toy(), ["fox"], "passage").vectors

    class Drifted(Toy):
        def encode(self, texts, kind):
            return np.roll(super().encode(texts, kind), 1, axis=1)

    after = vectors_for(lab, Drifted(), ["fox", "owl"], "passage").vectors
    np.testing.assert_array_equal(after[0], before[0])


def test_a_text_cut_by_the_model_is_counted_with_the_share_unread(lab):
    # The only quokka stands after the limit: both texts have one vector, and that is said.
    filler = "x" * 30
    texts = [filler, filler + "quokka"]
    found = vectors_for(lab, Toy(limit=30), texts, "passage")
    np.testing.assert_array_equal(found.vectors[0], found.vectors[1])
    # 30 + 36 characters in all, 6 of them unread.
    assert found.truncated == 1
    assert found.share_cut == pytest.approx(6 / 66)
    assert "1 cut, 9.1% of all tokens unread" in found.sentence()


def test_the_cut_is_told_again_when_everything_is_cached(lab):
    vectors_for(lab, Toy(limit=3), ["quokka"], "passage")
    again = vectors_for(lab, Toy(limit=3), ["quokka"], "passage")
    assert (again.new, again.truncated, again.share_cut) == (0, 1, 0.5)


def test_a_model_that_does_not_tell_its_limit_is_not_said_to_cut_nothing(lab):
    found = vectors_for(lab, Toy(), ["fox"], "passage")
    assert found.truncated is None
    assert "does not tell what it cuts" in found.sentence()


def test_texts_without_a_word_abstain_and_are_counted(lab):
    found = vectors_for(lab, Toy(), ["fox", "...", ""], "passage")
    assert found.abstained == 2
    assert found.vectors.any(axis=1).tolist() == [True, False, False]


def test_no_texts_give_no_rows_of_the_right_width(lab):
    assert vectors_for(lab, Toy(dim=7), [], "query").vectors.shape == (0, 7)


def test_progress_counts_new_texts_only(lab):
    vectors_for(lab, Toy(), ["a1", "a2"], "passage")
    seen = []
    texts = ["a1", "a2", *(f"b{n}" for n in range(300))]
    vectors_for(lab, Toy(), texts, "passage", progress=lambda done, todo: seen.append((done, todo)))
    assert seen == [(256, 300), (300, 300)]


def test_a_model_that_fails_half_way_leaves_the_finished_chunks(lab):
    class Failing(Toy):
        def encode(self, texts, kind):
            if self.asked:
                raise RuntimeError("out of power")
            return super().encode(texts, kind)

    texts = [f"t{n}" for n in range(300)]
    with pytest.raises(RuntimeError):
        vectors_for(lab, Failing(), texts, "passage")
    assert vectors_for(lab, Toy(), texts, "passage").cached == 256


def test_coverage_says_how_many_vectors_are_missing_and_marks_the_run_degraded(lab):
    """O105. Kind: vectors missing for some rows, run degrades silently."""
    texts = [f"memory {n}" for n in range(100)]
    vectors_for(lab, Toy(), texts[:70], "passage")
    found = coverage(lab, Toy(), texts)
    assert (found.total, found.present, found.share, found.degraded) == (100, 70, 0.7, True)
    assert found.sentence().startswith("vectors cover 70% (70 of 100)")
    assert found.first_missing == "memory 70"


def test_vectors_of_another_model_of_the_same_width_do_not_count_as_coverage(lab):
    """O104. Kind: mixed models of equal width."""
    texts = [f"memory {n}" for n in range(120)]
    vectors_for(lab, Toy(model="A"), texts[:100], "passage")
    vectors_for(lab, Toy(model="B"), texts[100:], "passage")
    assert coverage(lab, Toy(model="B"), texts).present == 20
    assert coverage(lab, Toy(model="B"), []).share == 1.0


@pytest.mark.parametrize(("model", "dim"), [("m1", 3), ("m2", 16)])
def test_vectors_of_two_models_are_not_compared_and_both_are_named(lab, model, dim):
    """D30. Kind: dimension mismatch scored as 0."""
    queries = vectors_for(lab, Toy(model=model, dim=dim), ["fox"], "query")
    passages = vectors_for(lab, Toy(), ["fox"], "passage")
    with pytest.raises(ContractError) as caught:
        check_same_space(queries, passages)
    told = str(caught.value)
    assert queries.encoder_id in told
    assert passages.encoder_id in told
    assert f"({dim}-d)" in told
    assert "(16-d)" in told


def test_queries_and_passages_of_one_prompted_model_are_one_space(lab):
    toy = Toy(prompts={"query": "query: ", "passage": "passage: "})
    queries = vectors_for(lab, toy, ["fox"], "query")
    check_same_space(queries, vectors_for(lab, toy, ["fox"], "passage"))
    assert queries.encoder_id == toy.encoder_id


def test_a_lab_that_is_held_is_tried_once_and_the_rows_serve_this_call(lab, monkeypatch):
    monkeypatch.setattr(cache, "_CHUNK", 2)
    tried = []

    def held():
        tried.append(None)
        raise LockedError("held")

    texts = ["fox", "owl", "bee", "fox", "elk"]
    vectors_for(lab, Toy(), ["owl"], "passage")
    with monkeypatch.context() as patched:
        patched.setattr(lab, "writing", held)
        found = vectors_for(lab, toy := Toy(), texts, "passage")
    assert len(tried) == 1
    assert (found.new, found.unkept, found.cached) == (3, 3, 1)
    assert "3 encoded, 3 of them not kept (the lab cannot be written to)" in found.sentence()
    np.testing.assert_array_equal(found.vectors, toy.encode(texts, "passage"))
    assert vectors_for(lab, Toy(), texts, "passage").new == 3
