"""The benchmark's boards are those that are stored.

`python tests/test_mapf_benchmark.py --update` stores them anew, after a wanted change.
"""

import sys
from pathlib import Path

import pytest

import train.engineering
from train.engineering.boards import CellBoards, evaluation_boards
from train.mapf_benchmark import (
    AGENTS,
    BOARDS,
    DIGESTS,
    HOLE,
    SEED,
    SIZES,
    WAITS,
    cell_name,
    described,
    digest,
    known_digests,
)


def cells(agents: tuple[int, ...], sizes: tuple[int, ...], waits: tuple[float, ...]) -> list[CellBoards]:
    return evaluation_boards(SEED, agents, sizes, waits, BOARDS, HOLE, "sum_of_costs")


def test_the_published_number_of_boards() -> None:
    shapes = [(agents, size) for agents in AGENTS for size in SIZES if size >= agents]
    names = {cell_name(agents, size, wait) for agents, size in shapes for wait in WAITS}
    assert set(known_digests()) == names
    assert len(names) * BOARDS == 3150


@pytest.mark.slow
def test_boards_are_the_same_to_the_byte() -> None:
    (cell,) = cells((3,), (4,), (0.5,))
    assert digest(cell) == known_digests()["3agents_4x4_wait50"]
    boards = list(described(cell))
    assert sum(board["needs_wait"] for board in boards) == BOARDS // 2
    for board in boards:
        holes, ends = map(tuple, board["holes"]), [*map(tuple, board["starts"]), *map(tuple, board["goals"])]
        assert len(set(ends)) == 6
        assert not set(holes) & set(ends)
        assert len(board["holes"]) in (3, 4)
        assert board["optimum"] >= 3


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    lines = [f'{cell_name(*cell[:3])} = "{digest(cell)}"\n' for cell in cells(AGENTS, SIZES, WAITS)]
    head = "# The first 16 digits of the SHA-256 of every cell's boards.\n"
    (Path(train.engineering.__file__).parent / DIGESTS).write_text(head + "".join(lines))
