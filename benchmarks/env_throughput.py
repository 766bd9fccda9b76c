"""How many turns a second: `python -m benchmarks.env_throughput`.

Every row plays random actions sampled inside the measured loop. Ours and jumanji's are one compiled scan over
a batch, with observations and rewards in its carry, so that they are really made. Everything is compiled and
warm first; the repeats of all rows then take turns, so that a noisy moment hits all alike.
"""

import json
import math
import os
import statistics
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import jax
import tyro
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import jaxenv
from benchmarks import peers
from benchmarks.contenders import Contender, Ready, ours

LARGEST = 2
WIDE = 140  # columns that hold a table, for output that goes to a file
SLOW = 50  # times slower than the median: from there a reason is owed
REASONS = {
    "othello": "Its opponent and its targets are found by playing every game to its end.",
    "mapf_frozen_lake_plan": "Every turn ends an episode, and each new board is solved exactly.",
}
T = TypeVar("T")
OURS, THEIRS = "#2a6f97", "#b9bec5"
NOTES = """\
fresh: share of the episodes begun from an instance made in that turn; the rest meet one of the pool again.
The final observation of a finished episode is not asked for, so it is not made. "compile" is that of the scan
alone, beside others. mini_sudoku (4x4, ends every turn) and jumanji's Sudoku (9x9) are not the same size.
gymnasium replays one map and draws at its own size."""


@dataclass(frozen=True)
class ThroughputConfig:
    """Turns a second of environments under random play, beside gymnasium and jumanji."""

    env_set: tuple[str, ...] = ("core12",)
    """Named sets or single environments."""
    scale: int = 0
    """Level of the first table."""
    canvas: tuple[int, ...] = (96,)
    """Sides of the pictures to measure, multiples of 32."""
    num_envs: int = 1024
    """Environments in a batch, ours and jumanji's alike."""
    steps: int = 64
    """Turns of one compiled scan."""
    repeats: int = 5
    """Measurements of each row; the table shows their median, least and greatest."""
    seconds: float = 0.3
    """Shortest time of one measurement; scans are repeated until it is over."""
    peers: bool = True
    """Measure gymnasium and jumanji too, and the second table of boards of their size."""
    json: Path | None = None
    """Write all measurements here."""
    png: Path | None = None
    """Draw a bar chart here."""


@dataclass(frozen=True)
class Row:
    """A measured contender; the speeds are turns of one environment a second, one for each repeat."""

    table: str
    name: str
    board: str
    observation: str
    reset: str
    num_envs: int
    speeds: tuple[float, ...]
    compile_seconds: float
    state_bytes: int | None
    fresh: float | None

    @property
    def median(self) -> float:
        return statistics.median(self.speeds)


