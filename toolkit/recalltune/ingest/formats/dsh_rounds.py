"""dsh-auto-memory's samples of its own allocator (``tier0Meta``, one a round): packing accounts.

A line, or an element of one JSON list or of ``samples``, is one round: ``at, tokens, maxTokens,
items, candidates, dropped, perLayer{layer: candidates, picked, dropped, tokens, cap, floor}``. Its
layers become rows of ``packing`` under the run ``log:<file>``, its degradation codes ``ledger``
rows. How often the ring dropped older samples (``evicted``) is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recalltune.ingest.format import Format, Sample, Source, share_of_records
from recalltune.ingest.json_source import json_document, json_objects
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.store import Packing, Run

__all__ = ["FORMAT"]

_COUNTS = ("candidates", "picked", "dropped", "tokens")
_CODE = 60


def _read(source: Source, parsed: Parsed) -> None:
    run_id, rounds = f"log:{parsed.file}", set[str]()
    for number, sample in _samples(source, parsed):
        meta = sample.get("tier0Meta", sample)
        at = read_moment(meta.get("at"), parsed.notes, what="at") if _is_sample(meta) else None
        if at is None:
            parsed.drop("no sample of a round: perLayer or at missing", number)
            continue
        round_id = at.isoformat()
        if round_id in rounds:
            parsed.drop("the same round again", number)
            continue
        codes = meta.get("degradations", [])
        if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
            parsed.drop("degradations are not a list of texts", number)
            continue
        rows = _layers(meta["perLayer"], run_id, round_id)
        if isinstance(rows, str):
            parsed.drop(rows, number)
            continue
        rounds.add(round_id)
        parsed.keep()
        parsed.others += rows
        for code in codes:
            parsed.notes["degradation code cut"] += len(code) > _CODE
            parsed.hop(code[:_CODE], "tier0 degradation code", at)
        parsed.full()
    if rounds:
        parsed.others.append(_run(run_id, len(rounds)))


def _samples(source: Source, parsed: Parsed) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and value of each sample; lines, a list, or the ring with its count of lost ones."""
    if not _is_document(Sample(source).document):
        yield from ((line.number, record) for line, record in json_objects(source.path, parsed))
        return
    document = json_document(source.path, source.file, parsed)
    if isinstance(document, dict):
        if isinstance(evicted := document.get("evicted"), int) and evicted > 0:
            parsed.notes["round that the ring had dropped before the file was written"] += evicted
        document = document["samples"]
    for number, sample in enumerate(document, start=1):
        if isinstance(sample, dict):
            yield number, sample
        else:
            parsed.drop("not a JSON object", number)


def _layers(per_layer: Mapping[str, Any], run_id: str, round_id: str) -> list[Packing] | str:
    """Accounts by layer, or what is wrong with them."""
    rows = []
    for layer, account in per_layer.items():
        if not layer or not isinstance(account, Mapping) or not set(_COUNTS) <= account.keys():
            return "perLayer is not an object of accounts by layer"
        counts = [account[name] for name in _COUNTS]
        bounds = [account.get("cap"), account.get("floor")]
        whole = [value for value in (*counts, *bounds) if value is not None]
        if not all(type(value) is int and value >= 0 for value in whole):
            return "a count of perLayer is not a whole number of 0 or more"
        candidates, picked, dropped, tokens = counts
        rows.append(
            Packing(
                run_id=run_id,
                query_id=round_id,
                layer=layer,
                candidates=candidates,
                picked=picked,
                dropped=dropped,
                oversize=0,
                tokens=tokens,
                cap=bounds[0],
                floor=bounds[1],
            )
        )
    return rows


def _run(run_id: str, rounds: int) -> Run:
    """Head under which the accounts stand; a log has no config of ours."""
    return Run(
        run_id=run_id,
        kind="log",
        config="",
        config_fingerprint="",
        data_digest="",
        code_version="",
        settings={"format": FORMAT.name, "rounds": rounds},
    )


def _is_sample(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("perLayer"), dict):
        return False
    return "at" in value


def _shape(record: dict[str, Any]) -> bool:
    return _is_sample(record.get("tier0Meta", record))


def _is_document(document: Any) -> bool:
    samples = document.get("samples") if isinstance(document, dict) else document
    if not isinstance(samples, list) or not samples:
        return False
    return isinstance(samples[0], dict) and _shape(samples[0])


def _fits(sample: Sample) -> float:
    return 1.0 if _is_document(sample.document) else share_of_records(sample, _shape)


FORMAT = Format(
    name="dsh_rounds",
    title="dsh-auto-memory tier0Meta samples (JSON or JSONL)",
    suffixes=frozenset({".json", ".jsonl"}),
    fits=_fits,
    read=_read,
)
