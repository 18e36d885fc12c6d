"""A query in, a decision out: too trivial to search for, or naming something exactly.

In: the text of a query. Out: yes or no. These look at the query alone and know no memory.
"""

from __future__ import annotations

import re

from recalltune.rank._check import at_least

__all__ = ["has_exact_token", "is_trivial"]

_KANA_OR_HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")

# Words that say the asker means memory, however short the query is.
_ASKS_MEMORY = re.compile(
    r"""
    \b(?: remember | recall | forgot | memory | memories )\b
    | \b(?: last\ time | before | previously | earlier | yesterday | ago )\b
    | \bmy\ (?: name | email | phone | address | birthday | preference )\b
    | \b(?: what\ did\ (?: i | we ) | did\ i\ (?: tell | say | mention ) )\b
    | 你记得 | 记不记得 | 还记得 | 之前 | 上次 | 以前 | 提到过 | 说过
    | 我叫 | 我的名字 | 我是谁
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What opens a greeting, a shell or chat command, or boilerplate of a session.
_OPENS_TRIVIAL = re.compile(
    r"""
    / | \[system | fresh\ session | new\ session
    | (?: hi | hello | hey | greetings | yo | sup | howdy
        | good\s*(?: morning | afternoon | evening | night ) )\b
    | (?: run | build | test | ls | cd | git | npm | pip | docker | curl | cat | grep | find | make
        | sudo )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What is trivial as a whole: acknowledgements, go-ons, pings; marks and emoji and nothing else.
_WHOLE_TRIVIAL = re.compile(
    r"""
    (?: yes | no | yep | nope | ok | okay | sure | fine | thanks | thank\ you | thx | ty | got\ it
      | understood | cool | nice | great | good | perfect | awesome
      | go\ ahead | continue | proceed | do\ it | start | begin | next
      | 开始 | 继续 | 好的 | 可以 | 行 | ping | pong | debug ) \s*[.!?]?
    | [\s.,!?。！？，、\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HEARTBEAT = re.compile("heartbeat", re.IGNORECASE)

_EXACT = re.compile(
    r"""
    (?<![\w.])
    (?: [A-Za-z0-9]+ (?: _ [A-Za-z0-9]+ )+                # snake_case and UPPER_SNAKE
      | [\w-]+ \. [A-Za-z][A-Za-z0-9]{0,5}                # a file name
      | (?= [0-9a-f]* [0-9] ) [0-9a-f]{7,40}              # the start of a hash
    )
    (?![\w])
    """,
    re.VERBOSE,
)


def is_trivial(
    query: str, *, min_chars: int = 15, min_chars_cjk: int = 2, least_chars: int = 4
) -> bool:
    """Whether a query is not worth a search: greeting, command, acknowledgement, or too short.

    A query that asks for memory ("remember", "last time", 之前) is never trivial. Otherwise it is
    when it is shorter than ``least_chars``, opens or is as a whole a greeting, command or
    acknowledgement, or is shorter than ``min_chars`` with several words and no question mark. With
    Chinese or Japanese characters ``min_chars_cjk`` stands for both lengths.

    Parameters
    ----------
    query
        Text of the query; surrounding blanks do not count.
    min_chars, min_chars_cjk, least_chars
        UTF-16 units, >= 0.

    Returns
    -------
    bool
        Two short words are trivial by this rule (``"restart policy"``), one is not.

    Raises
    ------
    ParameterError
        If a length is negative.

    References
    ----------
    RecallNest ``adaptive-retrieval.ts``; its patterns by what they match.

    Examples
    --------
    >>> [is_trivial(q) for q in ("hi", "cobbler", "what is up?", "库", "数据库", "restart policy")]
    [True, False, False, True, False, True]
    """
    several = at_least("min_chars", min_chars, low=0)
    few_cjk = at_least("min_chars_cjk", min_chars_cjk, low=0)
    few = at_least("least_chars", least_chars, low=0)
    text = query.strip()
    if _ASKS_MEMORY.search(text):
        return False
    cjk = _KANA_OR_HAN.search(text) is not None
    length = len(text.encode("utf-16-le", "surrogatepass")) // 2
    if length < (few_cjk if cjk else few):
        return True
    if _OPENS_TRIVIAL.match(text) or _WHOLE_TRIVIAL.fullmatch(text) or _HEARTBEAT.search(text):
        return True
    asks = "?" in text or "？" in text or len(text.split()) == 1
    return not asks and length < (few_cjk if cjk else several)


def has_exact_token(query: str, *, min_chars: int = 5) -> bool:
    """Whether a query names something exactly: an identifier, a file, the start of a hash.

    Parameters
    ----------
    query
        Text of the query.
    min_chars
        Characters, >= 0. Shorter names do not count.

    Returns
    -------
    bool
        True for ``snake_case``, ``UPPER_SNAKE``, ``retriever.ts`` and for 7 to 40 hexadecimal
        digits of which one at least is a decimal digit.

    Raises
    ------
    ParameterError
        If ``min_chars`` is negative.

    References
    ----------
    RecallNest ``retriever.ts`` ``hasExactToken``; its patterns by what they match.

    Examples
    --------
    >>> [has_exact_token(q) for q in ("fix retriever.ts", "commit dd12fb5", "tune decay", "a_b")]
    [True, True, False, False]
    """
    shortest = at_least("min_chars", min_chars, low=0)
    return any(len(found.group()) >= shortest for found in _EXACT.finditer(query))
