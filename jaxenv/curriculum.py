"""Curricula: HDC (harness and scale frontiers of every environment) and ScalingInter (turn horizons).

HDC, the hierarchical difficulty curriculum of arXiv:2608.03571, section 3: every environment e has a harness
frontier r_e (H0 = all helping texts .. H4 = the picture and the task alone) and a scale frontier u_e
(0 = the smallest instances .. its target). Levels are drawn around the frontier; success there moves it.
The paper gives the rules but no numbers: the defaults of `HDCConfig` are this project's own choice.

Everything is a pure function of pytrees. Levels are int32 data, so a moving frontier recompiles nothing.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from flax import struct

HARNESS_LEVELS = 5  # H0 .. H4
H4 = HARNESS_LEVELS - 1


@dataclass(frozen=True)
class HDCConfig:
    """Numbers of the curriculum; hashable, so it is a static argument of the jitted functions below.

    p_cur: probability of the harness level r_e; the earlier levels share the rest. In (0, 1].
    alpha: an earlier harness level h weighs exp(-alpha (r_e - h)). At least 0.
    delta_d: the scale is uniform over max(0, u_e - delta_d) .. u_e. At least 0.
    tau_s: success rate at the frontier that advances u_e while it is below the target scale. In [0, 1].
    tau_h: success rate at the frontier and target scale that advances r_e and resets u_e to 0. In [0, 1].
    window: number of the latest episodes at the frontier that make the success rate. At least 1.
    mode: "hdc" moves both; the ablations are "scale" (harness always H4), "harness" (scale always the target)
        and "none" (harness always H4, scale always the target: no curriculum).

    Raises ValueError for a value outside its range.
    """

    p_cur: float = 0.7
    alpha: float = 1.0
    delta_d: int = 1
    tau_s: float = 0.6
    tau_h: float = 0.7
    window: int = 32
    mode: Literal["hdc", "scale", "harness", "none"] = "hdc"

    def __post_init__(self) -> None:
        if not 0.0 < self.p_cur <= 1.0:
            raise ValueError(f"p_cur must be in (0, 1], not {self.p_cur}")
        if not (0.0 <= self.tau_s <= 1.0 and 0.0 <= self.tau_h <= 1.0):
            raise ValueError(f"tau_s and tau_h must be in [0, 1], not {self.tau_s} and {self.tau_h}")
        if self.alpha < 0.0 or self.delta_d < 0:
            raise ValueError(f"alpha and delta_d must be at least 0, not {self.alpha} and {self.delta_d}")
        if self.window < 1:
            raise ValueError(f"window must be at least 1, not {self.window}")
        if self.mode not in ("hdc", "scale", "harness", "none"):
            raise ValueError(f"mode must be hdc, scale, harness or none, not {self.mode!r}")

    @property
    def moves_harness(self) -> bool:
        return self.mode in ("hdc", "harness")

    @property
    def moves_scale(self) -> bool:
        return self.mode in ("hdc", "scale")


@struct.dataclass
class Frontier:
    """State of the curriculum, one entry an environment.

    `window` is a ring of the latest outcomes at the frontier; `count` is how many episodes were counted since
    the frontier last moved, so the slots from `count` on are stale until the ring is full.
    """

    harness: jax.Array  # int32[E], r_e
    scale: jax.Array  # int32[E], u_e
    target_scale: jax.Array  # int32[E], the cap of u_e
    window: jax.Array  # bool[E, window]
    count: jax.Array  # int32[E]


def init(config: HDCConfig, target_scale: jax.Array) -> Frontier:
    """The frontier before the first episode, for environments with these target scales (int32[E], >= 0)."""
    target = jnp.asarray(target_scale, jnp.int32)
    return Frontier(
        harness=jnp.full_like(target, 0 if config.moves_harness else H4),
        # A copy, not the same buffer twice: a donated Frontier must not alias itself.
        scale=jnp.zeros_like(target) if config.moves_scale else jnp.array(target, copy=True),
        target_scale=target,
        window=jnp.zeros((*target.shape, config.window), bool),
        count=jnp.zeros_like(target),
    )


def harness_probabilities(config: HDCConfig, harness: jax.Array) -> jax.Array:
    """Probability of every harness level at the frontier `harness` int32[E]: float32[E, 5], rows sum to 1."""
    level = jnp.arange(HARNESS_LEVELS)  # [5]
    distance = harness[:, None] - level  # [E, 5]
    if not config.moves_harness:
        return (distance == 0).astype(jnp.float32)
    weight = jnp.where(distance > 0, jnp.exp(-config.alpha * distance), 0.0)
    earlier = weight / jnp.maximum(weight.sum(-1, keepdims=True), jnp.finfo(jnp.float32).tiny)
    p_cur = jnp.where(harness == 0, 1.0, config.p_cur)[:, None]  # nothing is earlier than H0
    return jnp.where(distance == 0, p_cur, (1.0 - p_cur) * earlier)


@partial(jax.jit, static_argnames=("config", "n"))
def sample(config: HDCConfig, frontier: Frontier, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
    """Draw `n` levels for every environment: harness and scale, int32[E, n], independent draws."""
    harness_key, scale_key = jax.random.split(key)
    shape = (*frontier.harness.shape, n)
    log_p = jnp.log(harness_probabilities(config, frontier.harness))[:, None, :]  # [E, 1, 5]
    harness = jax.random.categorical(harness_key, log_p, shape=shape)
    low = jnp.maximum(0, frontier.scale - config.delta_d) if config.moves_scale else frontier.scale
    scale = jax.random.randint(scale_key, shape, low[:, None], frontier.scale[:, None] + 1)
    return harness.astype(jnp.int32), scale


@partial(jax.jit, static_argnames="config")
def update(
    config: HDCConfig,
    frontier: Frontier,
    env: jax.Array,
    harness: jax.Array,
    scale: jax.Array,
    success: jax.Array,
    valid: jax.Array,
) -> Frontier:
    """Count finished episodes, in order, and move the frontiers.

    env, harness, scale: int32[N], the environment's index and the level each episode was played at.
    success, valid: bool[N]; an episode that is not valid (padding, unfinished) is ignored.

    Only episodes at the frontier count. The success rate is acted upon once `window` of them were counted
    since the frontier last moved; after a move the window starts again, so the rest of the batch, drawn at
    the old frontier, no longer counts. Both frontiers stop at their caps and never wrap.
    """

    def step(frontier: Frontier, episode: tuple[jax.Array, ...]) -> tuple[Frontier, None]:
        return _count(config, frontier, *episode), None

    return jax.lax.scan(step, frontier, (env, harness, scale, success, valid))[0]


def _count(
    config: HDCConfig,
    frontier: Frontier,
    env: jax.Array,
    harness: jax.Array,
    scale: jax.Array,
    success: jax.Array,
    valid: jax.Array,
) -> Frontier:
    """Count one episode (all arguments are scalars)."""
    r, u, target = frontier.harness[env], frontier.scale[env], frontier.target_scale[env]
    counts = valid & (harness == r) & (scale == u)
    slot = frontier.count[env] % config.window
    window = frontier.window.at[env, slot].set(jnp.where(counts, success, frontier.window[env, slot]))
    count = frontier.count[env] + counts

    at_target = u >= target
    needed = jnp.where(at_target, _needed(config.tau_h, config.window), _needed(config.tau_s, config.window))
    passed = counts & (count >= config.window) & (window[env].sum() >= needed)
    harder_scale = passed & ~at_target
    harder_harness = passed & at_target & (r < H4)
    first_scale = 0 if config.moves_scale else target
    return replace(
        frontier,
        harness=frontier.harness.at[env].add(harder_harness.astype(jnp.int32)),
        scale=frontier.scale.at[env].set(jnp.where(harder_harness, first_scale, u + harder_scale)),
        window=window,
        count=frontier.count.at[env].set(jnp.where(harder_scale | harder_harness, 0, count)),
    )


def _needed(tau: float, window: int) -> int:
    """The number of successes in a full window that reaches the rate tau: whole numbers compare exactly."""
    return math.ceil(round(tau * window, 9))


@dataclass(frozen=True)
class ScalingInter:
    """Turn horizons that grow in stages (arXiv:2509.08755): `horizons[i]` holds for `every` training steps.

    The last horizon stays. The defaults are those published for BabyAI; a single horizon is a fixed one.
    Raises ValueError for no horizon, a horizon below 1 or `every` below 1.
    """

    horizons: tuple[int, ...] = (6, 13, 20)
    every: int = 100

    def __post_init__(self) -> None:
        if not self.horizons or min(self.horizons) < 1:
            raise ValueError(f"horizons must be one or more positive numbers, not {self.horizons}")
        if self.every < 1:
            raise ValueError(f"every must be at least 1, not {self.every}")


def horizon(schedule: ScalingInter, step: int | jax.Array) -> jax.Array:
    """The largest number of turns, int32[], in training step `step`, counted from 1.

    Steps 1..every use the first horizon, every+1..2*every the second, as in the published scheduler. `step`
    may be traced: the horizon is data and its growth recompiles nothing.
    """
    stage = jnp.clip((jnp.asarray(step, jnp.int32) - 1) // schedule.every, 0, len(schedule.horizons) - 1)
    return jnp.asarray(schedule.horizons, jnp.int32)[stage]
