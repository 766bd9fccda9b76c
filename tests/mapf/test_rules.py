"""Joint moves and costs against plain Python; rewards against plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_mapf as plain
from reference_mapf import Board

from jaxenv.mapf import rewards, rules
from jaxenv.mapf.instance import HORIZON, MOST_AGENTS
from jaxenv.mapf.rewards import RewardConfig


def random_board(noise: np.random.Generator) -> Board:
    side, agents = int(noise.integers(3, 6)), int(noise.integers(2, 6))
    cells = [(r, c) for r in range(side) for c in range(side)]
    order = [cells[i] for i in noise.permutation(len(cells))]
    starts, goals = order[:agents], order[2 : 2 + agents]
    return Board(side, frozenset(order[7:9]) - {*goals}, tuple(starts), tuple(goals))


@pytest.fixture(scope="module")
def boards():
    noise = np.random.default_rng(0)
    return [random_board(noise) for _ in range(1000)]


def test_joint_moves(boards):
    noise = np.random.default_rng(1)
    moves = noise.integers(0, 5, (len(boards), MOST_AGENTS)).astype(np.int32)
    moves[::7, 0] = -1  # stays

    @jax.jit
    @jax.vmap
    def play(instance, moves):
        after, there = rules.move(instance.starts, moves), rules.present(instance)
        lost = rules.outside(instance, after), rules.in_hole(instance, after)
        return after, rules.collide(instance.starts, after, there), *lost

    after, hit, outside, fallen = map(
        np.asarray, play(plain.stack([plain.instance_of(board) for board in boards]), moves)
    )
    for i, board in enumerate(boards):
        n = len(board.starts)
        words = [plain.WORDS[move] if move >= 0 else "WAIT" for move in moves[i, :n]]
        cells = [plain.step(cell, word) for cell, word in zip(board.starts, words, strict=True)]
        assert list(map(tuple, after[i, :n].tolist())) == cells
        assert hit[i] == plain.collide(board.starts, cells)
        assert outside[i, :n].tolist() == [not board.on(cell) for cell in cells]
        assert fallen[i, :n].tolist() == [cell in board.holes for cell in cells]
    assert 0.1 < hit.mean() < 0.9


def test_traces_and_costs(boards):
    noise = np.random.default_rng(2)
    answers = [
        {a: noise.choice(plain.WORDS, noise.integers(1, 12)).tolist() for a in range(len(board.starts))}
        for board in boards
    ]
    answers[0] = {a: ["WAIT"] * HORIZON for a in answers[0]}

    @jax.jit
    @jax.vmap
    def run(instance, plan):
        cells = rules.trace(instance, plan)
        both = rules.cost(instance, cells), rules.cost(instance, cells, "makespan")
        return cells, rules.arrivals(instance, cells), *both

    instances = plain.stack([plain.instance_of(board) for board in boards])
    cells, arrivals, total, last = map(np.asarray, run(instances, plain.stack(map(plain.plan_of, answers))))
    arrived = 0
    for i, board in enumerate(boards):
        paths = {a: plain.walk(board.starts[a], words) for a, words in answers[i].items()}
        for a, path in paths.items():
            there = path + [path[-1]] * (HORIZON + 1 - len(path))
            assert list(map(tuple, cells[i, :, a].tolist())) == there
            assert arrivals[i, a] == plain.arrival(there, board.goals[a])
            arrived += path[-1] == board.goals[a]
        assert (arrivals[i, len(paths) :] == 0).all()
        assert total[i] == arrivals[i].sum()
        assert last[i] == arrivals[i].max()
    assert arrived > 50


# --- rewards ----------------------------------------------------------------------------------------------


def plain_length(tokens: int) -> float:
    if tokens <= 1500:
        return 0.0
    return -1.0 if tokens >= 4096 else -(tokens - 1500) / 2596


def test_accuracy_reward():
    valid, cost, optimum = map(jnp.asarray, ([True] * 4 + [False], [10, 20, 40, 0, 10], [10, 15, 10, 0, 10]))
    np.testing.assert_allclose(rewards.accuracy(valid, cost, optimum), [1, 0.75, 0.3, 0.3, 0], atol=1e-6)


def test_length_reward():
    tokens = [0, 1499, 1500, 1501, 2798, 4095, 4096, 9000]
    np.testing.assert_allclose(
        rewards.length(jnp.asarray(tokens)), list(map(plain_length, tokens)), atol=1e-6
    )


def test_the_weights_follow_the_running_share_of_short_answers():
    noise = np.random.default_rng(0)
    share, ours, seen = 0.5, jnp.float32(rewards.START_SHARE), []
    for longest in (6000, 3000, 1600, 1600, 1500):
        tokens = noise.integers(0, longest, 100)
        for count in tokens:
            share = 0.99 * share + 0.01 * (count <= 1500)
        ours = rewards.update_share(ours, jnp.asarray(tokens, jnp.int32))
        assert float(ours) == pytest.approx(share, abs=1e-5)
        of_accuracy = 0.5 + 0.3 * min(max((share - 0.5) / 0.5, 0), 1)
        found = list(map(float, rewards.weights(ours)))
        assert found == pytest.approx([of_accuracy, 1 - of_accuracy], abs=1e-5)
        total = rewards.total(jnp.float32(0.75), jnp.float32(-0.5), ours)
        assert float(total) == pytest.approx(of_accuracy * 0.75 - (1 - of_accuracy) * 0.5, abs=1e-5)
        seen.append(of_accuracy)
    assert min(seen) == 0.5 < 0.7 < max(seen)


@pytest.mark.parametrize("wrong", [{"free_tokens": 4096}, {"floor": 1.5}, {"decay": -0.1}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RewardConfig(**wrong)
