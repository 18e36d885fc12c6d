"""Colours are told apart, and read, by eyes of every kind; measured, so none slips in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from recalltune.charts.look import config, using
from recalltune.charts.palette import DARK, DASHES, LAYERS, LIGHT, Palette, family_of, palette
from recalltune.charts.shades import ink_on, luminance, shade
from recalltune.errors import ParameterError

# Machado, Oliveira & Fernandes 2009, severity 1, on linear sRGB.
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                            [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


def linear(colour: str) -> NDArray[np.float64]:
    part = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def oklab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    # Ottosson 2020: linear sRGB -> cone response -> cube root -> Lab
    cones = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                      [0.2119034982, 0.6806995451, 0.1073969566],
                      [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
    lab = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                    [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip
    return lab @ np.cbrt(cones @ rgb)


def closest(colours: list[str]) -> float:
    """Smallest OKLab distance x 100 of any two colours for any of the four eyes."""
    return min(
        100.0 * float(np.linalg.norm(seen(eye, one) - seen(eye, two)))
        for one, two in itertools.combinations(colours, 2)
        for eye in EYES.values()
    )


def seen(eye: NDArray[np.float64], colour: str) -> NDArray[np.float64]:
    return oklab(np.clip(eye @ linear(colour), 0.0, 1.0))


def contrast(one: str, two: str) -> float:
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_on_white_is_21() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)


def test_a_colour_is_at_no_distance_from_itself_and_black_from_white_is_100() -> None:
    assert closest(["#214892", "#214892"]) == 0.0
    assert 100 * np.linalg.norm(oklab(linear("#FFFFFF")) - oklab(linear("#000000"))) == (
        pytest.approx(100.0, abs=0.01)
    )


@pytest.mark.parametrize(
    ("colours", "kind", "least"),
    [(LIGHT, "layer", 10.9), (DARK, "layer", 12.6), (LIGHT, "family", 12.0),
     (DARK, "family", 12.8), (LIGHT, "outcome", 13.0), (DARK, "outcome", 11.5)],
)  # fmt: skip
def test_members_of_a_set_stay_apart_for_every_eye(
    colours: Palette, kind: str, least: float
) -> None:
    members = dict(getattr(colours, kind))
    members.pop("others", None)  # ink: told by its dash and its label
    assert closest(list(members.values())) >= least


@THEMES
def test_marks_stand_out_from_the_paper_by_three_to_one(colours: Palette) -> None:
    for marks in (colours.layer, colours.family, colours.outcome):
        assert {name: contrast(c, colours.paper) for name, c in marks.items()
                if contrast(c, colours.paper) < 3} == {}  # fmt: skip


@THEMES
def test_text_stands_out_from_the_paper_by_four_and_a_half_to_one(colours: Palette) -> None:
    texts = {**colours.layer_text, **colours.family_text, **colours.outcome_text,
             "ink": colours.ink, "muted": colours.muted}  # fmt: skip
    assert {n: c for n, c in texts.items() if contrast(c, colours.paper) < 4.5} == {}


@THEMES
def test_numbers_on_any_cell_of_the_ramp_can_be_read(colours: Palette) -> None:
    with using(colours.name):
        fills = [shade(at / 50) for at in range(-50, 51)]
    assert min(contrast(fill, ink_on(fill)) for fill in fills) >= 4.0


def test_the_ramp_never_passes_through_pink() -> None:
    # Pink = red and blue both above green by a fifth of the range.
    for at in range(-50, 51):
        red, green, blue = (int(shade(at / 50)[i : i + 2], 16) for i in (1, 3, 5))
        assert not (red > green + 25 and blue > green + 25)


def test_preset_families_differ_by_dash_as_well_as_by_colour() -> None:
    assert len(set(DASHES.values())) == len(DASHES) == len(LIGHT.family)


def test_a_preset_wears_the_colour_of_its_family() -> None:
    assert family_of("lancedb-pro") == family_of("recallnest") == "recallnest"
    assert family_of("openclaw-legacy") == "openclaw"
    assert family_of("generative-agents") == "others"


def test_an_unknown_layer_is_grey_and_an_unknown_theme_is_refused() -> None:
    assert LIGHT.layer_mark("自定义") == LIGHT.outcome["unchanged"]
    assert set(LIGHT.layer) == set(LAYERS)
    with pytest.raises(ParameterError, match="theme must be one of light, dark, got 'drak'"):
        palette("drak")


def test_the_theme_is_opaque_and_puts_the_chinese_face_first() -> None:
    for colours in (LIGHT, DARK):
        theme = config(colours)
        assert theme["background"] == colours.paper
        assert theme["font"].startswith("'Noto Sans CJK SC'")
        assert theme["title"]["limit"] == theme["axis"]["titleLimit"] == 0
