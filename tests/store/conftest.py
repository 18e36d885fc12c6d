"""One lab for a whole test run; what a test writes is rolled back after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import duckdb
import pytest

from recalltune import store


class _Discard(Exception):
    pass


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> store.Lab:
    return store.open(tmp_path_factory.mktemp("lab") / "lab.duckdb")


@pytest.fixture
def con(lab: store.Lab) -> Iterator[duckdb.DuckDBPyConnection]:
    with suppress(_Discard), lab.writing() as con:
        yield con
        raise _Discard
