"""Writes envs_jax/physics_puzzle/rush_hour.json: hard boards, each with a shortest way out.

`python tests/envs/make_rush_hour.py`. A board is made by hill climbing: a random vehicle is exchanged for
another one as long as that makes the hardest position that can be driven to no easier. A line is the cells of
that position from the top left, `.` where there is no vehicle and `A` for the red car, and the moves of a
shortest way: a letter and the cells that it drives, positive to the right or down.
"""

import json
import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parents[2] / "envs_jax" / "physics_puzzle" / "rush_hour.json"
SIDE, EXIT_ROW, EXIT = 6, 2, 4
BOARDS, FEWEST_MOVES, MOST_MOVES = 160, 14, 20
VEHICLES, STEPS, MOST_POSITIONS = 12, 40, 3000

Lane = tuple[bool, int, int]  # whether it is a column, its number, and the length of the vehicle in it
Positions = tuple[int, ...]
RED = (False, EXIT_ROW, 2)
LANES = [
    (vertical, number, length)
    for vertical in (False, True)
    for number in range(SIDE)
    for length in (2, 2, 3)
    if vertical or number != EXIT_ROW
]


def cells(lane: Lane, start: int) -> list[int]:
    vertical, number, length = lane
    along = range(start, start + length)
    return [at * SIDE + number if vertical else number * SIDE + at for at in along]


def mask(lane: Lane, start: int) -> int:
    return sum(1 << cell for cell in cells(lane, start))


def moves(masks: list[list[int]], at: Positions) -> Iterator[Positions]:
    taken = sum(masks[k][start] for k, start in enumerate(at))
    for k, start in enumerate(at):
        others = taken ^ masks[k][start]
        for way in (range(start - 1, -1, -1), range(start + 1, len(masks[k]))):
            for to in way:
                if others & masks[k][to]:
                    break
                yield (*at[:k], to, *at[k + 1 :])


def distances(lanes: list[Lane], at: Positions) -> dict[Positions, int]:
    """Moves to the exit from all positions that can be driven to; none when those are too many."""
    masks = [[mask(lane, start) for start in range(SIDE + 1 - lane[2])] for lane in lanes]
    found, queue = {at: 0}, [at]
    while queue and len(found) <= MOST_POSITIONS:
        new = [to for to in moves(masks, queue.pop()) if to not in found]
        found |= dict.fromkeys(new, 0)
        queue += new
    if queue:
        return {}
    away = {to: 0 for to in found if to[0] == EXIT}
    ready = deque(away)
    while ready:
        here = ready.popleft()
        for to in moves(masks, here):
            if to not in away:
                away[to] = away[here] + 1
                ready.append(to)
    return away


def add(lanes: list[Lane], at: list[int], rng: random.Random) -> None:
    """One more vehicle at a random free place, if there is one."""
    taken = sum(mask(lane, start) for lane, start in zip(lanes, at, strict=True))
    places = [(lane, start) for lane in LANES for start in range(SIDE + 1 - lane[2])]
    free = [(lane, start) for lane, start in places if not taken & mask(lane, start)]
    if free:
        lane, start = rng.choice(free)
        lanes.append(lane)
        at.append(start)


def climb(rng: random.Random) -> tuple[list[Lane], dict[Positions, int]]:
    lanes, at = [RED], [EXIT]
    for _ in range(VEHICLES - 1):
        add(lanes, at, rng)
    away = distances(lanes, tuple(at))
    for _ in range(STEPS):
        start = rng.choice(list(away)) if away else tuple(at)
        gone = rng.randrange(1, len(lanes))
        other = [lane for k, lane in enumerate(lanes) if k != gone]
        places = [to for k, to in enumerate(start) if k != gone]
        add(other, places, rng)
        after = distances(other, tuple(places))
        if max(after.values(), default=-1) >= max(away.values(), default=-1):
            lanes, at, away = other, places, after
    return lanes, away


def line(lanes: list[Lane], away: dict[Positions, int], rng: random.Random) -> str:
    """The hardest position, its vehicles in the order of their first cells after the red one, and the way."""
    masks = [[mask(lane, start) for start in range(SIDE + 1 - lane[2])] for lane in lanes]
    hardest = max(away.values())
    at = rng.choice([to for to, moves_left in away.items() if moves_left == hardest])
    order = [0, *sorted(range(1, len(lanes)), key=lambda k: cells(lanes[k], at[k])[0])]
    names = {k: chr(ord("A") + place) for place, k in enumerate(order)}
    board = ["."] * SIDE * SIDE
    for k, lane in enumerate(lanes):
        for cell in cells(lane, at[k]):
            board[cell] = names[k]
    words = ["".join(board)]
    while away[at]:
        to = rng.choice([to for to in moves(masks, at) if away[to] == away[at] - 1])
        (k,) = (k for k in range(len(lanes)) if to[k] != at[k])
        words.append(f"{names[k]}{to[k] - at[k]:+d}")
        at = to
    return " ".join(words)


def boards(count: int) -> list[str]:
    rng, found = random.Random(0), set()
    while len(found) < count:
        lanes, away = climb(rng)
        if FEWEST_MOVES <= max(away.values(), default=0) <= MOST_MOVES:
            found.add(line(lanes, away, rng))
    return sorted(found)


if __name__ == "__main__":
    FILE.write_text(json.dumps(boards(BOARDS), indent=0) + "\n")
