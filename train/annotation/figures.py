"""Pictures of a selection: heat maps, coverage, and what follows what."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from jaxenv.selection import Profile
from train.plots import INK, LINE

MOST_NUMBERED = 16  # rows of a heat map whose numbers can be read
SHOWN = 0.1  # transitions rarer than this are left out of a graph


def heatmaps(values: Mapping[str, np.ndarray], names: Sequence[str], path: str | Path) -> None:
    """Draw arrays float[n, n] in -1..1, with a name a row and column, beside each other under their titles as
    a PNG, with the numbers where they fit."""
    side = 2.2 + 0.32 * len(names)
    figure = Figure(figsize=(len(values) * side + 0.8, side), dpi=110, layout="constrained")
    axes = figure.subplots(1, len(values), squeeze=False)[0]
    for axis, (title, cells) in zip(axes, values.items(), strict=True):
        shown = axis.imshow(cells, cmap="RdBu", vmin=-1, vmax=1)
        axis.set_xticks(range(len(names)), names, rotation=90, fontsize=7, color=INK)
        axis.set_yticks(range(len(names)), names, fontsize=7, color=INK)
        axis.set_title(title, loc="left", fontsize=9.5, color=INK)
        if len(names) <= MOST_NUMBERED:
            _number(axis, cells)
    figure.colorbar(shown, ax=axes, shrink=0.7).ax.tick_params(labelsize=7)
    figure.savefig(path)


def _number(axis: Axes, cells: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(cells):
        ink = "white" if abs(value) > 0.6 else INK
        axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color=ink)


def coverage_curves(curves: Mapping[str, Sequence[float]], path: str | Path) -> None:
    """Draw the share of the core abilities covered by the first n environments, a line a name, as a PNG."""
    figure = Figure(figsize=(5.2, 3.2), dpi=110, layout="constrained")
    axis = figure.subplots()
    for name, curve in curves.items():
        axis.plot(range(len(curve) + 1), [0, *curve], marker="o", markersize=2.5, linewidth=1.2, label=name)
    axis.set_xlabel("environments", fontsize=9, color=INK)
    axis.set_title("core abilities covered", loc="left", fontsize=9.5, color=INK)
    axis.set_ylim(0, 1.03)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(fontsize=8, frameon=False)
    axis.tick_params(labelsize=8, colors=INK)
    figure.savefig(path)


def ability_graph(profile: Profile, abilities: Sequence[str], title: str, path: str | Path) -> None:
    """Draw the abilities that a profile exercises on a circle as a PNG: the larger, the more often, core ones
    filled; an arrow, the darker, the more often one follows the other."""
    used = np.flatnonzero(profile.frequencies)
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(used)) / max(len(used), 1)
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    figure = Figure(figsize=(7.2, 5.6), dpi=110, layout="constrained")
    axis = figure.subplots()
    sizes = 80 + 2500 * profile.frequencies[used]
    radii = np.sqrt(sizes) / 2 + 1  # points
    for i, one in enumerate(used):
        for j, other in enumerate(used):
            share = float(profile.transitions[one, other])
            if share >= SHOWN and i != j:
                ends = {"shrinkA": radii[i], "shrinkB": radii[j], "connectionstyle": "arc3,rad=0.12"}
                arrow = {"arrowstyle": "->", "color": INK, "alpha": share} | ends
                axis.annotate("", places[j], places[i], arrowprops=arrow)
    fill = [LINE if profile.core[ability] else "white" for ability in used]
    axis.scatter(*places.T, s=sizes, c=fill, edgecolors=LINE, zorder=3)
    for ability, (x, y) in zip(used, 1.2 * places, strict=True):
        side = "left" if x > 0.1 else "right" if x < -0.1 else "center"
        axis.text(x, y, abilities[int(ability)], ha=side, va="center", fontsize=8, color=INK)
    axis.set(xlim=(-2.2, 2.2), ylim=(-1.35, 1.35), aspect="equal")
    axis.axis("off")
    axis.set_title(title, loc="left", fontsize=9.5, color=INK)
    figure.savefig(path)
