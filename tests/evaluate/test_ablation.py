"""Who did it, importance or MMR: the ablation on two corpora of ours."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recalltune.candidates.build import ask
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.evaluate.ablation import IMPORTANCES, ablation, list_of, repeated, with_importance
from recalltune.ingest.companion import read_companion, write_companion
from recalltune.pipeline.config import preset
from recalltune.store import open

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "companion"
PORTED = preset("hel847-ported")


def asked(folder: Path, name: str, query: str) -> Candidates:
    companion = read_companion(DATA / f"{name}.json")
    lab = open(folder / f"{name}.duckdb")
    write_companion(lab, companion)
    return ask(lab, query, PORTED, at=round(companion.now.timestamp() * 1_000_000))


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return asked(tmp_path_factory.mktemp("shelf"), "shelf", "红薯")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return asked(tmp_path_factory.mktemp("keys"), "keys", "spare key")


def lists(frame: pl.DataFrame) -> dict[tuple[str, float], list[int]]:
    grouped = frame.group_by("importance", "lambda_", maintain_order=True)
    return {key: [int(one[1:]) for one in part["memory_id"]] for key, part in grouped}


def counts(frame: pl.DataFrame) -> dict[tuple[str, float], int]:
    grouped = frame.group_by("importance", "lambda_", maintain_order=True)
    return {key: part["same_as"].drop_nulls().len() for key, part in grouped}


def test_on_the_shelf_importance_takes_the_repetition_out_and_mmr_does_not(shelf):
    frame = ablation(shelf, PORTED, "query")
    probe, stepped, none = IMPORTANCES
    # The lists of the plan's own corpus, on our wording.
    assert lists(frame) == {
        (probe, 0.7): [5, 12, 13, 11],
        (probe, 1.0): [5, 13, 12, 11],
        (stepped, 0.7): [5, 13, 12, 11],
        (stepped, 1.0): [5, 13, 12, 11],
        (none, 0.7): [13, 12, 11, 9],
        (none, 1.0): [13, 12, 11, 10],
    }
    assert counts(frame) == {
        (probe, 0.7): 3, (probe, 1.0): 3, (stepped, 0.7): 3, (stepped, 1.0): 3,
        (none, 0.7): 4, (none, 1.0): 4,
    }  # fmt: skip


def test_among_the_keys_mmr_alone_decides(keys):
    frame = ablation(keys, PORTED, "query")
    assert {key: ids for key, ids in lists(frame).items() if key[1] == 1.0} == {
        (importance, 1.0): [1, 2, 3, 4] for importance in IMPORTANCES
    }
    assert {key: ids for key, ids in lists(frame).items() if key[1] == 0.7} == {
        (importance, 0.7): [1, 5, 7, 6] for importance in IMPORTANCES
    }
    # Nothing else could: one time and one salience for all.
    for feature in ("age_days", "salience"):
        assert len(set(keys.features[feature][0])) == 1


def test_a_repetition_names_who_said_it_first(shelf):
    again = {f"m{n:03d}": "m009" for n in (9, 10, 11, 12, 13)}
    assert repeated(shelf, "query") == again


def test_a_list_is_what_is_ranked_and_not_what_fits_into_the_block(shelf):
    narrow = PORTED.with_(stages=(*PORTED.stages[:-1], PORTED.stages[-1].with_(budget_chars=0)))
    assert list_of(shelf, narrow, "query") == list_of(shelf, PORTED, "query")


def test_english_stands_beside_the_gist(shelf):
    frame = ablation(shelf, PORTED, "query", lambdas=(1.0,), english={"m005": "late"})
    row = frame.row(0, named=True)
    assert (row["place"], row["label"], row["english"]) == (1, "用户值班晚，买到生的红薯", "late")


def test_unknown_forms_and_configs_without_salience_are_refused():
    with pytest.raises(ParameterError, match=r"importance 'some' is unknown; .*1\+9\*salience"):
        with_importance(PORTED, "some")
    bare = PORTED.with_(stages=(PORTED.stages[0],))
    with pytest.raises(ParameterError, match="must have a stage salience, got weighted"):
        with_importance(bare, "none")
