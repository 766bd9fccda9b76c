"""Plain-Python rules of futoshiki and of the 4 x 4 sudoku: both are Latin squares with more constraints."""

from collections.abc import Iterator
from dataclasses import dataclass, field

Grid = list[list[int]]
Cell = tuple[int, int]


@dataclass
class Puzzle:
    """`given` has 0 where empty; `smaller` lists (cell, cell) of which the first is smaller; `boxes` more
    groups of cells that hold every digit once."""

    given: Grid
    smaller: list[tuple[Cell, Cell]] = field(default_factory=list)
    boxes: list[list[Cell]] = field(default_factory=list)

    @property
    def n(self) -> int:
        return len(self.given)

    def groups(self) -> list[list[Cell]]:
        rows = [[(r, c) for c in range(self.n)] for r in range(self.n)]
        cols = [[(r, c) for r in range(self.n)] for c in range(self.n)]
        return rows + cols + self.boxes

    def full_groups(self, grid: Grid) -> list[bool]:
        return [sorted(grid[r][c] for r, c in group) == list(range(1, self.n + 1)) for group in self.groups()]

    def kept(self, grid: Grid) -> list[bool]:
        """For each cell that is given, whether it is kept."""
        cells = [(r, c) for r in range(self.n) for c in range(self.n) if self.given[r][c]]
        return [grid[r][c] == self.given[r][c] for r, c in cells]

    def obeyed(self, grid: Grid) -> list[bool]:
        return [grid[a][b] < grid[c][d] for (a, b), (c, d) in self.smaller]

    def solved(self, grid: Grid) -> bool:
        return all(self.full_groups(grid)) and all(self.kept(grid)) and all(self.obeyed(grid))

    def completions(self) -> Iterator[Grid]:
        """All solutions, by backtracking over the cells in reading order."""
        grid = [row[:] for row in self.given]
        groups = self.groups()
        peers = {
            (r, c): {cell for group in groups if (r, c) in group for cell in group} - {(r, c)}
            for r in range(self.n)
            for c in range(self.n)
        }
        empty = [cell for cell in peers if not grid[cell[0]][cell[1]]]

        def fits(cell: Cell, digit: int) -> bool:
            if any(grid[r][c] == digit for r, c in peers[cell]):
                return False
            for low, high in self.smaller:
                if low == cell and 0 < grid[high[0]][high[1]] <= digit:
                    return False
                if high == cell and grid[low[0]][low[1]] >= digit:
                    return False
            return True

        def extend(at: int) -> Iterator[Grid]:
            if at == len(empty):
                yield [row[:] for row in grid]
                return
            row, col = empty[at]
            for digit in range(1, self.n + 1):
                if fits(empty[at], digit):
                    grid[row][col] = digit
                    yield from extend(at + 1)
                    grid[row][col] = 0

        yield from extend(0)


def sudoku(given: Grid) -> Puzzle:
    boxes = [[(r + i, c + j) for i in (0, 1) for j in (0, 1)] for r in (0, 2) for c in (0, 2)]
    return Puzzle(given, boxes=boxes)


def intercalates(grid: Grid) -> int:
    """How many pairs of rows and columns cross in a 2 x 2 Latin square: 12 or 4 in a Latin square of 4."""
    n = len(grid)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    return sum(grid[a][c] == grid[b][d] and grid[a][d] == grid[b][c] for a, b in pairs for c, d in pairs)
