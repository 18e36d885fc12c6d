"""One line a term: what the words of a report mean, and the formula behind each stage."""

from __future__ import annotations

__all__ = ["GLOSSARY"]

GLOSSARY: tuple[tuple[str, str, str], ...] = (
    ("as of", "", "A question asked at a time sees only what was known and told strictly before "
     "that time; the word statistics of the search are those of that moment, too."),
    ("case", "", "One question with its time, and the memories that should (targets) or should not "
     "(hard negatives) be among the first shown."),
    ("nDCG@10", "", "Gain of the targets among the first ten places, each divided by "
     "log2(place + 1), over that of the best possible order. 1 is best."),
    ("all found@10", "", "Share of cases whose targets are all among the first ten."),
    ("passes", "", "Strict verdict of a case: every target within the places the case names, no "
     "hard negative there, the expected order kept, nothing forbidden shown."),
    ("interval", "", "95 % by drawing whole sessions again; where fewer than fifteen sessions "
     "differ, a widened t interval, which is never empty."),
    ("cannot be told", "", "The interval of the paired difference holds 0: these cases do not say "
     "which of the two is better. It does not mean that they are equal."),
    ("tie set", "", "Settings that cannot be told from the best of all, by a max-T test over the "
     "whole grid with sign changes of whole sessions."),
    ("held out", "", "Cases kept out of sweep, tables and charts; scored for the "
     "default and the choice, after it was made."),
    ("in sample", "", "Measured on cases the setting was picked on; such figures flatter it."),
    ("rrf", "rrf", "Reciprocal rank fusion: sum over arms of weight / (rrf_k + rank / divisor)."),
    ("weighted", "weighted", "Weighted sum of the arms' calibrated scores."),
    ("decay", "decay", "exponential: 2^-(age / half_life_days); weibull: "
     "2^-((age / half_life_days)^shape); the other families: docs/method.md. A memory without a "
     "date is left unchanged."),
    ("act_r", "act_r", "Factor 1 / (1 + e^((threshold - B) / noise)), B the logarithm of the sum "
     "of (days since a use)^-exponent over all uses; the birth of a memory is one."),
    ("salience", "salience", "Factor 1 + salience_weight * salience; a missing salience is 1."),
    ("recency", "recency", "Factor 1 + weight * 2^-(age / half_life_days)."),
    ("status", "status", "Factor for entries superseded or retracted before the question."),
    ("mmr", "mmr", "Maximal marginal relevance: lambda_ * relevance - (1 - lambda_) * similarity "
     "to what is already picked; lambda_ 1 changes nothing."),
    ("defer", "defer", "Near duplicates of what is already listed move to the tail."),
    ("threshold", "threshold", "Rows under min_score leave the list."),
    ("select", "select", "top_k places; floors reserve places for a layer, caps limit it, "
     "budget_tokens limits the sum."),
    ("layer", "", "Where a memory lives: project conclusions, whiteboard, user, reflection, or the "
     "daily log."),
)  # fmt: skip
"""Name, kind of stage it belongs to (empty: always said), one line."""
