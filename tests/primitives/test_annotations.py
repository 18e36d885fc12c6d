"""What an entry says of itself: importance in ten points, projects."""

from __future__ import annotations

import numpy as np
import pytest

from recalltune.errors import ParameterError
from recalltune.rank.annotations import project_multiplier, ten_point_multiplier


def test_five_points_are_neutral_and_ten_are_a_quarter_more():
    found = ten_point_multiplier([1, 4, 5, 5.9, 7, 10, np.nan])
    np.testing.assert_allclose(found, [0.8, 0.95, 1.0, 1.0, 1.1, 1.25, 1.0], rtol=1e-15)
    assert ten_point_multiplier([np.nan], base=0.3, step=0.1).tolist() == [1.0]


@pytest.mark.parametrize("bad", [0.0, 0.7, 10.5, -3.0])
def test_an_importance_of_another_scale_is_refused(bad):
    with pytest.raises(ParameterError, match=r"importance must lie in \[1, 10\], got"):
        ten_point_multiplier([5.0, bad])


def test_every_part_of_a_key_has_to_be_active():
    keys = ["a", "a; b", " a ;b; ", "a;z", "z", ""]
    found = project_multiplier(keys, {"a", "b"}, same=2.0, other=0.5)
    assert found.tolist() == [2.0, 2.0, 2.0, 0.5, 0.5, 1.0]


def test_without_an_active_project_nobody_is_told_apart():
    assert project_multiplier(["a", ""], []).tolist() == [1.0, 1.0]


def test_a_bare_text_is_no_list_of_projects():
    with pytest.raises(ParameterError, match="active must be a list"):
        project_multiplier(["a"], "a")
    with pytest.raises(ParameterError, match="other must lie in"):
        project_multiplier(["a"], ["a"], other=-0.1)
