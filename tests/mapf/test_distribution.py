"""Boards drawn to order: the same by plain loops on the host, as asked for, or reported."""

import functools
import math

import jax
import numpy as np
import pytest
import reference_mapf as plain

from jaxenv.mapf import distribution
from jaxenv.mapf.distribution import SIZES, Ratios, sample_boards, shortfalls
from jaxenv.mapf.generator import make_board
from jaxenv.mapf.instance import SIDE

COUNT, BATCH, ROUNDS, PATIENCE = 40, 48, 24, 6
draw = functools.partial(sample_boards, count=COUNT, batch=BATCH, rounds=ROUNDS, patience=PATIENCE)


def ratios(agents: int = 2, **of: list[float]) -> Ratios:
    """By size; unless said otherwise all sizes alike, a fifth holes, a quarter with a wait."""
    even = {"data": [1 / 8] * 8, "hole": [0.2] * 8, "wait": [0.25] * 8, **of}
    return Ratios(**{name: np.float32(values) for name, values in even.items()}, agents=np.int32(agents))


def random_ratios(noise: np.random.Generator, agents: int) -> Ratios:
    data, hole, wait = noise.dirichlet(np.ones(8)), noise.uniform(0, 0.5, 8), noise.uniform(0, 1, 8)
    return ratios(agents, data=data.tolist(), hole=hole.tolist(), wait=wait.tolist())


def first_of(sizes: tuple[int, ...]) -> list[float]:
    return [1 / len(sizes) if size in sizes else 0.0 for size in SIZES]


# --- the same on the host ---------------------------------------------------------------------------------


def host_slots(asked: Ratios, count: int) -> list[tuple[int, int, bool]]:
    """(size, holes, wait) of each board asked for."""
    exact = [float(share) * count for share in np.asarray(asked.data)]
    boards = [math.floor(x) for x in exact]
    order = sorted(range(8), key=lambda i: boards[i] - exact[i])
    for i in order[: count - sum(boards)]:
        boards[i] += 1
    found = []
    for size, n, hole, wait in zip(SIZES, boards, asked.hole, asked.wait, strict=True):
        cells = np.float32(hole) * np.float32(size * size)
        ends = [math.floor(np.float32(i) * cells + np.float32(0.5)) for i in range(n + 1)]
        waits = math.floor(np.float32(wait) * np.float32(n) + np.float32(0.5))
        found += [(size, ends[i + 1] - ends[i], i < waits) for i in range(n)]
    return found


def reach(free: set[plain.Cell], cell: plain.Cell) -> set[plain.Cell]:
    seen, queue = {cell}, [cell]
    while queue:
        at = queue.pop()
        for word in plain.WORDS:
            onward = plain.step(at, word)
            if onward in free and onward not in seen:
                seen.add(onward)
                queue.append(onward)
    return seen


def regions(free: set[plain.Cell]) -> dict[plain.Cell, set[plain.Cell]]:
    """Of each free cell, all that can be reached from it."""
    found: dict[plain.Cell, set[plain.Cell]] = {}
    for cell in free:
        if cell not in found:
            joined = reach(free, cell)
            found |= dict.fromkeys(joined, joined)
    return found


def host_instance(key: jax.Array, side: int, agents: int, holes: int) -> plain.Board | None:
    noise = np.asarray(jax.random.uniform(key, (3, SIDE, SIDE)))
    cells = [(r, c) for r in range(side) for c in range(side)]
    closed = frozenset(sorted(cells, key=lambda cell: -noise[0][cell])[:holes])
    free = {*cells} - closed
    left, starts, goals, region = set(free), [], [], regions(free)
    for _ in range(agents):
        can_start = [cell for cell in left if len(region[cell] & left) >= 2]
        if not can_start:
            return None
        starts.append(max(can_start, key=lambda cell: noise[1][cell]))
        can_end = (region[starts[-1]] & left) - {starts[-1]}
        goals.append(max(can_end, key=lambda cell: noise[2][cell]))
        left -= {starts[-1], goals[-1]}
    return plain.Board(side, closed, tuple(starts), tuple(goals))


@functools.cache
def solver():
    return jax.jit(jax.vmap(lambda instance: make_board(instance, "sum_of_costs")))


def host_boards(key: jax.Array, asked: Ratios) -> list[plain.Board | None]:
    agents, wanted = int(asked.agents), host_slots(asked, COUNT)
    found: list[plain.Board | None] = [None] * COUNT
    fruitless = 0
    for number in range(ROUNDS):
        open_ = [
            slot
            for slot, (size, holes, _) in enumerate(wanted)
            if found[slot] is None and size**2 - holes >= 2 * agents
        ]
        if not open_ or fruitless == PATIENCE:
            break
        fruitless += 1
        keys = jax.random.split(jax.random.fold_in(key, number), BATCH)
        slots = [open_[(number * BATCH + i) % len(open_)] for i in range(BATCH)]
        drawn = [host_instance(keys[i], wanted[s][0], agents, wanted[s][1]) for i, s in enumerate(slots)]
        some = next(board for board in drawn if board)
        solved, good = solver()(plain.stack([plain.instance_of(board or some) for board in drawn]))
        needs_wait = np.asarray(solved.needs_wait)
        for i, (slot, board) in enumerate(zip(slots, drawn, strict=True)):
            if board and good[i] and found[slot] is None and needs_wait[i] == wanted[slot][2]:
                found[slot], fruitless = board, 0
    return found


