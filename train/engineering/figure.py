"""How the distribution of the training instances moved over the rounds, as a picture."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from train.engineering.config import LIMITS, SIZES
from train.engineering.records import Proposal

TITLES = {"data": "share of the data", "hole": "holes / cells", "wait": "share of wait instances"}
INK = "#2b2d31"


def distribution_figure(proposals: Sequence[Proposal], path: str | Path) -> None:
    """Draw the configuration of every round, from round 0, as a PNG: a panel a ratio, a line a round.

    The later the round, the darker its line; a round that kept the configuration before it is dashed. Raises
    ValueError for no round.
    """
    if not proposals:
        raise ValueError("proposals: no round to draw")
    figure = Figure(figsize=(10.5, 3.4), dpi=110, layout="constrained")
    axes = figure.subplots(1, len(TITLES))
    colors = matplotlib.colormaps["YlGnBu"](np.linspace(0.35, 1.0, len(proposals)))
    for axis, (name, title) in zip(axes, TITLES.items(), strict=True):
        for number, (proposal, color) in enumerate(zip(proposals, colors, strict=True)):
            line = "--" if proposal.origin == "kept" else "-"
            label = f"round {number}, {proposal.origin}"
            axis.plot(
                SIZES,
                getattr(proposal.config, name),
                line,
                marker="o",
                markersize=3.5,
                color=color,
                label=label,
            )
        _dress(axis, title)
        axis.set_ylim(0, None if name == "data" else 1.03 * LIMITS[name])
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8.5, frameon=False
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _dress(axis: Axes, title: str) -> None:
    axis.set_title(title, loc="left", fontsize=9.5, color=INK)
    axis.set_xlabel("board size", fontsize=9, color=INK)
    axis.set_xticks(SIZES)
    axis.tick_params(labelsize=8, colors=INK)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", linewidth=0.4, alpha=0.5)
