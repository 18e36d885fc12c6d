"""Make the project's environment: .venv with the versions of constraints.txt, torch first.

Run by `make` with whatever Python 3 there is, so this file has to parse on old ones. What was
installed is remembered in .venv/.stamp; nothing happens while that still holds.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / ".stamp"
CONSTRAINTS = ROOT / "constraints.txt"
OLDEST = (3, 11)
EXTRAS = ".[models,fast,dev]"


def main() -> int:
    """Exit code 0 once .venv is as the project's files ask; 1 with the one command to run."""
    if sys.version_info < OLDEST:
        return refuse(
            "Python 3.11 or newer is needed, this is " + platform.python_version(), get_python()
        )
    wanted = digest()
    if STAMP.exists() and STAMP.read_text() == wanted and runs(PYTHON):
        STAMP.touch()
        return 0
    if not runs(PYTHON) and not make_venv():
        version = "{}.{}".format(*sys.version_info[:2])
        return refuse(
            "this Python has no venv module", "sudo apt-get install python" + version + "-venv"
        )
    if not (with_uv() or with_pip()):
        return refuse("an installation failed (see above)", "make .venv/.stamp")
    STAMP.write_text(wanted)
    return 0


def refuse(reason: str, command: str) -> int:
    print("recalltune: " + reason + ". Run:\n\n    " + command + "\n", file=sys.stderr)
    return 1


def get_python() -> str:
    if shutil.which("apt-get"):
        return "sudo apt-get install python3.11 python3.11-venv"
    if shutil.which("brew"):
        return "brew install python@3.13"
    return "make PYTHON=/path/to/python3.11 " + os.environ.get("VERB", "demo")


def digest() -> str:
    """What the environment is made from; settings of linters and tests do not count."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [project.get(table) for table in ("build-system", "project")]
    told = repr([asked, project["tool"]["hatch"], EXTRAS, sys.version_info[:2], str(ROOT)])
    return hashlib.sha256((told + CONSTRAINTS.read_text(encoding="utf-8")).encode()).hexdigest()


def runs(python: Path) -> bool:
    return python.exists() and call([python, "-c", ""])


def make_venv() -> bool:
    """Whether .venv could be made; uv helps out where Python came without ensurepip."""
    print("making " + str(VENV), flush=True)
    if call([sys.executable, "-c", "import ensurepip, venv"]):
        return call([sys.executable, "-m", "venv", "--clear", VENV])
    return bool(shutil.which("uv")) and call(["uv", "venv", "--clear", "-p", sys.executable, VENV])


def torch() -> str:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def with_uv() -> bool:
    """Whether uv did it all; without uv, or when it fails, pip does."""
    if not shutil.which("uv"):
        return False
    environment = dict(os.environ)
    # uv reads none of pip's settings.
    for pip, uv in (
        ("PIP_FIND_LINKS", "UV_FIND_LINKS"),
        ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"),
        ("PIP_EXTRA_INDEX_URL", "UV_INDEX"),
        ("PIP_CERT", "SSL_CERT_FILE"),
    ):
        if pip in os.environ:
            environment.setdefault(uv, os.environ[pip])
    pinned, constraints = torch(), CONSTRAINTS
    if local_build():
        # uv, unlike pip, prefers a public 2.13.0 to a local 2.13.0+cpu unless it is told.
        pinned = torch() + "+cpu"
        constraints = VENV / "constraints-cpu.txt"
        constraints.write_text(CONSTRAINTS.read_text(encoding="utf-8").replace(torch(), pinned))
    install = ["uv", "pip", "install", "--python", PYTHON]
    index = os.environ.get("TORCH_INDEX")
    extra = ["--index-strategy", "unsafe-best-match", "--extra-index-url", index] if index else []
    return call([*install, *extra, pinned], environment) and call(
        [*install, "-c", constraints, "-e", EXTRAS], environment
    )


def local_build() -> bool:
    tag = "cp{}{}".format(*sys.version_info[:2])
    folders = os.environ.get("PIP_FIND_LINKS", "").split()
    pattern = torch().replace("==", "-") + "+cpu-" + tag + "-*.whl"
    return any(list(Path(f).glob(pattern)) for f in folders if Path(f).is_dir())


def with_pip() -> bool:
    """Whether pip did it all. Not compiling saves half the time; first imports do it instead."""
    install = [PYTHON, "-m", "pip", "install", "--no-compile", "--disable-pip-version-check"]
    index = os.environ.get("TORCH_INDEX")
    extra = ["--extra-index-url", index] if index else []
    # Alone and first: an open range would bring another torch, and its index slows every look-up.
    return call([*install, *extra, torch()]) and call([*install, "-c", CONSTRAINTS, "-e", EXTRAS])


def call(command: list, environment=None) -> bool:
    told = [str(part) for part in command]
    return subprocess.run(told, cwd=str(ROOT), env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
