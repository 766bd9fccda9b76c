"""Tables of runs that are compared over seeds."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from scipy import stats

WIDE = 160


def over_seeds(values: np.ndarray, sign: str = "") -> str:
    """Mean of float[seeds] and its 95 % interval by Student's t; the number alone for one seed. sign: "+" for
    differences."""
    mean = values.mean()
    if len(values) < 2:
        return f"{mean:{sign}.1f}"
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{mean:{sign}.1f} [{mean - half:{sign}.1f}, {mean + half:{sign}.1f}]"


def show_table(heads: Sequence[str], lines: Sequence[Sequence[str]], note: str, folder: Path) -> None:
    """Prints a table, its names left, its numbers right, with a note, and writes both as comparison.md."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in heads:
        table.add_column(head, justify="left" if head == heads[0] else "right")
    for line in lines:
        table.add_row(*line)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    console.print(table)
    console.print(note, style="dim", highlight=False)
    body = [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *lines)]
    (folder / "comparison.md").write_text("\n".join([*body, "", note, ""]))
