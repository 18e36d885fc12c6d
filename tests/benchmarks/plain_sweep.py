"""What one writes without a library: dictionaries, a sort a query, metrics in a loop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.grid_data import Setting
from recalltune.candidates.table import Candidates


@dataclass(frozen=True)
class Case:
    """One query as plain Python values, keyed by memory_id."""

    lexical_rank: dict[str, int]
    dense_rank: dict[str, int]
    age_days: dict[str, float]
    salience: dict[str, float]
    grade: dict[str, int]
    hard: frozenset[str]


Values = dict[str, list[float]]


def plain_cases(table: Candidates) -> list[Case]:
    """Unpack a candidate table."""
    ids = table.spans["memory_id"].to_list()
    columns = {
        name: table.feature(name).tolist()
        for name in ("lexical_rank", "dense_rank", "age_days", "salience")
    }
    grade: dict[str, dict[str, int]] = {}
    hard: dict[str, set[str]] = {}
    for label in table.labels.iter_rows(named=True):
        if label["role"] == "target":
            grade.setdefault(label["query_id"], {})[label["memory_id"]] = label["grade"]
        else:
            hard.setdefault(label["query_id"], set()).add(label["memory_id"])
    cases = []
    for row, query_id in enumerate(table.queries["query_id"].to_list()):
        names = [ids[span] for span in table.span[row].tolist()]
        lists = {
            name: dict(zip(names, values[row], strict=True)) for name, values in columns.items()
        }
        ranked = {
            arm: {name: int(rank) for name, rank in lists[f"{arm}_rank"].items() if rank == rank}
            for arm in ("lexical", "dense")
        }
        cases.append(
            Case(
                ranked["lexical"],
                ranked["dense"],
                lists["age_days"],
                lists["salience"],
                grade.get(query_id, {}),
                frozenset(hard.get(query_id, ())),
            )
        )
    return cases


def scored(case: Case, setting: Setting) -> dict[str, float]:
    """The score of every candidate."""
    k, weight = setting.rrf_k, setting.dense_weight
    scores = {}
    for name, age in case.age_days.items():
        score = 0.0
        if name in case.dense_rank:
            score += weight / (k + case.dense_rank[name])
        if name in case.lexical_rank:
            score += (1.0 - weight) / (k + case.lexical_rank[name])
        faded = 2.0 ** -((age / setting.half_life_days) ** setting.shape)
        score *= 0.3 + 0.7 * faded
        scores[name] = score * (1.0 + setting.salience_weight * case.salience[name])
    return scores


def best_first(scores: dict[str, float]) -> list[str]:
    """Falling score, then rising name."""
    return sorted(scores, key=lambda name: (-scores[name], name))


def metrics_of(case: Case, ranking: list[str]) -> dict[str, float]:
    """nDCG@10, reciprocal rank, recall@10 and the share of hard negatives in the top 10."""
    place = {name: number for number, name in enumerate(ranking, 1)}
    found = {name: place.get(name, math.inf) for name in case.grade}
    gained = sum(case.grade[name] / math.log2(at + 1) for name, at in found.items() if at <= 10)
    grades = sorted(case.grade.values(), reverse=True)[:10]
    ideal = sum(grade / math.log2(at + 1) for at, grade in enumerate(grades, 1))
    return {
        "ndcg@10": gained / ideal,
        "mrr": 1.0 / min(found.values()),
        "recall@10": sum(at <= 10 for at in found.values()) / len(found),
        "hard_negative_rate@10": sum(place.get(name, math.inf) <= 10 for name in case.hard)
        / len(case.hard),
    }


def plain_sweep(cases: list[Case], grid: list[Setting]) -> list[Values]:
    """Per setting, metric -> one value a case."""
    results = []
    for setting in grid:
        values: Values = {}
        for case in cases:
            scores = scored(case, setting)
            for metric, value in metrics_of(case, best_first(scores)).items():
                values.setdefault(metric, []).append(value)
        results.append(values)
    return results
