"""jugs against breadth-first search in plain Python, and reasoning-gym's own moves."""

import re
from collections import deque

import numpy as np
import play
import pytest
import rollouts
from reasoning_gym.algorithmic.jugs import verify_solution

import jaxenv

ENV = jaxenv.make("jugs")[0]
COUNTS, SMALLEST, LARGEST, FEWEST, MOST = (2, 3, 3), (2, 2, 3), (6, 6, 7), (2, 4, 6), (4, 5, 8)
WORDS = ("fill", "empty", "pour", "A", "B", "C")
TURNS, COUNT = 16, 60
Levels = tuple[int, ...]


def moved(levels: Levels, sizes: Levels, words: list[str]) -> Levels | None:
    """The levels after a move; None when it makes no sense or changes nothing."""
    after = list(levels)
    match words:
        case ["fill", "A" | "B" | "C" as jug] if "ABC".index(jug) < len(sizes):
            after["ABC".index(jug)] = sizes["ABC".index(jug)]
        case ["empty", "A" | "B" | "C" as jug] if "ABC".index(jug) < len(sizes):
            after["ABC".index(jug)] = 0
        case ["pour", "A" | "B" | "C" as one, "A" | "B" | "C" as other]:
            a, b = "ABC".index(one), "ABC".index(other)
            if max(a, b) >= len(sizes) or a == b:
                return None
            while after[a] > 0 and after[b] < sizes[b]:
                after[a], after[b] = after[a] - 1, after[b] + 1
    return tuple(after) if tuple(after) != levels else None


def moves(count: int) -> list[list[str]]:
    jugs = "ABC"[:count]
    pours = [["pour", a, b] for a in jugs for b in jugs if a != b]
    return [[verb, jug] for verb in ("fill", "empty") for jug in jugs] + pours


def moves_left(levels: Levels, sizes: Levels, goal: Levels) -> float:
    away, queue = {levels: 0}, deque([levels])
    while queue and goal not in away:
        now = queue.popleft()
        for words in moves(len(sizes)):
            then = moved(now, sizes, words)
            if then is not None and then not in away:
                away[then] = away[now] + 1
                queue.append(then)
    return away.get(goal, np.inf)


def read(words: str) -> tuple[Levels, Levels, Levels]:
    """Levels, sizes and goal."""
    jugs = [
        re.fullmatch(r"([ABC]) holds (\d) of (\d), goal (\d)", line).groups() for line in words.split("\n")
    ]
    assert [name for name, *_ in jugs] == list("ABC"[: len(jugs)])
    levels, sizes, goal = zip(*[map(int, numbers) for _, *numbers in jugs], strict=True)
    return levels, sizes, goal


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read(words) for words in play.observations(ENV, states)]


def test_goals_are_as_far_as_the_scale_says(batch):
    scale, states, puzzles = batch
    assert play.distinct(states) > (1000, 1900, 1900)[scale]
    lengths = []
    for i, (levels, sizes, goal) in enumerate(puzzles):
        assert len(sizes) == len(set(sizes)) == COUNTS[scale]
        assert min(sizes) >= SMALLEST[scale]
        assert max(sizes) <= LARGEST[scale]
        assert all(
            min(pair) >= 0 and max(pair) <= size for *pair, size in zip(levels, goal, sizes, strict=True)
        )
        if i < play.SOME:
            lengths.append(moves_left(levels, sizes, goal))
    assert min(lengths) >= 1
    assert max(lengths) == MOST[scale]
    assert np.mean(np.array(lengths) >= FEWEST[scale]) > 0.8


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_moves_follow_the_rules_and_the_expert_takes_the_fewest(batch, share):
    scale, states, puzzles = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, refused = played.length(), 0
    for i, (levels, sizes, goal) in enumerate(puzzles[:COUNT]):
        if share == 1.0:
            assert lengths[i] == moves_left(levels, sizes, goal) <= ENV.max_turns[scale]
        for t in range(min(TURNS, lengths[i])):
            words = [WORDS[word] for word in played.actions[t, i].tolist() if word >= 0]
            then = moved(levels, sizes, words)
            refused += then is None
            assert (played.verdicts[t, i] == 3) == (then is None)
            levels = then or levels
            assert tuple(played.states[t + 1].levels[i].tolist())[: len(sizes)] == levels
            assert played.terminated[t, i] == (levels == goal) == played.rewards[t, i]
    assert (refused == 0) == (share == 1.0)


def test_the_expert_finds_back_from_other_moves(batch):
    _, states, _ = batch
    mixed = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.3, seed=1)
    wandered = mixed.states[8]
    lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    for i, words in enumerate(play.observations(ENV, wandered)):
        if mixed.length()[i] > 8:
            assert lengths[i] == min(moves_left(*read(words)), TURNS + 1)


@pytest.mark.peer("reasoning-gym", "jugs")
def test_moves_are_those_of_reasoning_gym(batch):
    """Which begins with empty jugs, and lets moves change nothing."""
    scale, states, _ = batch
    empty = play.first(states, COUNT)
    empty = empty.replace(levels=np.zeros_like(empty.levels))
    played = rollouts.roll(ENV, empty, TURNS, 0.3, seed=2)
    lengths, count = played.length(), COUNTS[scale]
    for i in range(COUNT):
        taken = [t for t in range(min(TURNS, lengths[i])) if played.verdicts[t, i] == 0]
        words = [[WORDS[word] for word in played.actions[t, i].tolist() if word >= 0] for t in taken]
        said = [f"{verb} {'->'.join(jugs)}" for verb, *jugs in words]
        puzzle = {"jug_capacities": empty.capacity[i, :count].tolist(), "target": 99}
        _, theirs = verify_solution(puzzle, said)
        ours = [tuple(played.states[t + 1].levels[i, :count].tolist()) for t in taken]
        assert theirs == [(0,) * count, *ours]


def test_the_picture_shows_levels_lines_and_sizes(batch):
    _, states, puzzles = batch
    for (levels, sizes, goal), picture in zip(
        puzzles, play.tiles(ENV, play.first(states, 100)), strict=False
    ):
        tallest = max(sizes)
        for jug, (level, size, line) in enumerate(zip(levels, sizes, goal, strict=True)):
            for half, side in enumerate(("left", "right")):
                column = [picture[row][3 * jug + half] for row in range(tallest + 1)]
                glyph = f"header glyph:{'ABC'[jug]}" if half == 0 else f"plain:paper glyph:{size}"
                assert column.pop() == glyph
                measures = column[::-1]
                marks = ["floor" if line == 0 else "none", *["none"] * (size - 1)]
                if line:
                    marks[line - 1] = "top"
                wet = ["water" if height < level else "air" for height in range(size)]
                wanted = [f"jug:{side}-{w}-{m}" for w, m in zip(wet, marks, strict=True)]
                assert measures == wanted + ["plain:paper"] * (tallest - size)


def test_answers_in_words(batch):
    scale, states, _ = batch
    some = play.first(states, 6)
    some = some.replace(levels=np.zeros_like(some.levels), goal=some.capacity)
    verdicts, _ = play.read(ENV, some, ["fill A", "Fill b", "pour A B", "fill C", "A fill", "fill D"])
    assert verdicts.tolist() == [0, 0, 3, 0 if scale else 3, 3, 2]
