"""The fixed 3,150 boards of MAPF-FrozenLake's evaluation, and a policy's rates beside the published ones.

`python -m train.mapf_benchmark` makes the boards, the same to the byte everywhere, and checks that they are;
with `--model DIR` the policy plans for them. As published (arXiv:2606.17682): 3, 4 and 5 agents, sizes from
3, 4 and 5 to 10, wait ratios 0.25, 0.5 and 0.75, 50 boards each. The hole ratio is this project's choice.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from envs_jax.multi_agent.mapf_plan import MapfPlan
from train.agent import Observation
from train.cli import run
from train.engineering.boards import CellBoards, evaluation_boards
from train.engineering.config import SIZES
from train.engineering.player import Player, board_agent
from train.engineering.records import Outcome
from train.engineering.tables import evaluation_tables
from train.policy.weights import LoadConfig
from train.turns import ActorConfig

AGENTS, WAITS, BOARDS, HOLE, SEED = (3, 4, 5), (0.25, 0.5, 0.75), 50, 0.2, 20260616
DIGESTS = "benchmark.toml"


@dataclass(frozen=True)
class BenchmarkConfig:
    """The benchmark's boards, and which policy plans for them."""

    model: str = ""
    """Checkpoint directory, or a model's id on the Hugging Face Hub; without one the boards are made only."""
    observation: Observation = "text"
    """What stays at every harness level: the picture, the board in words, or both."""
    harness: int = 0
    """Harness level: 0 shows all texts, 4 only the picture and the task."""
    out: Path = Path("runs/mapf_benchmark")
    """Directory of the boards, the table and the counts."""
    slots: int = 64
    """Boards answered at a time."""
    canvas: int = 96
    """Side of the pictures in pixels."""
    actor: ActorConfig = field(default_factory=lambda: ActorConfig(max_new_tokens=256))


def main(config: BenchmarkConfig) -> None:
    """Makes the benchmark's boards and evaluates a policy on them."""
    cells = benchmark_boards()
    config.out.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(board) + "\n" for cell in cells for board in described(cell)]
    (config.out / "boards.jsonl").write_text("".join(lines))
    print(f"{len(lines)} boards in {config.out / 'boards.jsonl'}, each as it must be")
    if not config.model:
        return
    env = MapfPlan(canvas=config.canvas)
    agent = board_agent(
        config.model,
        env,
        config.slots,
        config.actor,
        config.observation,
        config.harness,
        [cell.boards for cell in cells],
        LoadConfig("nothing"),
    )
    evaluation = Player(agent, config.harness).evaluate(agent.policy.params, cells)
    (config.out / "results.json").write_text(json.dumps(Outcome({}, evaluation).to_json(), indent=2) + "\n")
    evaluation_tables({Path(config.model).name: evaluation}, config.out)


def benchmark_boards() -> list[CellBoards]:
    """All cells. Raises ValueError where a board is not as stored."""
    cells = evaluation_boards(SEED, AGENTS, SIZES, WAITS, BOARDS, HOLE, "sum_of_costs")
    known = known_digests()
    for cell in cells:
        name = cell_name(*cell[:3])
        if digest(cell) != known[name]:
            raise ValueError(
                f"benchmark: the boards of {name} are others than those stored; use the "
                "versions of JAX that pyproject.toml asks for"
            )
    return cells


def known_digests() -> dict[str, str]:
    """What `digest` must give, by the cell's name."""
    return tomllib.loads((resources.files("train.engineering") / DIGESTS).read_text())


def cell_name(agents: int, size: int, wait: float) -> str:
    return f"{agents}agents_{size}x{size}_wait{round(100 * wait)}"


def digest(cell: CellBoards) -> str:
    """Of the bytes of a cell's boards."""
    text = "".join(json.dumps(board) for board in described(cell))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def described(cell: CellBoards) -> Iterator[dict[str, Any]]:
    """The boards of a cell as plain data: cells as [row, column], counted from 0."""
    boards = cell.boards
    for i in range(len(boards.optimum)):
        here = np.s_[i, : cell.agents]
        holes = np.argwhere(boards.instance.holes[i]).tolist()
        yield {
            "name": f"{cell_name(*cell[:3])}_{i:04d}",
            "size": cell.size,
            "holes": [hole for hole in holes if max(hole) < cell.size],
            "starts": boards.instance.starts[here].tolist(),
            "goals": boards.instance.goals[here].tolist(),
            "optimum": int(boards.optimum[i]),
            "needs_wait": bool(boards.needs_wait[i]),
        }


if __name__ == "__main__":
    run(main, BenchmarkConfig)
