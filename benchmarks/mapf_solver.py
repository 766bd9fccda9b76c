"""How many boards of multi-agent path finding are solved a second: `python -m benchmarks.mapf_solver`.

The solver of `jaxenv.mapf.search` beside conflict-based search in C++ (w9-pathfinding) and in Python
(pymapf), on the same random boards. `--optimality` compares all answers with independent exact solvers
instead.
"""

import functools
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import jax
import numpy as np
import tyro
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import mapf_oracles as oracles
from benchmarks.mapf_oracles import Case
from jaxenv.mapf.instance import FEWEST_AGENTS, MOST_AGENTS, SIDE, SMALLEST_SIDE
from jaxenv.mapf.rules import Measure
from jaxenv.mapf.search import Solution, solve_many

WIDE = 140
COSTS: tuple[Measure, Measure] = ("sum_of_costs", "makespan")
NOTES = """\
Boards a second, sum of costs. Ours: one compiled call on a batch, instances on the device, compilation
excluded; batches larger than the boards repeat them. w9 and pymapf: one call a board on one core, with the
making of their grid; a board that runs out of time counts with the time it took and is in "late". Boards
that ours proves unsolvable are left out on all sides: neither of the two ends on them. "from": the least
batch with which ours is ahead of w9."""
MEANINGS = """\
agree: both sides have the same least cost, or both prove that there is no plan. late: the other ran out of
time. exhausted: ours gave up; "of those": there is a plan, as is known from elsewhere. Every plan of ours
was walked by the rules."""


@dataclass(frozen=True)
class SolverConfig:
    """Boards solved a second, beside w9-pathfinding and pymapf; or the check of optimality."""

    sides: tuple[int, ...] = (3, 5, 8, 10)
    agents: tuple[int, ...] = (2, 3, 5)
    boards: int = 256
    """Random boards of each size and number of agents."""
    batches: tuple[int, ...] = (1, 16, 256, 4096)
    seconds: float = 2.0
    """Time limit of the others, for each board."""
    seed: int = 0
    peers: bool = True
    """Measure the others too."""
    optimality: bool = False
    """Check the least costs instead, for `sides` and `agents` or, with --all, everything."""
    all: bool = False
    """All sizes from 3 to 10 and 2 to 5 agents."""
    json: Path | None = None
    """Write all numbers here."""


def main(config: SolverConfig) -> list[dict]:
    """Measures or checks every cell, prints a table, writes what was asked for."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    sides = range(SMALLEST_SIDE, SIDE + 1) if config.all else config.sides
    agents = range(FEWEST_AGENTS, MOST_AGENTS + 1) if config.all else config.agents
    rows = []
    for side in sides:
        for count in agents:
            rng = np.random.default_rng((config.seed, side, count))
            cases = [oracles.random_case(rng, side, count) for _ in range(config.boards)]
            cell = {"side": side, "agents": count}
            rows.append(cell | (check(cases, config.seconds) if config.optimality else speed(cases, config)))
            console.print(rows[-1], style="dim", highlight=False)
    machine = {"device": jax.devices()[0].device_kind, "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    console.print(_table(rows))
    if config.optimality:
        console.print(*map(functools.partial(_share, rows), agents), sep="\n", highlight=False)
    console.print(f"{MEANINGS if config.optimality else NOTES}\n{machine}", style="dim", highlight=False)
    if config.json:
        record = {"config": asdict(config), "machine": machine, "rows": rows}
        config.json.write_text(json.dumps(record, indent=1, default=str) + "\n")
    return rows


@functools.cache
def solver(cost: Measure = "sum_of_costs") -> Callable[..., Solution]:
    """`solve_many` under jit; it compiles once for each size of batch."""
    return jax.jit(functools.partial(solve_many, cost=cost))


# --- speed ------------------------------------------------------------------------------------------


def speed(cases: list[Case], config: SolverConfig) -> dict:
    """Boards a second on one cell."""
    answers = solver()(oracles.instances(cases))
    cases = [case for case, hopeless in zip(cases, answers.unsolvable.tolist(), strict=True) if not hopeless]
    row: dict = {"boards": len(cases), "exhausted": int(answers.exhausted.sum())}
    for batch in config.batches:
        row[f"ours {batch}"] = _ours(cases, batch)
    if config.peers:
        for name, peer in (
            ("w9", functools.partial(oracles.w9_cost, complete=False)),
            ("pymapf", oracles.pymapf_cost),
        ):
            started = time.perf_counter()
            late = [peer(case, config.seconds) for case in cases].count(None)
            row |= {name: len(cases) / (time.perf_counter() - started), f"{name} late": late}
        ahead = [batch for batch in config.batches if row[f"ours {batch}"] > row["w9"]]
        row |= {"from": min(ahead, default=None), "ours / w9": row[f"ours {config.batches[-1]}"] / row["w9"]}
    return row


def _ours(cases: list[Case], batch: int) -> float:
    """Boards a second over all cases, in batches."""
    order = np.arange(max(len(cases) // batch, 1) * batch) % len(cases)
    groups = [oracles.instances([cases[i] for i in part]) for part in order.reshape(-1, batch)]
    jax.block_until_ready(solver()(groups[0]))
    started = time.perf_counter()
    for group in groups:
        jax.block_until_ready(solver()(group))
    return order.size / (time.perf_counter() - started)


# --- optimality -------------------------------------------------------------------------------------


def check(cases: list[Case], seconds: float) -> dict:
    """How many answers agree with the others' on one cell. Raises AssertionError on a broken rule."""
    batch = oracles.instances(cases)
    least_sum, least_span = (jax.tree.map(np.asarray, solver(cost)(batch)) for cost in COSTS)
    tally: Counter[str] = Counter()
    for i, case in enumerate(cases):
        one, other = (jax.tree.map(lambda leaf, i=i: leaf[i], answer) for answer in (least_sum, least_span))
        tally.update(_judged(case, one, other, seconds))
    return {"boards": len(cases), **{name: tally[name] for name in VERDICTS}}


