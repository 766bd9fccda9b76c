"""Pictures of a run, drawn from its metrics."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from train.report import read_metrics

TOTALS = {
    "reward": "mean reward",
    "success": "success",
    "entropy": "entropy (nats a token)",
    "mixed_groups": "share of mixed groups",
}
LINE, INK, FAINT = "#2a6f97", "#2b2d31", "#8d9299"
HARNESS = ["#ffffff", "#f6ecd2", "#efd9a7", "#e5c077", "#d9a441"]  # H0 .. H4: the darker, the less help
COLUMNS = 4


def learning_curves(run_dir: str | Path) -> Path:
    """Draw metrics.jsonl as <run_dir>/learning_curves.png and return its path.

    Above: the run's totals. Below: one panel an environment with its success, raw and smoothed, on a ground
    coloured by the harness frontier, with a tick at the top where the scale frontier moved. Raises ValueError
    for a run without metrics.
    """
    records = read_metrics(run_dir)
    if not records:
        raise ValueError(f"no metrics in {run_dir}")
    series = _series(records)
    environments = sorted(name.removeprefix("success/") for name in series if name.startswith("success/"))
    rows = 1 + math.ceil(len(environments) / COLUMNS)
    figure = Figure(figsize=(3.4 * COLUMNS, 2.3 * rows + 0.5), dpi=110)
    figure.subplots_adjust(
        left=0.05, right=0.98, top=1 - 0.1 / rows, bottom=0.4 / rows, wspace=0.22, hspace=0.55
    )
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for axis in axes:
        axis.set_visible(False)
    for axis, (name, title) in zip(axes, TOTALS.items(), strict=False):
        if name in series:
            _curve(axis, title, *series[name])
    for axis, name in zip(axes[COLUMNS:], environments, strict=False):
        _environment(axis, name, series)
    figure.supxlabel("training step", fontsize=9, color=INK)
    if any(name.startswith("harness/") for name in series):
        _legend(figure)
    path = Path(run_dir) / "learning_curves.png"
    figure.savefig(path)
    return path


def _series(records: list[dict[str, Any]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Every metric's steps and values where it was measured."""
    names = {name for record in records for name in record} - {"step"}
    points = {n: [(r["step"], r[n]) for r in records if r.get(n) is not None] for n in names}
    return {name: (np.array(p).T[0], np.array(p).T[1]) for name, p in points.items() if p}


def _smooth(values: np.ndarray) -> np.ndarray:
    """Mean over a centred window of a fifteenth of the run, shorter at the ends."""
    half = max(1, len(values) // 30)
    return np.array([values[max(0, i - half) : i + half + 1].mean() for i in range(len(values))])


def _curve(axis: Axes, title: str, steps: np.ndarray, values: np.ndarray) -> None:
    axis.set_visible(True)
    axis.plot(steps, values, color=LINE, alpha=0.25, linewidth=0.8)
    axis.plot(steps, _smooth(values), color=LINE, linewidth=1.8)
    axis.set_title(title, loc="left", fontsize=9.5, color=INK)
    axis.tick_params(labelsize=8, colors=INK)
    axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(4))
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(x=0.01)


def _legend(figure: Figure) -> None:
    marks: list[Any] = [
        Patch(facecolor=color, edgecolor=FAINT, linewidth=0.5, label=f"H{level}")
        for level, color in enumerate(HARNESS)
    ]
    marks.append(Line2D([], [], marker="|", linestyle="", color=INK, label="scale moved"))
    figure.legend(handles=marks, loc="lower right", ncols=6, fontsize=8.5, frameon=False)


def _environment(axis: Axes, name: str, series: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """One environment's success over its frontier."""
    _curve(axis, name, *series[f"success/{name}"])
    axis.set(ylim=(-0.03, 1.03), yticks=(0, 0.5, 1))
    if f"harness/{name}" not in series:
        return
    steps, harness = series[f"harness/{name}"]
    _, scale = series[f"scale/{name}"]
    starts = np.flatnonzero(np.diff(harness, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(steps) - 1], strict=True):
        level = int(harness[start])
        axis.axvspan(steps[start], steps[end], color=HARNESS[level], zorder=-1, linewidth=0)
    moved = steps[np.flatnonzero(np.diff(scale)) + 1]
    axis.plot(moved, np.ones_like(moved), "|", color=INK, markersize=7, clip_on=False)
    axis.set_title(f"H{int(harness[-1])}, scale {int(scale[-1])}", loc="right", fontsize=8.5, color=FAINT)
