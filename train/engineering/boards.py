"""The boards of a configuration, for training, and the fixed ones that every round is judged on."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv.environment import Episode, Level
from jaxenv.mapf.distribution import Ratios, Sample, sample_boards, shortfalls
from jaxenv.mapf.generator import Board
from jaxenv.mapf.rules import Measure
from train.engineering.config import SIZES, GeneratorConfig


class CellBoards(NamedTuple):
    """Board[n] of one number of agents, size and wait ratio, as NumPy."""

    agents: int
    size: int
    wait: float
    boards: Board


def draw(
    key: jax.Array, config: GeneratorConfig, agents: int, count: int, measure: Measure
) -> tuple[Board, list[str]]:
    """Up to `count` boards of a configuration as NumPy, sorted by size, and a line for each ratio of it that
    could not be met."""
    arrays = {name: jnp.asarray(ratios) for name, ratios in config.arrays().items()}
    sample = sample_boards(key, Ratios(**arrays, agents=jnp.int32(agents)), count, measure)
    return _filled(sample), shortfalls(sample.report)


def evaluation_boards(
    seed: int,
    agents: tuple[int, ...],
    sizes: tuple[int, ...],
    waits: tuple[float, ...],
    count: int,
    hole: float,
    measure: Measure,
) -> list[CellBoards]:
    """`count` boards for each number of agents, size not below it, and wait ratio: the same for the same
    arguments. Raises ValueError for cells that cannot be filled."""
    cells = []
    for number in agents:
        for size in sizes:
            if size < number:
                continue
            for wait in waits:
                key = jax.random.key(seed)
                for part in (number, size, round(1000 * wait)):
                    key = jax.random.fold_in(key, part)
                boards = _filled(sample_boards(key, _only(number, size, wait, hole), count, measure))
                found = len(boards.optimum)
                if found < count:
                    raise ValueError(
                        f"evaluation: only {found} of {count} boards of size {size} with {number} agents, "
                        f"hole ratio {hole:g} and wait ratio {wait:g} exist or are found; lower hole or wait"
                    )
                cells.append(CellBoards(number, size, wait, boards))
    return cells


def episodes(boards: Board, harness: int | np.ndarray) -> Episode:
    """The beginning of an episode on each board [n], at one harness level or at int[n]."""
    zeros = jnp.zeros(len(boards.optimum), jnp.int32)
    return Episode(boards, Level(zeros + jnp.asarray(harness, jnp.int32), zeros), zeros, zeros > 0)


def take(boards: Board, rows: np.ndarray) -> Board:
    """The boards of these numbers."""
    return jax.tree.map(lambda leaf: leaf[rows], boards)


def _only(agents: int, size: int, wait: float, hole: float) -> Ratios:
    here = np.array(SIZES) == size
    data, waits, holes = (jnp.asarray(here * ratio, jnp.float32) for ratio in (1.0, wait, hole))
    return Ratios(data=data, hole=holes, wait=waits, agents=jnp.int32(agents))


def _filled(sample: Sample) -> Board:
    boards, filled = jax.device_get((sample.boards, sample.filled))
    return take(boards, filled)
