"""``python -m recalltune``: the same as the shell command."""

from __future__ import annotations

from recalltune.cli import main

if __name__ == "__main__":
    main()
