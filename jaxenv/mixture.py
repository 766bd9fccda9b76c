"""Many environment types as one batch: images and texts out, replies in.

Types are grouped: one vmapped, compiled call a type, results joined. (`lax.switch` under vmap would run every
branch for every slot.) Types compile apart from each other, so changing one leaves the others cached.
"""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv import text
from jaxenv.environment import Environment, Episode, Level, Params
from jaxenv.text import Text

Episodes = tuple[Episode, ...]


@struct.dataclass
class View:
    """What a policy sees of every slot: pixels uint8[B, canvas, canvas, 3], prompt texts [B]."""

    pixels: jax.Array
    prompt: Text


@struct.dataclass
class Outcome:
    """One turn of every slot: reward float32[B], `done` after it, success and verdict (jaxenv.answers)."""

    reward: jax.Array
    done: jax.Array
    success: jax.Array
    verdict: jax.Array


class Mixture:
    """`slots` episodes of each of `envs`; slot i of environment e is row e * slots + i of every batch.
    Replies are at most `reply_capacity` bytes."""

    def __init__(self, envs: Sequence[Environment], slots: int, reply_capacity: int = 256) -> None:
        self.envs = tuple(envs)
        self.slots = slots
        self.reply_capacity = reply_capacity
        self._reset = [jax.jit(_resetter(env)) for env in self.envs]
        self._step = [jax.jit(_stepper(env)) for env in self.envs]

    @property
    def size(self) -> int:
        return len(self.envs) * self.slots

    def longest(self, max_turns: jax.Array) -> int:
        """Turns after which every episode is over, with limits max_turns int32[E] (0: the own)."""
        own = [max(env.max_turns) for env in self.envs]
        return max(int(limit) or most for limit, most in zip(max_turns, own, strict=True))

    def compile(self, keys: jax.Array, level: Level, max_turns: jax.Array) -> None:
        """Compiles every type in parallel threads; arguments as in `reset` and `step`."""
        reply = Text(
            jnp.zeros((self.slots, self.reply_capacity), jnp.uint8), jnp.zeros(self.slots, jnp.int32)
        )

        def compile_one(e: int) -> None:
            at = jax.tree.map(lambda leaf: leaf[e], level)
            _, episodes = self._reset[e](keys[e], at)
            jax.block_until_ready(self._step[e](keys[e], episodes, reply, max_turns[e]))

        with ThreadPoolExecutor() as threads:
            list(threads.map(compile_one, range(len(self.envs))))

    def reset(self, keys: jax.Array, level: Level) -> tuple[View, Episodes]:
        """Fresh episodes from keys key[E, slots] and level leaves int32[E, slots]. Equal keys and scales
        give equal instances."""
        views, episodes = [], []
        for e in range(len(self.envs)):
            view, started = self._reset[e](keys[e], jax.tree.map(lambda leaf, e=e: leaf[e], level))
            views.append(view)
            episodes.append(started)
        return _join_views(views), tuple(episodes)

    def step(
        self, keys: jax.Array, episodes: Episodes, replies: Text, max_turns: jax.Array
    ) -> tuple[View, Episodes, Outcome]:
        """One turn: keys key[E, slots], replies [B], max_turns int32[E] (0: the environment's own). Slots
        that are done stay as they are."""
        views, after, outcomes = [], [], []
        for e in range(len(self.envs)):
            rows = slice(e * self.slots, (e + 1) * self.slots)
            reply = Text(replies.data[rows], replies.length[rows])
            view, moved, outcome = self._step[e](keys[e], episodes[e], reply, max_turns[e])
            views.append(view)
            after.append(moved)
            outcomes.append(outcome)
        joined = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *outcomes)
        return _join_views(views), tuple(after), joined


def _view(env: Environment, episodes: Episode) -> View:
    draw = lambda episode: View(env.draw(episode.state, env.canvas), env.prompt(episode))  # noqa: E731
    return jax.vmap(draw)(episodes)


def _resetter(env: Environment):
    def reset(keys: jax.Array, level: Level) -> tuple[View, Episode]:
        params = Params(level, jnp.zeros_like(level.scale))
        episodes = jax.vmap(env.sample_level)(keys, params)
        return _view(env, episodes), episodes

    return reset


def _stepper(env: Environment):
    blind = dataclasses.replace(env, observe=("symbolic",))

    def step(
        keys: jax.Array, episodes: Episode, replies: Text, max_turns: jax.Array
    ) -> tuple[View, Episode, Outcome]:
        def one(key: jax.Array, episode: Episode, reply: Text):
            params = Params(episode.level, max_turns)
            _, after, reward, _, _, info = blind.step_text(key, episode, reply, params)
            return after, Outcome(reward, after.done, info["success"], info["verdict"])

        after, outcome = jax.vmap(one)(keys, episodes, replies)
        return _view(env, after), after, outcome

    return step


def _join_views(views: list[View]) -> View:
    capacity = max(view.prompt.capacity for view in views)
    prompts = [jax.vmap(lambda t: text.resize(t, capacity))(view.prompt) for view in views]
    return View(
        jnp.concatenate([view.pixels for view in views]),
        Text(jnp.concatenate([p.data for p in prompts]), jnp.concatenate([p.length for p in prompts])),
    )
