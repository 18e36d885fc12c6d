"""Stems of English words by the algorithm of Porter 1980, as printed.

In: one lower-case word. Out: its stem, which need not be a word. Suffixes are taken off in five
steps, each under a condition on the *measure* of what is left: the number of times a vowel is
followed by a consonant.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["porter_stem"]

# Suffix -> what stands for it, where the measure of the rest is above 0.
_SECOND = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_THIRD = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
# Suffixes that go where the measure of the rest is above 1; "ion" only after s or t.
_FOURTH = re.compile(
    r"(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ion|ou|ism|ate|iti|ous|ive|ize)$"
)
_MEASURE = re.compile(r"v+c+")


@lru_cache(maxsize=1 << 16)
def porter_stem(word: str) -> str:
    """Stem of an English word, by Porter's five steps.

    Parameters
    ----------
    word
        One word in lower case. Anything but ``aeiou`` and a ``y`` after a consonant counts as a
        consonant, digits too.

    Returns
    -------
    str
        The stem, never empty; the word itself if no suffix applies.

    Notes
    -----
    Porter 1980, "An algorithm for suffix stripping" (key ``porter1980``), without the later
    changes of its author (``bli``, ``logi``, words of two letters left alone). A lone ``s`` stays.

    Examples
    --------
    >>> [porter_stem(word) for word in ("relational", "hopping", "generalizations", "sky")]
    ['relat', 'hop', 'gener', 'sky']
    """
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _exchanged(word, _SECOND)
    word = _exchanged(word, _THIRD)
    return _without_final_letter(_without_suffix(word))


def _shape(word: str) -> str:
    """The word in letters v and c; a y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    return len(_MEASURE.findall(_shape(word)))


def _ends_in_short_syllable(word: str) -> bool:
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    # A lone "s", as after an apostrophe, would leave nothing.
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and word != "s" else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    suffix = next((suffix for suffix in ("ed", "ing") if word.endswith(suffix)), "")
    rest = word.removesuffix(suffix)
    if not suffix or "v" not in _shape(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _ends_in_two_consonants_alike(rest) and rest[-1] not in "lsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_in_short_syllable(rest) else rest


def _ends_in_two_consonants_alike(word: str) -> bool:
    return _shape(word).endswith("cc") and word[-1] == word[-2]


def _exchanged(word: str, suffixes: dict[str, str]) -> str:
    """The longest suffix decides, even where its condition then fails."""
    suffix = max((one for one in suffixes if word.endswith(one)), key=len, default="")
    rest = word.removesuffix(suffix)
    return rest + suffixes[suffix] if suffix and _measure(rest) > 0 else word


def _without_suffix(word: str) -> str:
    found = _FOURTH.search(word)  # the first place that matches is that of the longest suffix
    rest = word[: found.start()] if found else word
    allowed = not word.endswith("ion") or rest.endswith(("s", "t"))
    return rest if allowed and _measure(rest) > 1 else word


def _without_final_letter(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_in_short_syllable(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
