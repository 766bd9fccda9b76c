"""What can be timed: a name, what a turn includes, and how to prepare a function that plays some turns."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import jaxenv
from jaxenv.environment import Params, make_params
from jaxenv.vector import Vector

Play = Callable[[], int]
POOL_SHARE = 4
REFILL_SHARE = 64


@dataclass(frozen=True)
class Ready:
    """A warm contender. `play()` plays some turns, waits for them and returns how many it played.

    fresh: share of the episodes begun in the last `play` whose instance was new; None where none is made.
    """

    play: Play
    compile_seconds: float = 0.0
    state_bytes: int | None = None
    fresh: Callable[[], float | None] = lambda: None


@dataclass(frozen=True)
class Contender:
    """One row: who plays, on what board, what a turn includes, and how to make it ready."""

    name: str
    board: str
    observation: str
    reset: str
    prepare: Callable[[], Ready]
    num_envs: int


def scanned(
    reset: Callable[[jax.Array], tuple[Any, Any]],
    turn: Callable[[jax.Array, Any], tuple[Any, Any, jax.Array, jax.Array]],
    episode: Callable[[Any], Any],
    num_envs: int,
    steps: int,
    new_per_turn: int = 0,
) -> Ready:
    """`steps` turns of `num_envs` environments as one compiled scan.

    reset(key) is (observations, state); turn(key, state) is (observations, state, rewards, ended).
    Observations and rewards are in the carry, so none is left out as dead code. episode(state) is what is
    kept per environment; new_per_turn, how many instances a turn makes.
    """

    def advance(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        _, state, total, ends = carry
        observations, state, reward, ended = turn(key, state)
        return (observations, state, total + reward, ends + ended.sum(dtype=jnp.int32)), None

    def rollout(key: jax.Array, carry: tuple) -> tuple:
        return jax.lax.scan(advance, carry, jax.random.split(key, steps))[0]

    observations, state = jax.jit(reset)(jax.random.key(0))
    carry = (observations, state, jnp.zeros(num_envs), jnp.int32(0))
    started = time.perf_counter()
    compiled = jax.jit(rollout, donate_argnums=1).lower(jax.random.key(0), carry).compile()
    compile_seconds = time.perf_counter() - started
    box = {"carry": carry, "plays": 0, "ends": 0}

    def play() -> int:
        before = int(box["carry"][3])
        box["plays"] += 1
        box["carry"] = jax.block_until_ready(compiled(jax.random.key(box["plays"]), box["carry"]))
        box["ends"] = int(box["carry"][3]) - before
        return steps * num_envs

    def fresh() -> float | None:
        return min(1.0, new_per_turn * steps / max(box["ends"], 1)) if new_per_turn else None

    return Ready(play, compile_seconds, _bytes(episode(state)) // num_envs, fresh)


def ours(
    env_id: str, scale: int, canvas: int, num_envs: int, steps: int, auto_reset: bool = True
) -> Contender:
    """One of our environments at a level: canvas 0 observes the symbolic array, else pixels of that side.

    With auto_reset, finished slots take instances from a pool of 4 * num_envs, of which a turn renews one
    for every 64 slots, or as many as there are slots where every turn ends an episode.
    """
    env, _ = jaxenv.make(env_id, **({"observe": ("pixels",), "canvas": canvas} if canvas else {}))
    refill = num_envs if env.single_turn else max(num_envs // REFILL_SHARE, 1)
    params = make_params(scale=scale)
    vector = Vector(env, num_envs, pool_size=POOL_SHARE * num_envs, refill=refill)
    prepare = _pooled if auto_reset else _endless
    shape = f"{canvas}x{canvas} uint8 pixels" if canvas else "symbolic uint8"
    return Contender(
        name=env_id,
        board=f"scale {scale}",
        observation=shape,
        reset=f"pool, {refill} new a turn" if auto_reset else "none",
        prepare=functools.partial(prepare, vector, params, steps),
        num_envs=num_envs,
    )


def _pooled(vector: Vector, params: Params, steps: int) -> Ready:
    def turn(key: jax.Array, state: Any) -> tuple[Any, Any, jax.Array, jax.Array]:
        act_key, step_key = jax.random.split(key)
        actions = jax.vmap(vector.env.grammar.sample)(jax.random.split(act_key, vector.num_envs))
        observations, state, reward, terminated, truncated, _ = vector.step(step_key, state, actions, params)
        return observations, state, reward, terminated | truncated

    reset = functools.partial(vector.reset, params=params)
    return scanned(reset, turn, lambda state: state.episodes, vector.num_envs, steps, vector.refill)


def _endless(vector: Vector, params: Params, steps: int) -> Ready:
    env, num_envs = vector.env, vector.num_envs

    def reset(key: jax.Array) -> tuple[Any, Any]:
        return jax.vmap(env.reset, (0, None))(jax.random.split(key, num_envs), params)

    def one(key: jax.Array, episode: Any) -> tuple[Any, Any, jax.Array, jax.Array]:
        act_key, step_key = jax.random.split(key)
        action = env.grammar.sample(act_key)
        observations, after, reward, terminated, truncated, _ = env.step(step_key, episode, action, params)
        return observations, after, reward, terminated | truncated

    def turn(key: jax.Array, state: Any) -> tuple[Any, Any, jax.Array, jax.Array]:
        return jax.vmap(one)(jax.random.split(key, num_envs), state)

    return scanned(reset, turn, lambda state: state, num_envs, steps)


def _bytes(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
