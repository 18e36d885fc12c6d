"""Workload W-import: a made-up session log of any size, six tenths of it words that are kept.

Words of a few thousand made-up messages, one in five Chinese, lengths exponential around 1,500
characters; one line in eight is a tool's result, one in twelve a tool call. A message in 500 holds
a made-up secret.
"""

from __future__ import annotations

import random
from pathlib import Path

import orjson

__all__ = ["write_log"]

_STEMS = ("re", "un", "data", "mem", "rank", "decay", "fuse", "note", "plan", "test", "quota")
_ENDS = ("ing", "er", "s", "ed", "able", "ly", "ion", "")
_SMALL = ("the", "of", "and", "to", "in", "is", "for", "we") * 12
_WORDS = tuple(stem + end for stem in _STEMS for end in _ENDS) + _SMALL
_SIGNS = (
    "记忆检索排序衰减融合配额会话日志结论部署数据库索引向量模型参数测试报告时间窗口用户代码接口缓存"
)
_MESSAGES = 3_000
_DAY = 24 * 60


def write_log(path: Path, megabytes: float, *, session: int = 1) -> float:
    """Share of the file's bytes that are kept text, after writing it.

    Parameters
    ----------
    path
        The file to write, JSON lines as Claude Code writes them.
    megabytes
        Size, in 10^6 bytes.
    session
        Number of the session, which seeds the words.
    """
    draw = random.Random(session)
    pool = [_message(draw) for _ in range(_MESSAGES)]
    key = "AKIA" + "IOSFODNN7" + "QWERTYU"
    size = kept = line = 0
    with path.open("wb") as file:
        while size < megabytes * 10**6:
            line += 1
            text = f"{line} {pool[draw.randrange(_MESSAGES)]}"
            if line % 500 == 0:
                text += f"\naws_access_key_id = {key}"
            chance, role = draw.random(), "user" if line % 2 else "assistant"
            content: object = text if line % 2 else [{"type": "text", "text": text}]
            if chance < 0.12:
                result = pool[draw.randrange(_MESSAGES)] * 2
                content = [{"type": "tool_result", "tool_use_id": f"t{line}", "content": result}]
            elif chance < 0.2:
                call = {"command": text[:200]}
                content = [{"type": "tool_use", "id": f"t{line}", "name": "Bash", "input": call}]
            else:
                kept += len(text.encode())
            record = {
                "parentUuid": f"{session:04d}{line - 1:012x}",
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/someone/project",
                "sessionId": f"{session:08d}-0000-4000-8000-000000000000",
                "version": "2.0.1",
                "gitBranch": "main",
                "type": role,
                "message": {"role": role, "content": content},
                "uuid": f"{session:04d}{line:012x}",
                "timestamp": _moment(line),
            }
            raw = orjson.dumps(record) + b"\n"
            size += file.write(raw)
    return kept / size


def _message(draw: random.Random) -> str:
    count = int(draw.expovariate(1 / 1_500)) + 30
    if draw.random() < 0.2:
        return "".join(draw.choices(_SIGNS, k=count))
    return " ".join(draw.choices(_WORDS, k=count // 6 + 1))


def _moment(line: int) -> str:
    """Time of a line, four to a minute."""
    day, minute = divmod(line // 4, _DAY)
    date = f"2026-{1 + day // 28 % 12:02d}-{1 + day % 28:02d}"
    return f"{date}T{minute // 60:02d}:{minute % 60:02d}:{line % 4 * 15:02d}.123Z"
