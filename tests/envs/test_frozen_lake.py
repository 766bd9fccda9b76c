"""frozen_lake against gymnasium's FrozenLakeEnv on the same maps."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import play
import pytest
import rollouts
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import jaxenv

ENV = jaxenv.make("frozen_lake")[0]
SIDES = (4, 6, 8)
GYM_ACTION = (3, 1, 0, 2)  # gymnasium's left 0, down 1, right 2, up 3, in the order of ours
SUCCESS_RATE = 0.8
TURNS, COUNT, SAMPLES = 64, 250, 2000


def lake_map(words: str) -> list[str]:
    """The observation in gymnasium's letters."""
    return [
        "".join({".": "F", "H": "H", "G": "G", "A": "S"}[w] for w in line.split())
        for line in words.split("\n")
    ]


def gym_lake(lake: list[str], slippery: bool) -> FrozenLakeEnv:
    return FrozenLakeEnv(desc=lake, is_slippery=slippery, success_rate=SUCCESS_RATE)


def reaches_gift(lake: list[str]) -> bool:
    n = len(lake)
    start = next((r, c) for r in range(n) for c in range(n) if lake[r][c] == "S")
    seen, queue = {start}, deque([start])
    while queue:
        row, col = queue.popleft()
        if lake[row][col] == "G":
            return True
        for cell in ((row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)):
            if cell not in seen and min(cell) >= 0 and max(cell) < n and lake[cell[0]][cell[1]] != "H":
                seen.add(cell)
                queue.append(cell)
    return False


def best_values(lake: list[str], slippery: bool, discount: float = 0.99) -> np.ndarray:
    """[cells, actions] by value iteration on gymnasium's table."""
    table = gym_lake(lake, slippery).P
    values = np.zeros((len(table), 4))
    for _ in range(300):
        best = values.max(1)
        for s, actions in table.items():
            for a, outcomes in actions.items():
                values[s, a] = sum(p * (r + discount * best[to] * (not done)) for p, to, r, done in outcomes)
    return values


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [lake_map(words) for words in play.observations(ENV, states)]


def test_every_lake_has_a_way_and_they_differ(batch):
    scale, states, lakes = batch
    for lake in lakes:
        assert [len(row) for row in lake] == [SIDES[scale]] * SIDES[scale]
        assert reaches_gift(lake)
    assert play.distinct(states) > 1900


@pytest.mark.peer("gymnasium", "frozen_lake")
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_moves_follow_gymnasium(batch, share):
    """Without slipping there is one outcome; with it the outcome is one of gymnasium's."""
    scale, states, lakes = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, transitions = played.length(), 0
    for i in range(COUNT):
        table, n = gym_lake(lakes[i], scale == 2).P, SIDES[scale]
        for t in range(min(TURNS, lengths[i])):
            before, after = (played.states[at].agent[i].tolist() for at in (t, t + 1))
            outcomes = table[before[0] * n + before[1]][GYM_ACTION[played.actions[t, i]]]
            found = (after[0] * n + after[1], played.rewards[t, i], played.terminated[t, i])
            assert found in [outcome[1:] for outcome in outcomes]
            assert scale == 2 or len(outcomes) == 1
            transitions += 1
    assert transitions >= 1000 or share > 0


def test_the_ice_is_as_slippery_as_gymnasium_says(batch):
    scale, states, lakes = batch
    if scale < 2:
        pytest.skip("only the largest lake is slippery")
    slide = jax.jit(jax.vmap(ENV.transition, (0, None, None)))
    keys = jax.random.split(jax.random.key(0), SAMPLES)
    for i in range(10):
        state, table = rollouts.one(states, i), gym_lake(lakes[i], True).P
        for action in range(4):
            after, _, _ = slide(keys, state, jnp.int32(action))
            cells, counts = np.unique(np.asarray(after.agent) @ np.array([8, 1]), return_counts=True)
            expected = np.zeros(64)
            for chance, to, _, _ in table[int(state.agent @ np.array([8, 1]))][GYM_ACTION[action]]:
                expected[to] += chance
            found = np.zeros(64)
            found[cells] = counts / SAMPLES
            np.testing.assert_allclose(found, expected, atol=0.04)  # over four standard deviations


def test_the_expert_is_optimal_and_arrives(batch):
    scale, states, lakes = batch
    some = play.first(states, COUNT)
    actions = play.experts(ENV, some)
    for i in range(20):
        row, col = some.agent[i].tolist()
        values = best_values(lakes[i], scale == 2)[row * SIDES[scale] + col]
        assert values[GYM_ACTION[actions[i]]] > values.max() - 1e-4
    played = rollouts.roll(ENV, some, TURNS, 1.0)
    arrived = (played.rewards.sum(0) == 1) & (played.length() <= ENV.max_turns[scale])
    assert arrived.all() if scale < 2 else arrived.mean() > 0.5
