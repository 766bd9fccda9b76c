"""Many environment types as one batch: images and texts out, replies in.

Types are grouped: one vmapped, compiled call a type, results joined. (`lax.switch` under vmap would run every
branch for every slot.) Types compile apart from each other, so changing one leaves the others cached.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv import answers, text
from jaxenv.environment import Environment, Episode, Level, Params
from jaxenv.quick_compile import compile_side_by_side, quick_jit
from jaxenv.text import Text

REPLY_CAPACITY = 256  # at least, in bytes: some room for words before an answer


@struct.dataclass
class View:
    """What a policy sees of every slot: pixels uint8[B, canvas, canvas, 3], prompt texts [B]. A batch of all
    types is of NumPy arrays."""

    pixels: jax.Array
    prompt: Text


@struct.dataclass
class Outcome:
    """One turn of every slot: reward float32[B], `done` after it, success and verdict (jaxenv.answers)."""

    reward: jax.Array
    done: jax.Array
    success: jax.Array
    verdict: jax.Array


class Group(NamedTuple):
    """The episodes [slots] of one environment type, and what is seen of them."""

    episodes: Episode
    view: View


Groups = tuple[Group, ...]


class Mixture:
    """`slots` episodes of each of `envs`; slot i of environment e is row e * slots + i of every batch.
    Replies are at most `reply_capacity` bytes, by default as many as the longest answer needs. With `board`
    the prompts hold the observation in words at every harness level."""

    def __init__(
        self, envs: Sequence[Environment], slots: int, reply_capacity: int = 0, board: bool = False
    ) -> None:
        self.envs = tuple(envs)
        self.slots = slots
        longest = max(env.grammar.capacity for env in self.envs) + len(answers.OPEN + answers.CLOSE)
        self.reply_capacity = reply_capacity or max(REPLY_CAPACITY, longest)
        # Each program picks its own part of keys, levels and limits: indexing outside costs a dispatch each.
        self._reset = [quick_jit(_resetter(env, e)) for e, env in enumerate(self.envs)]
        self._step = [quick_jit(_stepper(env, e)) for e, env in enumerate(self.envs)]
        # Drawing is compiled once, not within both.
        self._view = [quick_jit(_viewer(env, board)) for env in self.envs]

    @property
    def size(self) -> int:
        return len(self.envs) * self.slots

    def longest(self, max_turns: jax.Array) -> int:
        """Turns after which every episode is over, with `max_turns` as in `step`."""
        own = [max(env.max_turns) for env in self.envs]
        return max(min(int(limit) or most, most) for limit, most in zip(max_turns, own, strict=True))

    def compile(self) -> None:
        """Compiles every type, side by side."""
        compile_side_by_side(self._lowered())

    def _lowered(self) -> Iterator[jax.stages.Lowered]:
        shape = (len(self.envs), self.slots)
        keys, zeros = jax.random.split(jax.random.key(0), shape), jnp.zeros(shape, jnp.int32)
        reply = text.encode_batch([""] * self.slots, self.reply_capacity)
        for reset, step, view in zip(self._reset, self._step, self._view, strict=True):
            begun = reset.lower(keys, Level(zeros, zeros))
            yield begun
            yield step.lower(keys, begun.out_info, reply, zeros[:, 0])
            yield view.lower(begun.out_info)

    def reset(self, keys: jax.Array, level: Level) -> tuple[View, Groups]:
        """Fresh episodes from keys key[E, slots] and level leaves int32[E, slots]. Equal keys and scales
        give equal instances."""
        return self.reset_to([reset(keys, level) for reset in self._reset])

    def reset_to(self, episodes: Sequence[Episode]) -> tuple[View, Groups]:
        """Starts from kept episodes [slots] of every type."""
        groups = tuple(self._see(e, begun) for e, begun in enumerate(episodes))
        return _join(groups), groups

    def step(
        self, keys: jax.Array, groups: Groups, replies: Text, max_turns: jax.Array
    ) -> tuple[View, Groups, Outcome]:
        """One turn: keys key[E, slots], replies [B], max_turns int32[E] (an episode ends there where the
        environment's own limit is not nearer; 0: there only). Slots that are done stay as they are; a type
        whose slots all are is not computed."""
        after, outcomes = [], []
        for e, group in enumerate(groups):
            if bool(np.asarray(group.episodes.done).all()):
                outcome = _nothing(group.episodes.done)
            else:
                rows = slice(e * self.slots, (e + 1) * self.slots)
                reply = Text(replies.data[rows], replies.length[rows])
                episodes, outcome = self._step[e](keys, group.episodes, reply, max_turns)
                group = self._see(e, episodes)
            after.append(group)
            outcomes.append(outcome)
        return _join(after), tuple(after), jax.tree.map(_concatenate, *outcomes)

    def _see(self, e: int, episodes: Episode) -> Group:
        return Group(episodes, self._view[e](episodes))


def _nothing(done: jax.Array) -> Outcome:
    zeros = np.zeros(done.shape, np.int32)
    return Outcome(zeros.astype(np.float32), done, zeros > 0, zeros)  # type: ignore[arg-type]


def _viewer(env: Environment, board: bool) -> Callable[[Episode], View]:
    return jax.vmap(lambda episode: View(env.draw(episode.state, env.canvas), env.prompt(episode, board)))


def _resetter(env: Environment, e: int) -> Callable[[jax.Array, Level], Episode]:
    def reset(keys: jax.Array, level: Level) -> Episode:
        own = jax.tree.map(lambda leaf: leaf[e], level)
        return jax.vmap(env.sample_level)(keys[e], Params(own, jnp.zeros_like(own.scale)))

    return reset


def _stepper(
    env: Environment, e: int
) -> Callable[[jax.Array, Episode, Text, jax.Array], tuple[Episode, Outcome]]:
    blind = dataclasses.replace(env, observe=("symbolic",))

    def one(key: jax.Array, episode: Episode, reply: Text, max_turns: jax.Array) -> tuple[Episode, Outcome]:
        own = env.own_limit(episode.level.scale)
        params = Params(episode.level, jnp.where(max_turns > 0, jnp.minimum(max_turns, own), own))
        _, after, reward, _, _, info = blind.step_text(key, episode, reply, params)
        return after, Outcome(reward, after.done, info["success"], info["verdict"])

    def step(
        keys: jax.Array, episodes: Episode, replies: Text, max_turns: jax.Array
    ) -> tuple[Episode, Outcome]:
        return jax.vmap(one, in_axes=(0, 0, 0, None))(keys[e], episodes, replies, max_turns[e])

    return step


def _join(groups: Sequence[Group]) -> View:
    """One batch of all types, put together on the host, where the prompts become tokens."""
    prompts = [group.view.prompt for group in groups]
    capacity = max(prompt.capacity for prompt in prompts)
    data = [np.pad(prompt.data, ((0, 0), (0, capacity - prompt.capacity))) for prompt in prompts]
    pixels = _concatenate(*(group.view.pixels for group in groups))
    lengths = _concatenate(*(prompt.length for prompt in prompts))
    return View(pixels, Text(_concatenate(*data), lengths))


def _concatenate(*parts: Any) -> Any:
    return np.concatenate([np.asarray(part) for part in parts])
