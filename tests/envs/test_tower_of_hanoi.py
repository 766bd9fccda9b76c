"""tower_of_hanoi against breadth-first search over all stacks, and reasoning-gym."""

from collections import deque

import numpy as np
import play
import pytest
import rollouts
from reasoning_gym.games.tower_of_hanoi import MoveGenerator

import jaxenv

ENV = jaxenv.make("tower_of_hanoi")[0]
DISKS, LONGEST = (2, 3, 5), (3, 7, 31)
TURNS, COUNT = 45, 100
Pegs = tuple[tuple[int, ...], ...]  # the sizes on each peg, the lowest first


def move(pegs: Pegs, source: int, target: int) -> Pegs | None:
    """The stacks after a move; None when it is not allowed."""
    if not pegs[source] or (pegs[target] and pegs[target][-1] <= pegs[source][-1]):
        return None
    after = list(map(list, pegs))
    after[target].append(after[source].pop())
    return tuple(map(tuple, after))


def solved(disks: int, goal: int) -> Pegs:
    return tuple(tuple(range(disks, 0, -1)) if peg == goal else () for peg in range(3))


def distances(disks: int, goal: int) -> dict[Pegs, int]:
    """Moves to the goal from every stack."""
    away, queue = {solved(disks, goal): 0}, deque([solved(disks, goal)])
    while queue:
        pegs = queue.popleft()
        for source, target in np.ndindex(3, 3):
            after = move(pegs, source, target)
            if after is not None and after not in away:
                away[after] = away[pegs] + 1
                queue.append(after)
    return away


def stacks(states) -> list[Pegs]:
    return [
        tuple(tuple(size + 1 for size in range(4, -1, -1) if row[size] == peg) for peg in range(3))
        for row in states.peg.tolist()
    ]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    scale = request.param
    states = play.instances(ENV, scale)
    assert (states.disks == DISKS[scale]).all()
    return scale, states, [distances(DISKS[scale], goal) for goal in range(3)]


def test_every_stack_but_the_solved_one_occurs(batch):
    scale, states, away = batch
    found = {(goal, pegs) for goal, pegs in zip(states.goal.tolist(), stacks(states), strict=True)}
    assert all(away[goal][pegs] > 0 for goal, pegs in found)
    every = 3 * (3 ** DISKS[scale] - 1)
    assert len(found) == every if scale < 2 else len(found) > 0.9 * every
    assert max(max(table.values()) for table in away) == LONGEST[scale] <= ENV.max_turns[scale]


def test_words_and_picture_show_the_stacks(batch):
    scale, states, _ = batch
    some = play.first(states, COUNT)
    n = DISKS[scale]
    shown = zip(some.goal, stacks(some), play.observations(ENV, some), play.tiles(ENV, some), strict=True)
    for goal, pegs, words, picture in shown:
        read = tuple(tuple(int(w) for w in line.split(" ") if w != ".") for line in words.split("\n"))
        assert read == pegs
        for peg in range(3):
            columns = [[row[3 * peg + third] for row in picture[: n + 2]] for third in range(3)]
            assert columns[1][0] == "plain:paper rod"
            for end, column in zip(("left", "middle", "right"), columns, strict=True):
                slabs = [name.split(f"slab:{end}")[1] for name in column[::-1] if "slab" in name]
                assert tuple(map(int, slabs)) == pegs[peg]
                assert column[n + 1].startswith("plain:goal" if peg == goal else "plain:wood")
                assert len(slabs) == sum("slab" in name for name in column[n + 1 - len(slabs) : n + 1])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_moves_follow_the_rules_and_the_expert_is_optimal(batch, share):
    scale, states, away = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths, now, refused = played.length(), stacks(some), 0
    for t in range(TURNS):
        then = stacks(played.states[t + 1])
        for i in np.flatnonzero(lengths > t):
            after = move(now[i], *played.actions[t, i].tolist())
            refused += after is None
            assert (played.verdicts[t, i] == 3) == (after is None)
            assert then[i] == (after or now[i])
            goal = int(some.goal[i])
            at_goal = then[i] == solved(DISKS[scale], goal)
            assert played.terminated[t, i] == at_goal == played.rewards[t, i]
            if share == 1.0:
                assert away[goal][then[i]] == away[goal][now[i]] - 1
        now = then
    assert (refused == 0) == (share == 1.0)


def test_agrees_with_reasoning_gym(batch):
    """Its solver needs as many moves from a full peg as our expert takes turns."""
    scale, states, _ = batch
    n = DISKS[scale]
    full = play.first(states, 6)
    starts, goals = zip(*[(a, b) for a in range(3) for b in range(3) if a != b], strict=True)
    peg = np.where(np.arange(5) < n, np.array(starts)[:, None], -1).astype(np.int8)
    full = full.replace(peg=peg, goal=np.array(goals, np.int32))
    played = rollouts.roll(ENV, full, TURNS, 1.0)
    for i, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        theirs = MoveGenerator(n, [1, 2, 3], start + 1, goal + 1).generate_moves()
        ours = played.actions[: played.length()[i], i] + 1
        assert [f"from Peg {a} to Peg {b}" for a, b in ours.tolist()] == [m.split(" ", 3)[3] for m in theirs]
