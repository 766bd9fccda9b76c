"""Plain-Python rules of games in a row, on sets of cells, and a search two moves deep."""

Cell = tuple[int, int]


class Game:
    """A board of rows x cols cells on which `goal` in a row win; stones fall down where `falls`."""

    def __init__(self, rows: int, cols: int, goal: int, falls: bool) -> None:
        self.rows, self.cols, self.falls = rows, cols, falls
        self.lines = []
        for row in range(rows):
            for col in range(cols):
                for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    line = {(row + down * i, col + across * i) for i in range(goal)}
                    if all(0 <= r < rows and 0 <= c < cols for r, c in line):
                        self.lines.append(line)

    def moves(self, taken: set[Cell]) -> set[Cell]:
        free = {(r, c) for r in range(self.rows) for c in range(self.cols)} - taken
        return {(r, c) for r, c in free if not self.falls or (r + 1, c) not in free}

    def has_line(self, stones: set[Cell]) -> bool:
        return any(line <= stones for line in self.lines)

    def wins(self, mover: set[Cell], other: set[Cell]) -> set[Cell]:
        """The moves that win at once."""
        near = set().union(*(line - mover for line in self.lines if len(line - mover) == 1))
        return near & self.moves(mover | other)

    def forces(self, mover: set[Cell], other: set[Cell], move: Cell) -> bool:
        """The move wins at once, or at the next move whatever the other does."""
        after = mover | {move}
        if self.has_line(after):
            return True
        replies = self.moves(after | other)
        won = (not self.wins(other, after)) and all(self.wins(after, other | {reply}) for reply in replies)
        return bool(replies) and won


def sides(board: list[list[int]]) -> tuple[set[Cell], set[Cell]]:
    """Your stones (1) and theirs (2)."""
    return tuple(  # pyright: ignore[reportReturnType]
        {(r, c) for r, row in enumerate(board) for c, stone in enumerate(row) if stone == side}
        for side in (1, 2)
    )
