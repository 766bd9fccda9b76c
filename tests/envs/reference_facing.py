"""Boards of an agent that turns and goes forward, and its shortest ways, in plain Python."""

from collections import deque
from collections.abc import Callable

Cell = tuple[int, int]
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # headings clockwise from the right


class Board:
    """Cells of a board read from the words of an observation; what must not be entered is `barred`."""

    def __init__(self, words: str, barred: str) -> None:
        rows = [line.split(" ") for line in words.split("\n")]
        self.cells = {(r, c): word for r, row in enumerate(rows) for c, word in enumerate(row)}
        self.n, self.barred = len(rows), barred
        (self.goal,) = (cell for cell, word in self.cells.items() if word == "G")
        (self.agent,) = (cell for cell, word in self.cells.items() if word in "><^v")
        self.heading = ">v<^".index(self.cells[self.agent])

    def free(self, cell: Cell) -> bool:
        return self.cells.get(cell, self.barred) != self.barred

    def fewest_turns(self) -> int:
        return fewest_turns(self.agent, self.heading, self.free, {self.goal})


def fewest_turns(start: Cell, heading: int, open_to: Callable[[Cell], bool], ends: set[Cell]) -> int:
    """Fewest actions (left, right, forward) from a cell and heading to one of `ends`; -1 without a way."""
    away, queue = {(start, heading): 0}, deque([(start, heading)])
    while queue:
        now = queue.popleft()
        (row, col), facing = now
        if (row, col) in ends:
            return away[now]
        ahead = row + STEPS[facing][0], col + STEPS[facing][1]
        onward = [((row, col), (facing + 1) % 4), ((row, col), (facing - 1) % 4)]
        for after in [*onward, (ahead, facing)] if open_to(ahead) else onward:
            if after not in away:
                away[after] = away[now] + 1
                queue.append(after)
    return -1
