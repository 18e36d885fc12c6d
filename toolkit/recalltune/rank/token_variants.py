"""The tokenisers of others, with their gaps: for parity and for published figures.

In: any text. Out: a list of tokens with repeats. Where upstream makes a set, `set` of the list is
that set.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = [
    "tokenize_openclaw_main",
    "tokenize_openclaw_release",
    "tokenize_plain",
    "tokenize_probe",
]

_PLAIN = re.compile(r"[a-z0-9]+|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def tokenize_plain(text: str) -> list[str]:
    """Tokens of the plain analyser: ASCII words and CJK pairs, nothing else.

    Lower-cased runs of ``[a-z0-9]``, and each CJK run as overlapping pairs (a single character
    alone). No normalisation, no identifiers: it exists to compare with published figures.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list[str]
        Tokens with repeats, in reading order.

    Examples
    --------
    >>> tokenize_plain("Don't panic 检索排序 猫")
    ['don', 't', 'panic', '检索', '索排', '排序', '猫']
    """
    tokens: list[str] = []
    for run in _PLAIN.findall(text.lower()):
        if run[0].isascii() or len(run) == 1:
            tokens.append(run)
        else:
            tokens.extend(_pairs(run))
    return tokens


_ASCII_WORD = re.compile(r"[a-z0-9_]+")
_WORD = re.compile(r"\w+")  # letters, digits and underscores of every script, but no marks
_OPENCLAW_CJK = re.compile(
    r"[\u3040-\u309f\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u1100-\u11ff]+"
)
_PROBE_CJK = re.compile(r"[\u3040-\u309f\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


def tokenize_openclaw_release(text: str) -> list[str]:
    """Tokens of the OpenClaw release of 2026-09: ASCII words, CJK characters and pairs.

    Lower-cased runs of ``[a-z0-9_]``; each CJK character; each pair of neighbouring CJK
    characters. No normalisation; CJK of the first plane only, Jamo and the long vowel mark
    included.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list[str]
        Tokens with repeats, words first. Empty for a text of other scripts.

    Notes
    -----
    OpenClaw 2026.9.6, ``memory-core`` (``tokenize``). Letters outside ASCII separate words:
    "café" gives "caf".

    Examples
    --------
    >>> tokenize_openclaw_release("GitHub备份 мир")
    ['github', '备', '份', '备份']
    """
    low = text.lower()
    return _ASCII_WORD.findall(low) + _characters_and_pairs(_OPENCLAW_CJK.findall(low))


def tokenize_openclaw_main(text: str) -> list[str]:
    """Tokens of OpenClaw's development line after that release: words of every script.

    As `tokenize_openclaw_release`, but words are runs of letters, digits and underscores of every
    script, and **a run that holds a CJK character is no word**: the Latin half of it is lost.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list[str]
        Tokens with repeats, words first.

    Notes
    -----
    OpenClaw ``extensions/memory-core/src/memory/tokenize.ts``. No normalisation: a letter
    with a separate accent ends the word.

    Examples
    --------
    >>> tokenize_openclaw_main("GitHub备份 мир")
    ['мир', '备', '份', '备份']
    """
    low = text.lower()
    words = [word for word in _WORD.findall(low) if not _OPENCLAW_CJK.search(word)]
    return words + _characters_and_pairs(_OPENCLAW_CJK.findall(low))


def tokenize_probe(text: str) -> list[str]:
    """Tokens of the HEL-847 probe: NFC, words of every script, CJK characters and pairs.

    CJK runs are cut out first, so both halves of a mixed run stay. Jamo are not CJK here: a run of
    them is one word, unless NFC has composed them to syllables.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list[str]
        Tokens with repeats, words first.

    Notes
    -----
    Source: ``oc_tokenize`` of the HEL-847 plan.

    Examples
    --------
    >>> tokenize_probe("GitHub备份 мир")
    ['github', 'мир', '备', '份', '备份']
    """
    low = unicodedata.normalize("NFC", text.lower())
    words: list[str] = _WORD.findall(_PROBE_CJK.sub(" ", low))
    return words + _characters_and_pairs(_PROBE_CJK.findall(low))


def _characters_and_pairs(runs: Iterable[str]) -> list[str]:
    return [token for run in runs for token in (*run, *_pairs(run))]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]