def main(config: ThroughputConfig) -> list[Row]:
    """Measures, prints the tables and writes what was asked for."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    with_peers = config.peers and peers.installed()
    if config.peers and not with_peers:
        console.print(peers.INSTALL)
    contenders = {"environments": core_contenders(config)}
    if with_peers:
        contenders["boards of comparable size"] = peer_contenders(config)
    load_before = os.getloadavg()[0]
    rows = measure(config, contenders)
    machine = {
        "device": jax.devices()[0].device_kind,
        "cpus": os.cpu_count(),
        "jax": jax.__version__,
        "load": [load_before, os.getloadavg()[0]],
    }
    for title in contenders:
        console.print(_table(title, [row for row in rows if row.table == title]))
    for row, times in slow_rows([row for row in rows if row.table == "environments"]):
        reason = REASONS.get(row.name, "no reason is known: find out")
        console.print(f"{row.name}, {row.observation}: {times:.0f} times slower than the median. {reason}")
    console.print(f"{NOTES}\n{machine}", style="dim", highlight=False)
    if config.json:
        config.json.write_text(_json(config, machine, rows))
    if config.png:
        chart(rows, config.png)
    return rows


def core_contenders(config: ThroughputConfig) -> list[Contender]:
    """Every environment of the sets, without and with drawing."""
    ids = dict.fromkeys(env_id for name in config.env_set for env_id in jaxenv.env_set(name))
    return [
        ours(env_id, config.scale, canvas, config.num_envs, config.steps)
        for env_id in ids
        for canvas in (0, *config.canvas)
    ]


def peer_contenders(config: ThroughputConfig) -> list[Contender]:
    """The peers, each after our environment that is nearest in rules and size."""
    batch, steps, canvas = config.num_envs, config.steps, max(config.canvas)
    lake, maze, sudoku = "frozen_lake", "maze_2d", "mini_sudoku"
    return [
        ours(lake, 0, 0, batch, steps),
        peers.gymnasium_lake("4x4", False, 8),
        peers.gymnasium_lake("4x4", False, 64),
        ours(lake, 0, canvas, batch, steps),
        peers.gymnasium_lake("4x4", False, 1, draws=True),
        ours(lake, LARGEST, 0, batch, steps),
        peers.gymnasium_lake("8x8", True, 64),
        ours(maze, LARGEST, 0, batch, steps),
        peers.jumanji_game("Maze-v0", "10x10", batch, steps, auto_reset=True),
        ours(maze, LARGEST, 0, batch, steps, auto_reset=False),
        peers.jumanji_game("Maze-v0", "10x10", batch, steps, auto_reset=False),
        ours(sudoku, 0, 0, batch, steps),
        peers.jumanji_game("Sudoku-v0", "9x9", batch, steps, auto_reset=True),
        ours(sudoku, 0, 0, batch, steps, auto_reset=False),
        peers.jumanji_game("Sudoku-v0", "9x9", batch, steps, auto_reset=False),
    ]


def measure(config: ThroughputConfig, contenders: dict[str, list[Contender]]) -> list[Row]:
    """Makes all ready, then measures them in turn, `repeats` times round."""
    entries = [(title, contender) for title, group in contenders.items() for contender in group]
    with ThreadPoolExecutor() as threads:
        ready = list(_told(threads.map(lambda entry: entry[1].prepare(), entries), "compiled", len(entries)))
    for contender in ready:
        contender.play()
    turns = (_speed(contender, config.seconds) for _ in range(config.repeats) for contender in ready)
    speeds = list(_told(turns, "measured", config.repeats * len(ready)))
    by_contender = [speeds[n :: len(ready)] for n in range(len(ready))]
    return [
        Row(
            title,
            entry.name,
            entry.board,
            entry.observation,
            entry.reset,
            entry.num_envs,
            tuple(repeats),
            warm.compile_seconds,
            warm.state_bytes,
            warm.fresh(),
        )
        for (title, entry), warm, repeats in zip(entries, ready, by_contender, strict=True)
    ]


def _told(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """The items, with a bar in a terminal and a line for every tenth part in a log."""
    console = Console(stderr=True)
    if console.is_terminal:
        yield from track(items, what, total, console=console, transient=True)
        return
    for n, item in enumerate(items, 1):
        if n * 10 // total > (n - 1) * 10 // total:
            console.print(f"{what} {n} of {total}", highlight=False)
        yield item


def slow_rows(rows: list[Row]) -> list[tuple[Row, float]]:
    """Rows more than `SLOW` times slower than the median of those with the same observation, and how many
    times."""
    speeds: dict[str, list[float]] = {}
    for row in rows:
        speeds.setdefault(row.observation, []).append(row.median)
    times = [(row, statistics.median(speeds[row.observation]) / row.median) for row in rows]
    return [(row, slower) for row, slower in times if slower > SLOW]


def _speed(contender: Ready, seconds: float) -> float:
    started, turns = time.perf_counter(), 0
    while (spent := time.perf_counter() - started) < seconds or not turns:
        turns += contender.play()
    return turns / spent


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("environment", "board", "observation", "reset"):
        table.add_column(heading)
    for heading in ("envs", "steps/s", "least - greatest", "fresh", "state B", "compile s"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row.name,
            row.board,
            row.observation,
            row.reset,
            str(row.num_envs),
            _short(row.median),
            f"{_short(min(row.speeds))} - {_short(max(row.speeds))}",
            "" if row.fresh is None else f"{row.fresh:.0%}",
            "" if row.state_bytes is None else str(row.state_bytes),
            f"{row.compile_seconds:.1f}" if row.compile_seconds else "",
        )
    return table


def _short(number: float) -> str:
    """Three digits: 3.41 M, 212 k, 950."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            digits = max(2 - int(math.log10(number / size)), 0)
            return f"{number / size:.{digits}f} {unit}"
    return f"{number:.0f}"


def _json(config: ThroughputConfig, machine: dict, rows: list[Row]) -> str:
    record = {
        "config": asdict(config),
        "machine": machine,
        "rows": [asdict(row) | {"median": row.median} for row in rows],
    }
    return json.dumps(record, indent=1, default=str) + "\n"


def chart(rows: list[Row], path: Path) -> None:
    """Horizontal bars, one panel a table, steps/s on a logarithmic scale."""
    titles = list(dict.fromkeys(row.table for row in rows))
    groups = [[row for row in rows if row.table == title] for title in titles]
    figure = Figure(figsize=(9, 1.2 + 0.24 * len(rows)), dpi=110, layout="constrained")
    heights = [len(group) + 2 for group in groups]
    axes = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
    for axis, title, group in zip(axes, titles, groups, strict=True):
        _bars(axis, title, group)
    axes[-1].set_xlabel("steps a second")
    figure.savefig(path)


def _bars(axis: Axes, title: str, rows: list[Row]) -> None:
    middle = [row.median for row in rows]
    spread = [
        [row.median - min(row.speeds) for row in rows],
        [max(row.speeds) - row.median for row in rows],
    ]
    colours = [THEIRS if row.name.startswith(("gymnasium", "jumanji")) else OURS for row in rows]
    places = range(len(rows))
    axis.barh(places, middle, xerr=spread, color=colours, height=0.7, error_kw={"lw": 0.8})
    axis.set_yticks(places, [f"{row.name}, {row.board}, {row.observation}" for row in rows], fontsize=7)
    for place, row in zip(places, rows, strict=True):
        note = "  no reset" if row.reset == "none" else ""
        axis.text(max(row.speeds) * 1.1, place, _short(row.median) + note, va="center", fontsize=7)
    axis.set_xscale("log")
    axis.margins(x=0.15, y=0.02)
    axis.invert_yaxis()
    axis.set_title(title, fontsize=9, loc="left")
    axis.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main(tyro.cli(ThroughputConfig))