VERDICTS = (
    *("sum agree", "sum differ", "sum late", "span agree", "span differ", "span late"),
    *("unsolvable", "sum exhausted", "of those", "span exhausted"),
)


def _judged(case: Case, least_sum: Solution, least_span: Solution, seconds: float) -> list[str]:
    """The verdicts on the two answers for a case."""
    for answer in (least_sum, least_span):
        if answer.solved:
            costs = oracles.walk(case, np.asarray(answer.plan.moves))
            assert costs == (answer.sum_of_costs, answer.makespan), "the costs are not those of the plan"
    known = oracles.w9_cost(case, seconds)
    verdicts = ["unsolvable"] * bool(least_sum.unsolvable | least_span.unsolvable)
    if least_sum.exhausted:
        solvable = bool(least_span.solved) or (known is not None and known >= 0)
        verdicts += ["sum exhausted", *["of those"] * solvable]
    elif known is None:
        verdicts.append("sum differ" if least_sum.unsolvable & least_span.solved else "sum late")
    else:
        verdicts.append("sum agree" if known == least_sum.sum_of_costs else "sum differ")
    if least_span.exhausted:
        return [*verdicts, "span exhausted"]
    if least_span.unsolvable:
        return [*verdicts, "span late" if known is None else "span agree" if known == -1 else "span differ"]
    # The plan itself shows that its makespan is possible.
    alone = max(oracles.distances(case.free, g)[s] for s, g in zip(case.starts, case.goals, strict=True))
    span = int(least_span.makespan)
    best = span == alone or (span > alone and not oracles.possible(case, span - 1))
    return [*verdicts, "span agree" if best else "span differ"]


def _share(rows: list[dict], agents: int) -> str:
    """What part of the boards with so many agents ours gives up."""
    mine = [row for row in rows if row["agents"] == agents]
    boards = sum(row["boards"] - row["unsolvable"] for row in mine)
    shares = [sum(row[f"{name} exhausted"] for row in mine) / boards for name in ("sum", "span")]
    return (
        f"{agents} agents: exhausted {shares[0]:.2%} (sum of costs), {shares[1]:.2%} (makespan) of {boards}"
    )


def _table(rows: list[dict]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            *(f"{value:,.3g}" if isinstance(value, float) else str(value) for value in row.values())
        )
    return table


if __name__ == "__main__":
    main(tyro.cli(SolverConfig))
