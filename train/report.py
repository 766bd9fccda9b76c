"""What a run tells: the metrics on disk, the progress in the terminal, the table at the end."""

import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from tensorboardX import SummaryWriter

from train.statistics import Estimate, mean_estimate, wilson_interval

METRICS = "metrics.jsonl"


def read_metrics(run_dir: str | Path) -> list[dict[str, Any]]:
    """The records of metrics.jsonl in the order written. A last line cut off by a kill is left out."""
    path = Path(run_dir) / METRICS
    records = []
    for line in path.read_text().splitlines(keepends=True) if path.exists() else []:
        if line.endswith("\n"):
            records.append(json.loads(line))
    return records


class MetricsLog:
    """Appends one record a step to `metrics.jsonl`, flushed, and the same numbers to TensorBoard's files.

    resumed_step: the step of the checkpoint the run goes on from, 0 for a new run. Records of later steps are
    of work that was lost and are dropped, so that the file equals an uninterrupted run's. A new run in a
    used directory therefore starts its metrics again.

    A record is flat: {"step": 3, "reward": 0.4, "success/maze": 0.5, "harness/maze": 1, "scale/maze": 0}.
    `train.plots` draws reward, success, entropy, mixed_groups and those three of every environment.
    """

    def __init__(self, run_dir: str | Path, resumed_step: int = 0) -> None:
        run_dir = Path(run_dir)
        run_dir.mkdir(parents=True, exist_ok=True)
        kept = [record for record in read_metrics(run_dir) if record["step"] <= resumed_step]
        path, new = run_dir / METRICS, run_dir / (METRICS + ".new")
        new.write_text("".join(map(_line, kept)))
        os.replace(new, path)
        self._file = path.open("a")
        self._board = SummaryWriter(str(run_dir / "tensorboard"), purge_step=resumed_step + 1)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append the metrics of one step; a number that is not finite is written as null."""
        record = {"step": step} | {name: _number(value) for name, value in metrics.items()}
        self._file.write(_line(record))
        self._file.flush()
        for name, value in metrics.items():
            self._board.add_scalar(name, float(value), step)
        self._board.flush()

    def close(self) -> None:
        self._file.close()
        self._board.close()

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record) + "\n"


def _number(value: float) -> float | int | None:
    """A Python number from any scalar, null for NaN and infinities: JSON has none."""
    number = value if isinstance(value, int) else float(value)
    return number if math.isfinite(number) else None


class StepProgress:
    """Shows how far a run is: a live bar in a terminal, elsewhere a plain line at most every `seconds`.

    with StepProgress(total=200, done=resumed_step) as progress:
        progress.show(step, {"reward": 0.41, "success": 0.52})

    The first and the last step are always shown.
    """

    def __init__(
        self, total: int, done: int = 0, seconds: float = 5.0, console: Console | None = None
    ) -> None:
        self._console = console or Console(file=sys.stderr)
        self._total, self._seconds = total, seconds
        self._shown = -math.inf
        self._bar = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=self._console,
        )
        self._task = self._bar.add_task("steps", total=total, completed=done, numbers="")

    def show(self, step: int, numbers: Mapping[str, float]) -> None:
        text = "  ".join(f"{name} {value:.3g}" for name, value in numbers.items())
        if self._console.is_terminal:
            self._bar.update(self._task, completed=step, numbers=text)
            return
        now = time.monotonic()
        if step == self._total or now - self._shown >= self._seconds:
            self._shown = now
            self._console.print(f"step {step}/{self._total}  {text}", soft_wrap=True, highlight=False)

    def __enter__(self) -> "StepProgress":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._bar.stop()


@dataclass(frozen=True)
class Count:
    """Successes among independent instances."""

    successes: int
    total: int

    @property
    def estimate(self) -> Estimate:
        return wilson_interval(self.successes, self.total)


@dataclass(frozen=True)
class Scores:
    """One policy on one environment."""

    greedy: Count  # the most probable answer
    sampled: Count  # an answer drawn at the training temperature
    best_fixed: Count  # the best single answer for all instances: what can be had without looking
    shuffled: Count  # greedy, with another instance's picture: what can be had from the texts alone


@dataclass(frozen=True)
class ResultRow:
    """An environment before and after training; `change` is that of the greedy successes, paired."""

    environment: str
    before: Scores
    after: Scores
    change: Estimate


COLUMNS = {
    "greedy": "greedy",
    "sampled": "sampled",
    "best_fixed": "fixed",
    "shuffled": "shuffled",
}
MEAN = "mean"
WIDE = 120  # columns of a terminal that hold a table with all its intervals


def results_table(
    rows: Sequence[ResultRow],
    run_dir: str | Path,
    change: Estimate,
    console: Console | None = None,
) -> None:
    """Print the success rates before and after training, and write them as results.md and results.json.

    Rates are in percent with 95 % intervals: Wilson's for an environment, `mean_estimate` for their mean.
    change: `paired_difference` of the greedy successes of all environments.
    """
    heads = ["environment", "", *COLUMNS.values(), "change"]
    note = (
        "Success in percent with 95 % intervals. Fixed: the best single answer for all instances.\n"
        "Shuffled: greedy with another instance's picture. Change: after minus before on the same instances."
    )

    run_dir = Path(run_dir)
    run_dir.mkdir(parents=True, exist_ok=True)
    told = _markdown(heads, _lines(rows, change)) + "\n" + note.replace("\n", "  \n") + "\n"
    (run_dir / "results.md").write_text(told)
    (run_dir / "results.json").write_text(json.dumps(_json(rows, change), indent=2) + "\n")
    console = console or terminal()
    console.print(_rich(heads, _lines(rows, change, brief=console.width < WIDE)))
    console.print(note, highlight=False, markup=False)


def scores_table(names: Sequence[str], scores: Sequence[Scores], console: Console | None = None) -> None:
    """Print the success rates of one policy, in percent with 95 % intervals, their mean last."""
    table = Table("environment", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in COLUMNS.values():
        table.add_column(head, justify="right", no_wrap=True)
    estimates = [[getattr(score, column).estimate for column in COLUMNS] for score in scores]
    means = [mean_estimate(list(column)) for column in zip(*estimates, strict=True)]
    for name, line in zip([*names, MEAN], [*estimates, means], strict=True):
        table.add_row(name, *map(_percent, line), end_section=name == names[-1])
    (console or terminal()).print(table)


def terminal() -> Console:
    """The terminal; where output goes elsewhere, one as wide as the tables."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


