"""Text in, tokens out: one tokeniser for memories and queries alike.

In: any text. Out: a list of tokens with repeats, in reading order. Both sides of the lexical arm
use the same function by name, so a word indexed is a word that can be asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from types import MappingProxyType

__all__ = ["TOKENIZERS", "estimate_tokens", "tokenize", "tokenize_plain"]

# Characters that are written without spaces, so that a run of them is cut into pairs.
_CJK_RANGES = (
    (0x1100, 0x11FF),  # hangul jamo
    (0x3005, 0x3007),  # ideographic repetition and zero
    (0x3040, 0x30FF),  # hiragana, katakana
    (0x3100, 0x318F),  # bopomofo, hangul compatibility jamo
    (0x31F0, 0x31FF),  # katakana extensions
    (0x3400, 0x4DBF),  # han extension A
    (0x4E00, 0x9FFF),  # han
    (0xAC00, 0xD7AF),  # hangul syllables
    (0xF900, 0xFAFF),  # han compatibility
    (0x20000, 0x3FFFF),  # han extensions B and later
)
# U+2010 is what normalisation makes of a non-breaking hyphen.
_JOINERS = {"_": "_", "-": "-", "\u2010": "-"}


class _Classes(dict[int, str]):
    """A class letter per character, filled in as characters are met.

    ``U`` upper-case letter, ``l`` other letter or mark, ``d`` digit, ``c`` CJK, ``f`` invisible
    format character, ``_`` and ``-`` joiners, blank for all else.
    """

    def __missing__(self, codepoint: int) -> str:
        letter = self[codepoint] = _class_of(chr(codepoint))
        return letter


def _class_of(char: str) -> str:
    if char in _JOINERS:
        return _JOINERS[char]
    if _is_cjk(char):
        return "c" if char.isalnum() else " "
    category = unicodedata.category(char)
    if category in ("Lu", "Lt"):
        return "U"
    if category[0] in "LM":  # marks belong to the letter before them: Hindi, Thai, accents
        return "l"
    if category[0] == "N":
        return "d"
    return "f" if category == "Cf" else " "


def _is_cjk(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in _CJK_RANGES)


_CLASSES = _Classes()
# Over class letters, not over text: each pattern is linear, whatever the text.
_RUN = re.compile(r"c+|[Uld]+(?:(?:_++|-)[Uld]+)*+")
_PART = re.compile(r"U+(?!l)d*|U?[ld]+")


def tokenize(text: str) -> list[str]:
    """Tokens of a text: words of every script, identifiers whole and in parts, CJK pairs.

    The text is NFKC-normalised and invisible format characters are dropped. A word is a run of
    letters, marks and digits, joined by underscores or single hyphens. A word with an inner
    joint (``snake_case``, ``camelCase``, ``ADR-0005``) gives itself and then its parts; joints
    are found before case is folded. A run of CJK characters gives each character, then each
    overlapping pair. No stop words.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list[str]
        Case-folded tokens with repeats, in reading order; empty if the text holds no word.

    Notes
    -----
    Scripts without spaces other than CJK (Thai, Khmer, Lao, Burmese) give one token per run.
    Character pairs for CJK: Nie, Gao, Zhang, Zhou, 2000, "On the use of words and n-grams for
    Chinese information retrieval" (key ``nie2000``).

    Examples
    --------
    >>> tokenize("getUserById, ADR-0005")
    ['getuserbyid', 'get', 'user', 'by', 'id', 'adr-0005', 'adr', '0005']
    >>> tokenize("复盘 CRON")
    ['复', '盘', '复盘', 'cron']
    """
    text = unicodedata.normalize("NFKC", text)
    classes = text.translate(_CLASSES)
    if "f" in classes:
        text = "".join(c for c, kind in zip(text, classes, strict=True) if kind != "f")
        classes = classes.replace("f", "")
    tokens: list[str] = []
    for run in _RUN.finditer(classes):
        start, stop = run.span()
        if classes[start] == "c":
            tokens.extend(text[start:stop])
            tokens.extend(text[i : i + 2] for i in range(start, stop - 1))
            continue
        tokens.append(_folded(text[start:stop]))
        parts = [part.span() for part in _PART.finditer(classes, start, stop)]
        if len(parts) > 1:
            tokens.extend(_folded(text[low:high]) for low, high in parts)
    return tokens


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word.casefold())


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
            tokens.extend(run[i : i + 2] for i in range(len(run) - 1))
    return tokens


TOKENIZERS: Mapping[str, Callable[[str], list[str]]] = MappingProxyType(
    {"words_cjk_bigrams": tokenize, "plain": tokenize_plain}
)
"""Tokenisers by the name a configuration uses; the first is the default."""

_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def estimate_tokens(text: str) -> int:
    """Model tokens a text will cost, estimated from its characters.

    ``ceil(1.5 * wide + 0.25 * other)``, wide = CJK and kana characters, other = all other code
    points.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    int
        tokens, >= 0; 0 only for the empty text.

    Notes
    -----
    Source: RecallNest ``src/context-collapse-renderer.ts``.

    Examples
    --------
    >>> estimate_tokens("hello world"), estimate_tokens("数据库迁移")
    (3, 8)
    """
    wide = len(_WIDE.findall(text))
    quarters = 6 * wide + (len(text) - wide)
    return -(-quarters // 4)
