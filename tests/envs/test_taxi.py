"""taxi against gymnasium's Taxi on its own map, and against plain Python on maps read from the words."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import play
import pytest
import rollouts
from gymnasium.envs.toy_text.taxi import TaxiEnv

import jaxenv
from envs_jax.navigation.taxi import Town

ENV = jaxenv.make("taxi")[0]
SIDES, STANDS = (5, 7, 9), (4, 5, 6)
ABOARD, PICKUP, DROPOFF = 6, 4, 5
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
LETTERS = "RGYBPO"
GYM_ACTION = (1, 0, 3, 2, 4, 5)  # gymnasium's south, north, east, west, pickup, dropoff, in the order of ours
GYM_LETTERS = "RGYB"
TURNS, COUNT = 64, 60
Cell = tuple[int, int]


class Map:
    """A town read from the words of an observation."""

    def __init__(self, words: str) -> None:
        *rows, wish = words.split("\n")
        cells = {(r, c): word for r, row in enumerate(rows) for c, word in enumerate(row.split(" "))}
        self.n = len(rows)
        self.stands = {word[0]: cell for cell, word in cells.items() if word[0] != "."}
        (self.taxi,) = (cell for cell, word in cells.items() if "t" in word or "f" in word)
        self.waiting = next((word[0] for word in cells.values() if "p" in word), None)
        self.wish = wish.removeprefix("p to ")
        self.below = {cell for cell, word in cells.items() if "_" in word}
        self.right = {cell for cell, word in cells.items() if "|" in word}

    def drive(self, cell: Cell, move: int) -> Cell:
        to = cell[0] + STEPS[move][0], cell[1] + STEPS[move][1]
        first = min(cell, to)
        walled = first in (self.below if move < 2 else self.right)
        return cell if walled or min(to) < 0 or max(to) >= self.n else to

    def away(self, start: Cell) -> dict[Cell, int]:
        found, queue = {start: 0}, deque([start])
        while queue:
            cell = queue.popleft()
            for move in range(4):
                to = self.drive(cell, move)
                if to not in found:
                    found[to] = found[cell] + 1
                    queue.append(to)
        return found

    def fewest_turns(self, taxi: Cell, waiting: str | None) -> int:
        way = 0
        if waiting:
            way, taxi = self.away(taxi)[self.stands[waiting]] + 1, self.stands[waiting]
        return way + self.away(taxi)[self.stands[self.wish]] + 1


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [Map(words) for words in play.observations(ENV, states)]


def test_every_passenger_can_be_driven_in_time_and_towns_differ(batch):
    scale, states, maps = batch
    for town in maps:
        assert town.n == SIDES[scale]
        assert sorted(town.stands) == sorted(LETTERS[: STANDS[scale]])
        assert town.waiting in town.stands
        assert town.wish in set(town.stands) - {town.waiting}
        assert len(town.away(town.taxi)) == town.n**2
        assert town.fewest_turns(town.taxi, town.waiting) <= ENV.max_turns[scale]
    assert play.distinct(states) > 1990


def test_a_drive_that_the_clock_would_end_finds_no_walls():
    """In this town it took 43 turns of 42: one of some 100,000 is such."""
    key = jax.random.split(jax.random.key(0), 10_000)[9909:9910]
    states = jax.jit(jax.vmap(ENV.generate, (0, None)))(key, jnp.int32(1))
    (town,) = (Map(words) for words in play.observations(ENV, states))
    assert not town.below | town.right
    assert len(town.away(town.taxi)) == 49


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_turns_follow_the_rules_and_the_expert_takes_a_shortest_way(batch, share):
    _, states, maps = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, kinds = played.length(), set()
    for i, town in enumerate(maps[:COUNT]):
        taxi, waiting = town.taxi, town.waiting
        if share == 1.0:
            assert lengths[i] == town.fewest_turns(taxi, waiting)
        for t in range(min(TURNS, lengths[i])):
            action, legal, done = int(played.actions[t, i]), True, False
            here = next((letter for letter, cell in town.stands.items() if cell == taxi), None)
            if action == PICKUP:
                legal = waiting is not None and here == waiting
                waiting = None if legal else waiting
            elif action == DROPOFF:
                legal = waiting is None and here is not None
                waiting = here if legal else waiting
                done = legal and here == town.wish
            else:
                taxi = town.drive(taxi, action)
            after = rollouts.one(played.states[t + 1], i)
            assert tuple(after.taxi.tolist()) == taxi
            assert after.passenger == (ABOARD if waiting is None else LETTERS.index(waiting))
            assert played.terminated[t, i] == done == played.rewards[t, i]
            assert (played.verdicts[t, i] == 0) == legal
            kinds.add((action, legal))
    assert kinds >= {(action, True) for action in range(6)}
    assert share == 1.0 or kinds >= {(PICKUP, False), (DROPOFF, False)}


def test_the_expert_works_from_anywhere(batch):
    """Also when the passenger was let out at another stand."""
    _, states, _ = batch
    mixed = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.5, seed=1)
    wandered = mixed.states[20]
    maps = [Map(words) for words in play.observations(ENV, wandered)]
    lengths = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    for i in np.flatnonzero(mixed.length() > 20):
        assert lengths[i] == maps[i].fewest_turns(maps[i].taxi, maps[i].waiting)


@pytest.mark.peer("gymnasium", "taxi")
def test_every_turn_is_gymnasiums():
    """All states and actions of gymnasium's own map."""
    env = TaxiEnv()
    walls = 2 * (env.desc[1:6, 2:11:2] != b":").astype(int)
    walls[4] += 1
    padded = jnp.asarray(np.pad(walls, (0, 4), constant_values=3), jnp.uint8)
    stands = jnp.full((6, 2), -1, jnp.int8).at[:4].set(jnp.asarray(env.locs, jnp.int8))

    @jax.jit
    @jax.vmap
    def turn(taxi, passenger, wish, action):
        state = Town(padded, taxi, stands, passenger, wish, jnp.int32(5))
        after, reward, terminated = ENV.transition(jax.random.key(0), state, action)
        return ENV.legal(state, action), after.taxi, after.passenger, reward, terminated

    told = [(*env.decode(s), ours) for s in range(500) for ours in range(6)]
    row, col, passenger, wish, action = np.array(told, np.int32).T
    aboard = np.where(passenger == 4, ABOARD, passenger)
    legal, taxi, after, reward, terminated = map(
        np.asarray, turn(np.stack([row, col], 1), aboard, wish, action)
    )
    for i, (_, _, where, to, ours) in enumerate(told):
        state = env.encode(row[i], col[i], where, to)
        ((_, next_state, paid, ended),) = env.P[state][GYM_ACTION[ours]]
        assert legal[i] == (paid != -10)
        if legal[i]:
            inside = 4 if after[i] == ABOARD else after[i]
            assert next_state == env.encode(*taxi[i], inside, to)
            assert reward[i] == (paid == 20) == ended == terminated[i]
