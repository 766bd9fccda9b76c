"""Writes envs_jax/grid_logic/binairo.json: all binairo grids of side 4 and a sample of those of 6 and 10.

`python tests/envs/make_binairo.py`. A grid is its rows from the top, each a number whose lowest bit is the
leftmost cell. Row by row, in random order, with backtracking.
"""

import itertools
import json
import random
from pathlib import Path

FILE = Path(__file__).parents[2] / "envs_jax" / "grid_logic" / "binairo.json"
COUNTS = {4: 72, 6: 256, 10: 256}
TRIES = 100_000  # rows tried until a search begins anew

Line = tuple[int, ...]


def lines(n: int) -> list[Line]:
    """Balanced, and without three equal cells together."""
    return [line for line in itertools.product((0, 1), repeat=n) if sum(line) * 2 == n and not three(line)]


def three(line: Line) -> bool:
    return any(a == b == c for a, b, c in zip(line, line[1:], line[2:], strict=False))


def grid(n: int, rng: random.Random) -> list[Line]:
    rows, left = lines(n), TRIES

    def extend(above: list[Line]) -> list[Line]:
        nonlocal left
        for row in rng.sample(rows, len(rows)):
            left -= 1
            cols = list(zip(*above, row, strict=True))
            crowded = any(max(sum(col), len(col) - sum(col)) * 2 > n or three(col[-3:]) for col in cols)
            if row in above or crowded or left < 0:
                continue
            if len(above) == n - 1:
                if len(set(cols)) == n:
                    return [*above, row]
            elif found := extend([*above, row]):
                return found
        return []

    return extend([])


def bank(n: int, count: int) -> list[str]:
    rng, found = random.Random(n), set()
    while len(found) < count:
        rows = grid(n, rng)
        found |= {tuple(sum(cell << at for at, cell in enumerate(row)) for row in rows)} if rows else set()
    return [" ".join(map(str, rows)) for rows in sorted(found)]


if __name__ == "__main__":
    FILE.write_text(json.dumps({n: bank(n, count) for n, count in COUNTS.items()}, indent=0) + "\n")
