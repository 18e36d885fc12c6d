"""Text in, tokens out: one tokeniser for memories and queries alike.

In: any text. Out: a list of tokens with repeats, in reading order. Both sides of the lexical arm
use the same function by name, so a word indexed is a word that can be asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from operator import add
from types import MappingProxyType

from recalltune.rank.stop_words import tokenize_porter
from recalltune.rank.token_variants import (
    tokenize_openclaw_main,
    tokenize_openclaw_release,
    tokenize_plain,
    tokenize_probe,
)

__all__ = ["TOKENIZERS", "estimate_tokens", "tokenize"]

# Scripts written without spaces: a run of them is cut into characters and pairs.
_SPACELESS = (
    (0x0E00, 0x0EFF),  # thai, lao
    (0x1000, 0x109F),  # burmese
    (0x1100, 0x11FF),  # hangul jamo
    (0x1780, 0x17FF),  # khmer
    (0x3005, 0x3007),  # ideographic repetition and zero
    (0x302A, 0x302F),  # tone marks of han and hangul
    (0x3040, 0x30FF),  # hiragana, katakana
    (0x3100, 0x318F),  # bopomofo, hangul compatibility jamo
    (0x31F0, 0x31FF),  # katakana extensions
    (0x3400, 0x4DBF),  # han extension A
    (0x4E00, 0x9FFF),  # han
    (0xAC00, 0xD7AF),  # hangul syllables
    (0xF900, 0xFAFF),  # han compatibility
    (0x20000, 0x3FFFF),  # han extensions B and later
)
# Marks that choose a picture for the character before them: ❤ with and without one is one heart.
_SELECTORS = ((0x034F, 0x034F), (0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_TABLE_LINES = ((0x2500, 0x259F),)
# U+2010 is what normalisation makes of a non-breaking hyphen.
_JOINERS = {"_": "_", "-": "-", "\u2010": "-"}


class _Classes(dict[int, str]):
    """A class letter per character, filled in as characters are met.

    ``U`` upper-case letter, ``l`` other letter or mark, ``d`` digit, ``c`` character and ``m``
    mark of a script without spaces, ``s`` symbol, ``f`` invisible, ``_`` and ``-`` joiners, blank
    for all else.
    """

    def __missing__(self, codepoint: int) -> str:
        letter = self[codepoint] = _class_of(chr(codepoint))
        return letter


def _class_of(char: str) -> str:
    category = unicodedata.category(char)
    if char in _JOINERS:
        return _JOINERS[char]
    if category == "Cf" or _within(char, _SELECTORS):
        return "f"
    # Unassigned characters may be of a later Unicode, private ones are somebody's icons.
    if _within(char, _SPACELESS) and (category[0] in "LM" or category in ("Nl", "Cn")):
        return "m" if category[0] == "M" else "c"
    if category[0] == "S" or category in ("Cn", "Co"):
        return " " if char.isascii() or _within(char, _TABLE_LINES) else "s"
    if category in ("Lu", "Lt"):
        return "U"
    if category[0] in "LM":  # marks belong to the letter before them: Hindi, accents
        return "l"
    return "d" if category[0] == "N" else " "


def _within(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= ord(char) <= high for low, high in ranges)


_CLASSES = _Classes()
# Over class letters, not over text: each pattern is linear, whatever the text.
_RUN = re.compile(r"[cm]+|s|[Uld]+(?:(?:_++|-)[Uld]+)*+")
_UNIT = re.compile(r"[cm]m*")
_PART = re.compile(r"U+(?!l)d*|U?[ld]+")


def tokenize(text: str) -> list[str]:
    """Tokens of a text: words of every script, identifiers whole and in parts, CJK pairs.

    The text is NFKC-normalised and invisible characters are dropped. A word is a run of letters,
    marks and digits, joined by underscores or single hyphens. A word with an inner joint
    (``snake_case``, ``camelCase``, ``ADR-0005``) gives itself and then its parts; joints are
    found before case is folded. A run of a script without spaces (CJK, Thai, Lao, Khmer, Burmese)
    gives each character with its marks, then each overlapping pair. An emoji or another symbol
    beyond ASCII is a token. No stop words.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list[str]
        Case-folded tokens with repeats, in reading order. Empty only if the text holds nothing
        but spaces, invisible characters, punctuation, ASCII symbols and the lines of tables.

    Notes
    -----
    Character pairs for CJK: Nie, Gao, Zhang, Zhou, 2000, "On the use of words and n-grams for
    Chinese information retrieval" (key ``nie2000``).

    Examples
    --------
    >>> tokenize("getUserById, ADR-0005")
    ['getuserbyid', 'get', 'user', 'by', 'id', 'adr-0005', 'adr', '0005']
    >>> tokenize("复盘 CRON 🎉")
    ['复', '盘', '复盘', 'cron', '🎉']
    """
    text = unicodedata.normalize("NFKC", text)
    classes = text.translate(_CLASSES)
    if "f" in classes:
        # Again from the start: what an invisible character kept apart may compose now.
        return tokenize("".join(c for c, kind in zip(text, classes, strict=True) if kind != "f"))
    tokens: list[str] = []
    for run in _RUN.finditer(classes):
        start, stop = run.span()
        if classes[start] in "cm":
            units = _units(text[start:stop], run.group())
            tokens.extend(units)
            tokens.extend(map(add, units, units[1:]))
            continue
        tokens.append(_folded(text[start:stop]))
        parts = [part.span() for part in _PART.finditer(classes, start, stop)]
        if len(parts) > 1:
            tokens.extend(_folded(text[low:high]) for low, high in parts)
    return tokens


def _units(run: str, classes: str) -> list[str]:
    """The characters of a run, each with the marks that follow it."""
    if "m" not in classes:
        return list(run)
    return [run[unit.start() : unit.end()] for unit in _UNIT.finditer(classes)]


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word.casefold())


TOKENIZERS: Mapping[str, Callable[[str], list[str]]] = MappingProxyType(
    {
        "words_cjk_bigrams": tokenize,
        "plain": tokenize_plain,
        "openclaw_release": tokenize_openclaw_release,
        "openclaw_main": tokenize_openclaw_main,
        "probe": tokenize_probe,
        "porter": tokenize_porter,
    }
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
