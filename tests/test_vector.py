"""The batch that resets from a pool, against the environment alone."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy import Countdown

from jaxenv import answers, text
from jaxenv.environment import Level, Params, make_params
from jaxenv.vector import Vector, VectorState

SLOTS, POOL = 3, 8
DOWN, STAY = 0, 1
PARAMS = make_params(scale=1)  # two downs to the end
VECTORS = {refill: Vector(Countdown(), SLOTS, POOL, refill) for refill in (0, 2)}
RESET = {refill: jax.jit(vector.reset) for refill, vector in VECTORS.items()}
STEP = {refill: jax.jit(vector.step) for refill, vector in VECTORS.items()}


def begin(refill: int = 0, params: Params = PARAMS) -> tuple[dict[str, Any], VectorState]:
    return RESET[refill](jax.random.key(0), params)


def advance(state: VectorState, actions: list[int], refill: int = 0, seed: int = 1, params: Params = PARAMS):
    return STEP[refill](jax.random.key(seed), state, jnp.array(actions, jnp.int32), params)


def salts(episodes: Any) -> list[list[int]]:
    return np.asarray(episodes.state.salt).tolist()


def test_slots_start_with_the_first_of_the_pool():
    obs, state = begin()
    assert salts(state.episodes) == salts(state.pool)[:SLOTS]
    assert len({tuple(salt) for salt in salts(state.pool)}) == POOL
    np.testing.assert_array_equal(obs["symbolic"][:, 1:], state.episodes.state.salt)


def test_finished_slots_take_the_next_of_the_pool_in_order_and_the_others_go_on():
    _, state = begin()
    pool = salts(state.pool)
    _, state, *_ = advance(state, [DOWN, STAY, DOWN])
    obs, state, reward, terminated, truncated, info = advance(state, [DOWN, DOWN, DOWN])
    assert terminated.tolist() == info["success"].tolist() == [True, False, True]
    assert not truncated.any()
    assert reward.tolist() == [1, 0, 1]
    assert salts(state.episodes) == [pool[3], pool[1], pool[4]]
    assert state.episodes.turn.tolist() == [0, 2, 0]
    assert not state.episodes.done.any()
    # The observation is the next episode's, the final one the last of the old.
    assert obs["symbolic"].tolist() == [[2, *pool[3]], [1, *pool[1]], [2, *pool[4]]]
    assert info["final_observation"]["symbolic"].tolist() == [[0, *pool[0]], [1, *pool[1]], [0, *pool[2]]]
    _, state, _, terminated, *_ = advance(state, [STAY, DOWN, STAY])
    assert terminated.tolist() == [False, True, False]
    assert salts(state.episodes)[1] == pool[5]


def test_the_pool_is_handed_out_in_a_ring():
    _, state = begin()
    pool, handed = salts(state.pool), salts(state.episodes)
    for _ in range(3):
        for seed in range(2):
            _, state, *_ = advance(state, [DOWN] * SLOTS, seed=seed)
        handed += salts(state.episodes)
    assert handed == [pool[i % POOL] for i in range(4 * SLOTS)]
    assert salts(state.pool) == pool


def test_the_pool_is_refilled_in_order_with_new_instances():
    _, state = begin(refill=2)
    before = salts(state.pool)
    _, state, *_ = advance(state, [STAY] * SLOTS, refill=2)
    renewed = [new != old for new, old in zip(salts(state.pool), before, strict=True)]
    assert renewed == [True, True, *[False] * (POOL - 2)]
    for seed in range(3):
        _, state, *_ = advance(state, [STAY] * SLOTS, refill=2, seed=10 + seed)
    after = salts(state.pool)
    assert all(new != old for new, old in zip(after, before, strict=True))
    assert len({tuple(salt) for salt in after}) == POOL


def test_entries_keep_their_levels():
    scale = jnp.array([0, 1, 0, 1, 0, 1, 0, 1], jnp.int32)
    params = Params(Level(jnp.arange(POOL, dtype=jnp.int32) % 5, scale), jnp.int32(0))
    _, state = begin(2, params)
    for seed in range(5):
        _, state, *_ = advance(state, [DOWN] * SLOTS, 2, seed, params)
    assert state.pool.level.scale.tolist() == scale.tolist()
    assert state.pool.level.harness.tolist() == [at % 5 for at in range(POOL)]
    assert state.pool.state.left.tolist() == (scale + 1).tolist()
    assert (state.episodes.state.left <= state.episodes.level.scale + 1).all()


def test_the_clock_ends_episodes_too():
    _, state = begin()
    for turn in range(6):
        pool = salts(state.pool)
        _, state, reward, terminated, truncated, _ = advance(state, [STAY, STAY, STAY], seed=turn)
        assert truncated.tolist() == [turn == 5] * SLOTS
    assert not terminated.any()
    assert not reward.any()
    assert salts(state.episodes) == pool[3:6]


def test_a_slot_does_what_the_environment_does_alone():
    env, vector = Countdown(), VECTORS[0]
    _, state = begin()
    keys = jax.random.split(jax.random.split(jax.random.key(1))[0], vector.num_envs)
    result = advance(state, [DOWN, STAY, DOWN])
    for slot, action in enumerate((DOWN, STAY, DOWN)):
        episode = jax.tree.map(lambda leaf, slot=slot: leaf[slot], state.episodes)
        alone = env.step(keys[slot], episode, jnp.int32(action), PARAMS)
        mine = jax.tree.map(lambda leaf, slot=slot: leaf[slot], (result[0], result[1].episodes, *result[2:5]))
        jax.tree.map(np.testing.assert_array_equal, alone[:5], mine)


def test_replies_in_words():
    _, state = begin()
    replies = text.encode_batch(["<answer>down</answer>", "down", "<answer>up</answer>"], 32)
    step = jax.jit(VECTORS[0].step_text)
    _, state, _, _, _, info = step(jax.random.key(1), state, replies, PARAMS)
    assert info["verdict"].tolist() == [answers.ACCEPTED, answers.NO_TAG, answers.NOT_IN_GRAMMAR]
    assert state.episodes.state.left.tolist() == [1, 2, 2]
    assert state.episodes.turn.tolist() == [1, 1, 1]


def test_nothing_is_compiled_twice():
    vector = Vector(Countdown(), SLOTS, POOL)
    reset, step = jax.jit(vector.reset), jax.jit(vector.step)
    for scale in (0, 1):
        params = make_params(harness=scale, scale=scale, max_turns=scale)
        _, state = reset(jax.random.key(scale), params)
        for seed in range(4):
            _, state, *_ = step(jax.random.key(seed), state, jnp.zeros(SLOTS, jnp.int32), params)
    assert (reset._cache_size(), step._cache_size()) == (1, 1)


def test_a_pool_that_is_too_small_is_an_error():
    with pytest.raises(ValueError, match=r"pool_size: 2 must be at least num_envs \(3\)"):
        Vector(Countdown(), 3, pool_size=2)
    with pytest.raises(ValueError, match=r"refill \(9\) between 0 and pool_size"):
        Vector(Countdown(), 3, pool_size=8, refill=9)
