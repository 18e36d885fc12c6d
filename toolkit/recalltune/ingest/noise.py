"""Turns that are not worth a memory, each with its reason.

In: what was said, and by whom. Out: a reason, or None. Everything that decides stands in the tables
of this module: no guess is made about what a sentence is worth. RecallNest also drops answers such
as "I'm not sure about …" and questions such as "do you remember …" wherever those words occur; that
loses turns with facts in them and is not done here.
"""

from __future__ import annotations

import re

__all__ = ["noise_reason", "width"]

_LEAST = {"assistant": 8}
_LEAST_OTHERS = 10
_WIDE = 3
# Scripts of which one character is about a word: kana, han, hangul.
_WIDE_RANGES = (
    ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)

_NOTHING = frozenset(
    ("(no content)", "(no response)", "no response requested.", "no_reply", "heartbeat_ok")
)
_INTERRUPTED = "[request interrupted by user"
_ERRORS = ("api error:", "api error (", "request timed out", "connection error.")
_WHOLE_ERRORS = frozenset(
    (
        "prompt is too long",
        "credit balance is too low",
        "error: request was aborted.",
        "invalid api key · please run /login",
    )
)
# What a shell, a command or its output is wrapped in when an agent writes it into the transcript.
_ARGUMENTS = "command-args"
_WRAPPERS = (
    "command-name",
    "command-message",
    _ARGUMENTS,
    "command-contents",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "task-notification",
    "turn_aborted",
)
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]{0,80}(?=\s|\Z)")
# Whole phrases; a turn is bare if nothing but these is in it, in any number and order.
_BARE = """
hi / hello / hey / yo / hi there / hello there / hey there / good morning / good afternoon
good evening / good night / greetings / welcome back / bye / goodbye / see you / see you later
thanks / thank you / thank you very much / thank you so much / thanks a lot / thx / ty / cheers
you are welcome / youre welcome / no problem / no worries / never mind / nvm
ok / okay / k / kk / sure / yes / yep / yeah / yup / yes please / no / nope / nah / no thanks
right / correct / exactly / agreed / fine / great / cool / nice / perfect / awesome / excellent
good / very good / good job / great job / nice work / well done / done / understood / noted
got it / gotcha / i see / makes sense / sounds good / looks good / looks good to me / lgtm
that works / all good / go ahead / go on / proceed / continue / please continue / keep going
please
你好 / 您好 / 你好呀 / 嗨 / 哈喽 / 哈啰 / 大家好 / 早 / 早上好 / 早安 / 上午好 / 中午好 / 午安
下午好 / 晚上好 / 晚安 / 在吗 / 再见 / 拜拜 / 回头见
谢谢 / 谢谢你 / 谢谢您 / 谢谢啦 / 多谢 / 谢啦 / 感谢 / 非常感谢 / 辛苦了 / 不客气 / 没事 / 没关系
好 / 好的 / 好吧 / 好嘞 / 好滴 / 好呀 / 好啊 / 行 / 行吧 / 可以 / 可以的 / 没问题 / 没有问题 / 收到
明白 / 明白了 / 了解 / 了解了 / 知道了 / 我知道了 / 懂了 / 嗯 / 哦 / 噢 / 呃 / 啊 / 对 / 对的 / 是
是的 / 不是 / 不用 / 不用了 / 不 / 很好 / 太好了 / 太棒了 / 不错 / 棒 / 完美 / 继续 / 请继续
继续吧 / 开始吧 / 好了 / 完成 / 完成了
"""
_TOKEN = re.compile(r"[a-z0-9]+|\w")
_PHRASES = frozenset(
    tuple(_TOKEN.findall(phrase)) for line in _BARE.splitlines() for phrase in line.split("/")
) - {()}
_BARE_CHARS = 400
_LONGEST = max(map(len, _PHRASES))
_NO_APOSTROPHES = str.maketrans("", "", "'’")


def noise_reason(text: str, role: str) -> str | None:
    """Why a turn is not worth a memory; None where it is.

    Parameters
    ----------
    text
        What was said.
    role
        ``assistant``, or anyone else: API errors are looked for in what the assistant says alone.

    Returns
    -------
    str or None
        The first of these that holds: ``nothing said``; ``interruption mark``; ``API error``;
        ``command or its output`` (a slash command, or nothing but wrapped commands and outputs,
        unless what the command was given is long enough itself); ``punctuation or emoji only``;
        ``greeting or acknowledgement``; ``too short`` (see `width`: kept are more than 8 from the
        assistant, more than 10 from anyone else).

    References
    ----------
    RecallNest ``ingest.ts`` for the two lengths, which count characters there, so that ten of
    Chinese, a whole sentence, are dropped; ``noise-filter.ts`` for some of the phrases.

    Examples
    --------
    >>> noise_reason("好的，谢谢！", "user"), noise_reason("我住在柏林", "user")
    ('greeting or acknowledgement', None)
    """
    said = text.strip()
    folded = said.casefold() if len(said) <= 200 else said[:200].casefold()
    if not said or folded in _NOTHING:
        return "nothing said"
    if folded.startswith(_INTERRUPTED) and said.find("]") == len(said) - 1:
        return "interruption mark"
    if role == "assistant" and _is_error(said, folded):
        return "API error"
    least = _LEAST.get(role, _LEAST_OTHERS)
    arguments = _given_to_command(said)
    if arguments is not None and _is_short(arguments, least):
        return "command or its output"
    if not any(map(str.isalnum, said)):
        return "punctuation or emoji only"
    if _is_bare(said):
        return "greeting or acknowledgement"
    return "too short" if _is_short(said, least) else None


def width(text: str) -> int:
    """Length of a text in Latin letters: a kana, han or hangul character is 3, any other 1.

    Four characters of Chinese then pass where eleven of English do, which is about what they say.

    Examples
    --------
    >>> width("deploy"), width("部署")
    (6, 6)
    """
    if text.isascii():
        return len(text)
    wide = sum(any(low <= one <= high for low, high in _WIDE_RANGES) for one in text)
    return len(text) + (_WIDE - 1) * wide


def _is_short(text: str, least: int) -> bool:
    return len(text) <= least and width(text) <= least


def _is_error(said: str, folded: str) -> bool:
    """Whether it is one line that a client writes where an answer should have been."""
    return "\n" not in said and (folded.startswith(_ERRORS) or folded in _WHOLE_ERRORS)


def _given_to_command(said: str) -> str | None:
    """What a command was given, if the turn is a command or what one wrote; None if it is not."""
    if found := _COMMAND.match(said):
        return said[found.end() :].strip()
    given: list[str] = []
    at = 0
    while at < len(said):
        name = next((one for one in _WRAPPERS if said.startswith(f"<{one}>", at)), None)
        if name is None:
            return None
        start = at + len(name) + 2
        end = said.find(f"</{name}>", start)
        inside = said[start:] if end < 0 else said[start:end]
        if name == _ARGUMENTS:
            given.append(inside.strip())
        if end < 0:
            break  # Cut off: all the rest is in the wrapper.
        at = end + len(name) + 3
        while at < len(said) and said[at].isspace():
            at += 1
    return " ".join(given)


def _is_bare(said: str) -> bool:
    """Whether there is nothing in it but phrases of the table; a long text is never bare."""
    if len(said) > _BARE_CHARS:
        return False
    tokens = _TOKEN.findall(said.casefold().translate(_NO_APOSTROPHES))
    at = 0
    while at < len(tokens):
        for size in range(min(_LONGEST, len(tokens) - at), 0, -1):
            if tuple(tokens[at : at + size]) in _PHRASES:
                at += size
                break
        else:
            return False
    return bool(tokens)
