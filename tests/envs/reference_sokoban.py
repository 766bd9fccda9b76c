"""Sokoban in plain Python: rules on sets of cells, and breadth-first search for one box."""

from collections import deque
from dataclasses import dataclass

Cell = tuple[int, int]
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


@dataclass(frozen=True)
class Board:
    walls: frozenset[Cell]
    targets: frozenset[Cell]
    player: Cell
    boxes: frozenset[Cell]

    def solved(self) -> bool:
        return self.boxes == self.targets

    def move(self, direction: int) -> "Board":
        down, across = STEPS[direction]
        ahead = self.player[0] + down, self.player[1] + across
        beyond = ahead[0] + down, ahead[1] + across
        boxes = self.boxes
        if ahead in boxes:
            if beyond in boxes | self.walls:
                return self
            boxes = boxes - {ahead} | {beyond}
        if ahead in self.walls:
            return self
        return Board(self.walls, self.targets, ahead, boxes)

    def turn(self, directions: list[int]) -> "Board":
        """Up to four moves, until solved; -1 is none."""
        board = self
        for direction in directions:
            if direction >= 0 and not board.solved():
                board = board.move(direction)
        return board


def read_board(words: str) -> Board:
    cells = {
        (r, c): word for r, line in enumerate(words.split("\n")) for c, word in enumerate(line.split(" "))
    }

    def those(letters: str) -> frozenset[Cell]:
        return frozenset(cell for cell, word in cells.items() if word in letters)

    (player,) = those("AX")
    return Board(those("#"), those("THX"), player, those("BH"))


def moves_to_solve(board: Board) -> int | None:
    """Fewest single moves, by breadth-first search; None when there is no way."""
    away, queue = {(board.player, board.boxes): 0}, deque([board])
    while queue:
        now = queue.popleft()
        if now.solved():
            return away[now.player, now.boxes]
        for direction in range(4):
            after = now.move(direction)
            if (after.player, after.boxes) not in away:
                away[after.player, after.boxes] = away[now.player, now.boxes] + 1
                queue.append(after)
    return None
