"""hidden_switches against sets of lamps in plain Python."""

import itertools

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("hidden_switches")[0]
COUNTS, FEWEST, DISTINCT, SUBMIT = (3, 5, 8), (2, 2, 3), (1500, 1990, 1990), 8
TURNS, COUNT = 20, 100
Lamps = frozenset[int]


def lit(row: np.ndarray) -> Lamps:
    return frozenset(np.flatnonzero(row).tolist())


def after(lamps: Lamps, switches: list[int], wiring: list[Lamps]) -> Lamps:
    for switch in switches:
        lamps = lamps ^ wiring[switch]
    return lamps


def solutions(lamps: Lamps, goal: Lamps, wiring: list[Lamps]) -> list[Lamps]:
    """All sets of switches that make the lamps match."""
    sets = itertools.chain(*(itertools.combinations(range(len(wiring)), n) for n in range(len(wiring) + 1)))
    return [frozenset(chosen) for chosen in sets if after(lamps, list(chosen), wiring) == goal]


class Seen:
    """What the words of an observation tell."""

    def __init__(self, words: str) -> None:
        rows = [line.split(" ") for line in words.split("\n")]
        assert [row[0] for row in rows] == ["goal", "now", *(f"{n + 1}:" for n in range(len(rows) - 2))]
        self.n = len(rows) - 2
        self.goal, self.lamps = (frozenset(i for i in range(self.n) if row[1 + i] == "1") for row in rows[:2])
        self.effects = [
            None if row[1] == "?" else frozenset(i for i in range(self.n) if row[1 + i] == "x")
            for row in rows[2:]
        ]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    scale = request.param
    states = play.instances(ENV, scale)
    assert (states.count == COUNTS[scale]).all()
    wirings = [[lit(row) for row in wiring[: COUNTS[scale]]] for wiring in states.wiring]
    return scale, states, wirings


def test_every_goal_is_reached_by_one_set_of_switches(batch):
    scale, states, wirings = batch
    n = COUNTS[scale]
    assert play.distinct(states) > DISTINCT[scale]
    sizes = set()
    for i, wiring in enumerate(wirings):
        lamps, goal, plan = lit(states.lamps[i]), lit(states.goal[i]), lit(states.plan[i])
        assert lamps | goal | plan | frozenset().union(*wiring) <= frozenset(range(n))
        assert all(wiring)
        assert lamps != goal
        if i < play.SOME or n < 8:
            assert solutions(lamps, goal, wiring) == [plan]
        assert after(lamps, list(plan), wiring) == goal
        sizes.add(len(plan))
    assert sizes == set(range(FEWEST[scale], n + 1))


@pytest.mark.parametrize("share", [0.7, 1.0])
def test_flips_follow_the_wiring_and_submitting_ends(batch, share):
    scale, states, wirings = batch
    n = COUNTS[scale]
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths, refused, lost = played.length(), 0, 0
    for i, wiring in enumerate(wirings[:COUNT]):
        lamps, goal, tried = lit(some.lamps[i]), lit(some.goal[i]), set()
        for t in range(min(TURNS, lengths[i])):
            action = int(played.actions[t, i])
            legal = action < n or action == SUBMIT
            refused += not legal
            assert (played.verdicts[t, i] == 0) == legal
            assert played.terminated[t, i] == (action == SUBMIT)
            assert played.rewards[t, i] == (action == SUBMIT and lamps == goal)
            lost += action == SUBMIT and lamps != goal
            if action < n:
                lamps, tried = lamps ^ wiring[action], tried | {action}
            then = rollouts.one(played.states[t + 1], i)
            assert (lit(then.lamps), lit(then.goal), lit(then.tried)) == (lamps, goal, tried)
    if share == 1.0:
        assert (played.rewards.sum(0) == 1).all()
        assert (lengths <= ENV.max_turns[scale]).all()
    assert (refused + lost == 0) == (share == 1.0)


def test_only_what_was_tried_is_seen_and_it_is_enough(batch):
    scale, states, wirings = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, 1.0)
    n, lengths = COUNTS[scale], played.length()
    for t in (0, 1, n):
        words = play.observations(ENV, played.states[t])
        actions = play.experts(ENV, played.states[t])
        for i in np.flatnonzero(lengths > t):
            seen = Seen(words[i])
            tried = set(played.actions[:t, i].tolist())
            assert seen.effects == [wirings[i][s] if s in tried else None for s in range(n)]
            assert (seen.lamps, seen.goal) == (lit(played.states[t].lamps[i]), lit(some.goal[i]))
            if seen.lamps == seen.goal:
                assert actions[i] == SUBMIT
            elif len(tried) < n:
                assert actions[i] not in tried
            else:
                (answer,) = solutions(seen.lamps, seen.goal, seen.effects)
                assert actions[i] in answer


def test_the_picture_shows_lamps_and_dots(batch):
    scale, states, _ = batch
    n = COUNTS[scale]
    some = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 1.0).states[2]
    for words, picture in zip(play.observations(ENV, some), play.tiles(ENV, some), strict=True):
        seen = Seen(words)
        names = [row[: n + 1] for row in picture[: n + 2]]
        assert [row[0] for row in names] == [
            "header flag",
            "header",
            *(f"given glyph:{i + 1}" for i in range(n)),
        ]
        for row, lamps in zip(names, (seen.goal, seen.lamps), strict=False):
            assert row[1:] == ["lamp:on" if i in lamps else "lamp:off" for i in range(n)]
        for row, effect in zip(names[2:], seen.effects, strict=True):
            dots = [
                ("paper stone:black" if i in effect else "paper") if effect is not None else "covered"
                for i in range(n)
            ]
            assert row[1:] == dots


def test_answers_in_words(batch):
    scale, states, _ = batch
    some = play.first(states, 5)
    verdicts, rewards = play.read(
        ENV, some, [str(COUNTS[scale]), "SUBMIT", str(COUNTS[scale] + 1), "0", "1 2"]
    )
    assert verdicts.tolist() == [0, 0, 3 if scale < 2 else 2, 2, 2]
    assert (rewards == 0).all()
