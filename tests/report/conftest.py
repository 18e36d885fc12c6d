from __future__ import annotations

import pytest

from report import made_up


@pytest.fixture(scope="session")
def story(tmp_path_factory):
    """A whole run on the made-up memory."""
    return made_up.journey(made_up.filled(tmp_path_factory.mktemp("made_up")))


@pytest.fixture(scope="session")
def written(story, tmp_path_factory):
    """The folder its report was written to."""
    from recalltune.report.journey import write_journey

    out = tmp_path_factory.mktemp("written")
    write_journey(story, out)
    return out
