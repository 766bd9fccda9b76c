"""Shortest ways of an agent that turns and goes forward, in plain Python."""

from collections import deque
from collections.abc import Callable

Cell = tuple[int, int]
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # headings clockwise from the right


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
