"""A JupyterLab of its own and a page in Chromium that may talk to nothing else."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

WAIT_SECONDS = 120
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
NO_NEWS = '{"fetchNews": "false", "checkForUpdates": false}'


@dataclass
class Server:
    url: str
    token: str
    log: Path


@contextmanager
def jupyter(folder: Path, home: Path) -> Iterator[Server]:
    """JupyterLab over ``folder`` on a free port; settings and workspaces live in ``home``."""
    quiet = home / "config/lab/user-settings/@jupyterlab/apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text(NO_NEWS, encoding="utf-8")
    port, token, log = _free_port(), secrets.token_hex(16), home / "server.log"
    places = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data",
              "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython"}  # fmt: skip
    env = {**os.environ, **{name: str(home / place) for name, place in places.items()}}
    env["JUPYTER_PREFER_ENV_PATH"] = "1"
    command = [
        sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=None",
    ]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=out, cwd=folder)
        try:
            server = Server(f"http://127.0.0.1:{port}", token, log)
            _wait_until_up(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@dataclass
class Page:
    """A page, and every address outside 127.0.0.1 that it asked for."""

    page: Any
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def chromium_page(executable: str) -> Iterator[Page]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1300, "height": 2400})
            page.set_default_timeout(WAIT_SECONDS * 1000)
            seen = Page(page)

            def guard(route: Any) -> None:
                parts = urlsplit(route.request.url)
                if parts.scheme in ("data", "blob") or parts.hostname == "127.0.0.1":
                    route.continue_()
                else:
                    seen.outside.append(route.request.url)
                    route.abort()

            page.route("**/*", guard)
            page.on("pageerror", lambda error: seen.errors.append(str(error)))
            yield seen
        finally:
            browser.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(server: Server, process: subprocess.Popen[bytes]) -> None:
    last = time.monotonic() + WAIT_SECONDS
    request = urllib.request.Request(f"{server.url}/api/status?token={server.token}")
    while time.monotonic() < last:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(request, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    message = f"JupyterLab did not start: {server.log.read_text(encoding='utf-8')[-2000:]}"
    raise RuntimeError(message)