def _lines(rows: Sequence[ResultRow], change: Estimate, brief: bool = False) -> list[tuple[str, ...]]:
    """Cells of the table; in a brief one only the greedy success and its change have intervals."""
    changes = {row.environment: row.change for row in rows} | {MEAN: change}
    lines = []
    for name, when, (greedy, *others) in _estimates(rows):
        side = [f"{100 * other.value:.0f}" if brief else _percent(other) for other in others]
        gained = _change(changes[name], digits=0 if brief else 1) if when == "after" else ""
        lines.append((name, when, _percent(greedy), *side, gained))
    return lines


def _estimates(rows: Sequence[ResultRow]) -> list[tuple[str, str, list[Estimate]]]:
    """(environment, before or after, one estimate a column), the mean over environments last."""
    result, means = [], []
    for when in ("before", "after"):
        scores = [getattr(row, when) for row in rows]
        table = [[getattr(score, column).estimate for column in COLUMNS] for score in scores]
        result += [(row.environment, when, estimates) for row, estimates in zip(rows, table, strict=True)]
        means.append((MEAN, when, [mean_estimate(list(column)) for column in zip(*table, strict=True)]))
    order = {row.environment: i for i, row in enumerate(rows)}
    return sorted(result, key=lambda line: order[line[0]]) + means  # stable: before stays ahead of after


def _percent(estimate: Estimate) -> str:
    value, low, high = (100 * x for x in estimate)
    return f"{value:.0f} [{low:.0f}, {high:.0f}]"


def _change(estimate: Estimate, digits: int) -> str:
    value, low, high = (f"{100 * x:+.{digits}f}" for x in estimate)
    return f"{value} [{low}, {high}]"


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", "---", *["---:"] * (len(heads) - 2)]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in (heads, rule, *lines))


def _rich(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(heads[0], no_wrap=True)
    table.add_column(heads[1])
    for head in heads[2:]:
        table.add_column(head, justify="right", no_wrap=True)
    for name, when, *cells in lines:
        after = when == "after"
        shown = "" if after else name
        table.add_row(shown, when, *cells, style="bold" if after else "dim", end_section=after)
    return table


def _json(rows: Sequence[ResultRow], change: Estimate) -> dict[str, Any]:
    intervals = {
        (name, when): {c: e._asdict() for c, e in zip(COLUMNS, estimates, strict=True)}
        for name, when, estimates in _estimates(rows)
    }
    return {
        "environments": [
            {
                "environment": row.environment,
                "counts": {when: asdict(getattr(row, when)) for when in ("before", "after")},
                "change": row.change._asdict(),
            }
            | {when: intervals[row.environment, when] for when in ("before", "after")}
            for row in rows
        ],
        MEAN: {when: intervals[MEAN, when] for when in ("before", "after")},
        "change": change._asdict(),
    }
