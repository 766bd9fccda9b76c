"""Valid and optimal rates by board size and number of agents, ours below the published ones."""

import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from train.engineering.config import SIZES
from train.engineering.records import Cell, tally
from train.report import terminal
from train.statistics import wilson_interval

Rates = tuple[float, float]  # valid, optimal; in percent
PUBLISHED = "†"


@dataclass(frozen=True)
class Row:
    """One policy on the sets of one number of agents; `mean` is over sizes, None where one is missing."""

    policy: str
    agents: int
    by_size: Mapping[int, Rates]
    mean: Rates | None


def published_rows() -> list[Row]:
    """The published table, policies marked with a dagger."""
    text = (resources.files("train.engineering") / "published.toml").read_text()
    rows = []
    for row in tomllib.loads(text)["rows"]:
        rates = list(zip(row["valid"], row["optimal"], strict=True))
        by_size = dict(zip(SIZES[-len(rates) :], rates, strict=True))
        rows.append(Row(f"{row['policy']} {PUBLISHED}", row["agents"], by_size, tuple(row["means"])))
    return rows


def own_rows(policy: str, agents: int, evaluation: Sequence[Cell]) -> list[Row]:
    """The rows of one policy of ours: all wait ratios together, then, of several, each by itself."""
    cells = [cell for cell in evaluation if cell.agents == agents]
    waits = sorted({cell.wait for cell in cells})
    groups = {policy: cells} if cells else {}
    if len(waits) > 1:
        groups |= {
            f"{policy}, wait {wait:.2f}": [cell for cell in cells if cell.wait == wait] for wait in waits
        }
    return [_own_row(name, agents, group) for name, group in groups.items()]


def evaluation_tables(
    results: Mapping[str, Sequence[Cell]], run_dir: str | Path, console: Console | None = None
) -> None:
    """Print the rates of our policies (name -> evaluation) beside the published ones, a table for each number
    of agents; and write them as <run_dir>/evaluation.md, there to two decimals. Raises ValueError for no
    evaluation."""
    if not results or not all(results.values()):
        raise ValueError("results: a policy without evaluation; there is nothing to show")
    console = console or terminal()
    published, parts = published_rows(), []
    for agents in sorted({cell.agents for evaluation in results.values() for cell in evaluation}):
        rows = [row for row in published if row.agents == agents]
        others = len(rows)
        for policy, evaluation in results.items():
            rows += own_rows(policy, agents, evaluation)
        title = f"{agents} agents, valid | optimal in percent"
        console.print(_rich(title, _lines(rows, digits=0), others))
        parts.append(f"## {title}\n\n{_markdown(_lines(rows, digits=2))}")
    note = _note(min(map(_fewest_instances, results.values())))
    console.print(note, highlight=False, markup=False)
    run_dir = Path(run_dir)
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "evaluation.md").write_text("\n".join([*parts, note.replace("\n", "  \n")]) + "\n", "utf-8")


def _own_row(policy: str, agents: int, cells: Sequence[Cell]) -> Row:
    """A row of pooled counts. Its mean is over the published sizes: those up to 10, not below the agents."""
    by_size = {}
    for size in sorted({cell.size for cell in cells}):
        counts = tally(cell for cell in cells if cell.size == size)
        by_size[size] = (100 * counts.pass_rate, 100 * counts.optimal_rate)
    sizes = [size for size in SIZES if size >= agents]
    if not by_size.keys() >= set(sizes):
        return Row(policy, agents, by_size, None)
    valid, optimal = (math.fsum(by_size[size][i] for size in sizes) / len(sizes) for i in (0, 1))
    return Row(policy, agents, by_size, (valid, optimal))


def _lines(rows: Sequence[Row], digits: int) -> list[list[str]]:
    """The heads, then the cells of every row."""
    sizes = sorted({size for row in rows for size in row.by_size})
    lines = [["policy", *(f"{size}x{size}" for size in sizes), "Sum"]]
    for row in rows:
        rates = [*(row.by_size.get(size) for size in sizes), row.mean]
        lines.append([row.policy, *(_rates(cell, digits) for cell in rates)])
    return lines


def _rates(rates: Rates | None, digits: int) -> str:
    return "-" if rates is None else f"{rates[0]:.{digits}f}|{rates[1]:.{digits}f}"


def _rich(title: str, lines: Sequence[Sequence[str]], others: int) -> Table:
    """The first `others` rows are not ours."""
    heads, *body = lines
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(heads[0], no_wrap=True)
    for head in heads[1:]:
        table.add_column(head, justify="right", no_wrap=True)
    for i, line in enumerate(body):
        table.add_row(*line, style="dim" if i < others else "", end_section=i == others - 1)
    return table


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    heads, *body = ([cell.replace("|", " \\| ") for cell in line] for line in lines)
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)], *body]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _fewest_instances(evaluation: Sequence[Cell]) -> int:
    """Of one number of agents and size, all wait ratios together."""
    groups = Counter[tuple[int, int]]()
    for cell in evaluation:
        groups[cell.agents, cell.size] += cell.instances
    return min(groups.values())


def _note(fewest: int) -> str:
    """What the numbers rest on."""
    _, low, high = wilson_interval(fewest // 2, fewest)
    return (
        f"{PUBLISHED} published (arXiv:2606.17682), 150 instances a cell. Sum: the plain mean over sizes.\n"
        f"Ours: {fewest} instances a cell or more, wait ratios together; there a rate near 50 has a 95 % "
        f"interval of ±{50 * (high - low):.1f}."
    )
