"""TREC judgements: one line a judgement, ``query 0 document grade``, between blanks.

They become labels of the case set that is named as the folder of the file, as in a BEIR collection;
ids are texts and are joined as they stand. The second field (the iteration) says nothing. A grade
below 0 is kept as 0, not relevant. ``evaluate.trec.write_qrels`` writes such files.

References
----------
TREC; the file format of NIST's trec_eval.
"""

from __future__ import annotations

from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.judgements import Judgements, collection_of
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.plain_lines import plain_lines
from recalltune.ingest.trec_lines import is_plain, share_of_lines

__all__ = ["FORMAT"]

_ITERATIONS = ("0", "Q0")


def _read(source: Source, parsed: Parsed) -> None:
    labels = Judgements(collection_of(source), parsed)
    for line in plain_lines(source.path, parsed):
        fields = line.text.split()
        if len(fields) != 4:
            parsed.drop("not four fields between blanks", line.number)
            continue
        query, _, document, grade = fields
        labels.add(query, document, grade, line=line.number)


def _shape(fields: list[str]) -> bool:
    if len(fields) != 4 or fields[1] not in _ITERATIONS:
        return False
    digits = fields[3].removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _fits(sample: Sample) -> float:
    return share_of_lines(sample, _shape)


FORMAT = Format(
    name="trec_qrels",
    title="TREC judgements (qrels)",
    suffixes=frozenset({".qrel", ".qrels", ".txt"}),
    fits=_fits,
    read=_read,
    evaluation=True,
    wanted=lambda source: is_plain(source, "qrel"),
)
