"""Where the labels of `pareto_quality_tokens` go: clear of points, bars, frontier and arrow."""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl

from recalltune.charts import figures
from recalltune.charts.axes import range_axis
from recalltune.charts.layout import Box, place
from recalltune.charts.look import current
from recalltune.charts.palette import family_of
from recalltune.charts.text import cut, pixels

__all__ = ["SIZE", "Plane", "labelled_points", "line_boxes"]

SIZE = (520, 300)


class Plane:
    """Scales of the plot, and px of a point on it."""

    def __init__(self, xs: list[float], ys: list[float]) -> None:
        self.x_scale, self.x_axis = range_axis(min(xs, default=0), max(xs, default=1), about=5)
        self.y_scale, self.y_axis = range_axis(
            min(ys, default=0), max(ys, default=1), about=5, grid=True
        )

    def px(self, x: float, y: float) -> tuple[float, float]:
        """Place of a point in px, y downwards."""
        (x_low, x_high), (y_low, y_high) = (
            tuple(scale.to_dict()["domain"]) for scale in (self.x_scale, self.y_scale)
        )
        return (
            SIZE[0] * (x - x_low) / (x_high - x_low),
            SIZE[1] * (y_high - y) / (y_high - y_low),
        )


def line_boxes(edge: list[dict[str, Any]], arrow: list[dict[str, Any]], plane: Plane) -> list[Box]:
    """The frontier's steps and the dashed line as chains of small boxes."""
    boxes = []
    corners = [plane.px(row["tokens"], row["quality"]) for row in edge]
    for (x, y), (next_x, _) in itertools.pairwise(corners):
        boxes.append(Box(x, y - 2, next_x, y + 2))
    if len(arrow) == 2:
        (x, y), (far_x, far_y) = (plane.px(row["tokens"], row["quality"]) for row in arrow)
        for at in range(1, 20):
            here_x, here_y = x + (far_x - x) * at / 20, y + (far_y - y) * at / 20
            boxes.append(Box(here_x - 3, here_y - 3, here_x + 3, here_y + 3))
    return boxes


def labelled_points(points: pl.DataFrame, plane: Plane, lines: list[Box]) -> list[dict[str, Any]]:
    """Rows of default, chosen and presets, each with the place of its label in px."""
    colours = current()
    named = {"default": "current default", "chosen": "chosen"}
    rows = []
    for row in points.filter(pl.col("role") != "setting").sort("tokens", "label").rows(named=True):
        role = row["role"]
        text = cut(row["label"] or named.get(role, "preset"), 28)
        family = family_of(row["family"] or row["label"] or "")
        colour = colours.ink if role != "preset" else colours.family[family]
        rows.append(
            {
                "tokens": row["tokens"],
                "quality": row["quality"],
                "lo": row["lo"],
                "hi": row["hi"],
                "has_bar": row["lo"] is not None and row["hi"] is not None,
                "text": text,
                "shape": {"default": "diamond", "chosen": "circle"}.get(role, "square"),
                "colour": colour,
                "filled": colours.paper if role == "default" else colour,
                "text_colour": colours.ink if role != "preset" else colours.family_text[family],
                "used": figures.count(row["tokens"]),
                "number": figures.metric(row["quality"]),
                "interval": figures.bounds(row["lo"], row["hi"]),
            }
        )
    boxes = [*_obstacles(rows, plane), *lines]
    # Default and choice take the best sides; presets make way.
    for row in sorted(rows, key=lambda row: (row["shape"] == "square", row["tokens"])):
        size = (pixels(str(row["text"]), 11.5), 15.0)
        box = place(plane.px(row["tokens"], row["quality"]), size, boxes, SIZE)
        boxes.append(box)
        x, y = plane.px(row["tokens"], row["quality"])
        middle = (box.top + box.bottom) / 2
        # A label that had to move away is tied to its point by a thin line.
        near = box.left if box.left > x else box.right
        far = max(abs(near - x), abs(middle - y)) > 20
        row |= {"left": box.left, "middle": middle, "near": near, "far": far}
    return rows


def _obstacles(rows: list[dict[str, Any]], plane: Plane) -> list[Box]:
    boxes = []
    for row in rows:
        x, y = plane.px(row["tokens"], row["quality"])
        boxes.append(Box(x - 7, y - 7, x + 7, y + 7))
        if row["has_bar"]:
            _, top = plane.px(row["tokens"], row["hi"])
            _, bottom = plane.px(row["tokens"], row["lo"])
            boxes.append(Box(x - 3, top, x + 3, bottom))
    return boxes