CONFIGS = {
    "even": ratios(),
    "three agents": ratios(3, data=first_of((5, 8)), hole=[0.33] * 8, wait=[0.5] * 8),
    "impossible": ratios(3, data=first_of((3, 4)), hole=[0.45] * 8, wait=[1.0] * 8),
}


@pytest.fixture(scope="module", params=CONFIGS)
def sampled(request):
    asked = CONFIGS[request.param]
    return request.param, asked, jax.device_get(draw(jax.random.key(7), asked))


def boards_of(sample) -> list[plain.Board | None]:
    rows = [jax.tree.map(lambda leaf, i=i: leaf[i], sample.boards.instance) for i in range(COUNT)]
    return [plain.board_of(row) if ok else None for row, ok in zip(rows, sample.filled, strict=True)]


def test_plain_loops_on_the_host_draw_the_same_boards(sampled):
    _, asked, sample = sampled
    assert boards_of(sample) == host_boards(jax.random.key(7), asked)


def test_every_board_is_as_asked_for(sampled):
    name, asked, sample = sampled
    wanted, agents = host_slots(asked, COUNT), int(asked.agents)
    needs_wait = np.asarray(sample.boards.needs_wait)
    for board, (size, holes, wait), found in zip(boards_of(sample), wanted, needs_wait, strict=True):
        if board is None:
            continue
        cells = board.starts + board.goals
        assert (board.side, len(board.holes), len(board.starts)) == (size, holes, agents)
        assert len(set(cells)) == 2 * agents
        assert all(map(board.free, cells))
        assert found == wait
    assert (name == "impossible") or sample.filled.all()


def test_what_is_needed_is_what_joint_search_needs(sampled):
    name, _, sample = sampled
    if name != "even":
        pytest.skip("joint search in Python is for two agents")
    for i, board in enumerate(boards_of(sample)):
        if board and board.side <= 4:
            least = plain.least_cost(board)
            assert sample.boards.optimum[i] == least
            assert sample.boards.delayed[i] == (least > sum(plain.lone_costs(board)))


def test_the_report_counts_what_was_asked_for_and_what_was_drawn(sampled):
    name, asked, sample = sampled
    wanted, boards = host_slots(asked, COUNT), boards_of(sample)
    for at, size in enumerate(SIZES):
        slots = [slot for slot in wanted if slot[0] == size]
        drawn = [i for i, board in enumerate(boards) if board and board.side == size]
        report = [[int(half[at]) for half in pair] for pair in (sample.report.boards, sample.report.waits)]
        assert report[0] == [len(slots), len(drawn)]
        assert report[1] == [sum(slot[2] for slot in slots), int(sample.boards.needs_wait[drawn].sum())]
        holes = sum(len(boards[i].holes) for i in drawn) / max(len(drawn) * size**2, 1)
        assert sample.report.holes[1][at] == pytest.approx(holes, abs=1e-6)
    lines = shortfalls(sample.report)
    assert bool(lines) == (name == "impossible")


def test_what_is_impossible_is_left_open_and_reported(sampled):
    name, _, sample = sampled
    if name != "impossible":
        pytest.skip("all of it can be drawn")
    # Three agents need six cells; four of nine cells are holes.
    assert not sample.filled[: COUNT // 2].any()
    assert any(line.startswith("size 3: 0 of 20 boards") for line in shortfalls(sample.report))


def test_shares_are_met_by_rounding_as_little_as_can_be():
    noise = np.random.default_rng(0)
    slots = jax.jit(distribution.slots, static_argnums=1)
    for _ in range(50):
        asked = random_ratios(noise, 2)
        found = jax.device_get(slots(asked, 1000))
        rows = list(
            zip(
                np.take(SIZES, found.size).tolist(),
                found.holes.tolist(),
                (found.wait == 1).tolist(),
                strict=True,
            )
        )
        assert rows == host_slots(asked, 1000)
        for at, size in enumerate(SIZES):
            mine = found.size == at
            assert abs(mine.mean() - asked.data[at]) <= 1e-3
            if mine.any():
                assert abs(found.holes[mine].mean() - asked.hole[at] * size**2) <= 0.51 / mine.sum()
                assert abs(found.wait[mine].mean() - asked.wait[at]) <= 0.51 / mine.sum()


@pytest.mark.exhaustive
def test_two_hundred_random_configs(capsys):
    """Prints how many configs are met within two percentage points, and what was not met in the others."""
    noise, met, missing, lines = np.random.default_rng(0), 0, 0, []
    for number in range(200):
        asked = random_ratios(noise, 2)
        sample = jax.device_get(sample_boards(jax.random.key(number), asked, 128, batch=256, patience=16))
        short = shortfalls(sample.report)
        met += not short
        missing += int((~sample.filled).sum())
        lines += [f"config {number}: {line}" for line in short]
        boards, waits = (np.asarray(pair) for pair in (sample.report.boards, sample.report.waits))
        whole = boards[0] == boards[1]
        assert (waits[0] == waits[1])[whole].all()
    with capsys.disabled():
        print(f"\n{met} of 200 configs within 2 points everywhere; {missing} of {200 * 128} boards missing")
        print("\n".join(lines))
    assert missing < 0.01 * 200 * 128
