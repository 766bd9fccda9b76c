"""What an environment is: pure rules of a state, and one public surface around them.

The rules (`generate`, `transition`, `legal`, `symbolic`, `draw`, `describe`, `expert`) know nothing of
prompts, policies, clocks or batches. The base class adds the surface that JAX users know (gymnax 1.0):

    env, params = jaxenv.make("frozen_lake", observe=("pixels", "text"))
    obs, episode = env.reset(key, params)
    obs, episode, reward, terminated, truncated, info = env.step(key, episode, action, params)

A step never resets by itself; `jaxenv.vector.Vector` does, from a pool. What is not in `observe` is not
computed. Everything here works under jit and vmap with fixed shapes; level and size are data.
"""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv import answers, harness, render
from jaxenv.answers import Grammar
from jaxenv.harness import Texts
from jaxenv.text import Text

OBSERVATIONS = ("symbolic", "pixels", "text")


@struct.dataclass
class Level:
    """How hard: `harness` int32[] 0..4 (which texts are taken away), `scale` int32[] (how large)."""

    harness: jax.Array
    scale: jax.Array


@struct.dataclass
class Params:
    """Traced settings of a reset. `max_turns` int32[]: turns before truncation; 0 means the environment's
    own limit for the scale."""

    level: Level
    max_turns: jax.Array


@struct.dataclass
class Episode:
    """A state of the rules with its level and clock. After `done` a step changes nothing and pays 0."""

    state: Any
    level: Level
    turn: jax.Array
    done: jax.Array


def make_params(harness: int | jax.Array = 0, scale: int | jax.Array = 0, max_turns: int = 0) -> Params:
    """Params of one level; the defaults are the easiest level with the environment's own turn limit."""
    level = Level(jnp.asarray(harness, jnp.int32), jnp.asarray(scale, jnp.int32))
    return Params(level, jnp.asarray(max_turns, jnp.int32))


@dataclass(frozen=True)
class Environment(abc.ABC):
    """Base of all environments: static facts as class variables, rules as pure functions.

    An episode's return is at most 1, and it is a success when a step that terminates pays 1.
    """

    id: ClassVar[str]
    family: ClassVar[str]
    abilities: ClassVar[tuple[str, ...]]
    grammar: ClassVar[Grammar]
    task: ClassVar[str]  # one line, always shown; says how to answer
    rules: ClassVar[str]
    max_turns: ClassVar[tuple[int, ...]]  # by scale; (1, 1, ...) for single-turn environments
    # Fields of the state that give the solution away: only the hint and the expert may look at them.
    hidden: ClassVar[tuple[str, ...]] = ()
    # By scale, the least share of episodes the expert must win where chance has a say; (): all of them.
    expert_success: ClassVar[tuple[float, ...]] = ()
    # Of processor time, that compiling reset, step and expert may take together.
    compile_seconds: ClassVar[float] = 30.0

    observe: tuple[str, ...] = ("symbolic",)
    canvas: int = 96

    def __post_init__(self) -> None:
        unknown = set(self.observe) - set(OBSERVATIONS)
        if unknown or not self.observe:
            raise ValueError(f"observe: {self.observe!r} must name some of {', '.join(OBSERVATIONS)}")
        if self.canvas <= 0 or self.canvas % 32:
            raise ValueError(f"canvas: {self.canvas} must be a positive multiple of 32 pixels")

    # --- the rules, written by each environment -----------------------------------------------------

    @abc.abstractmethod
    def generate(self, key: jax.Array, scale: jax.Array) -> Any:
        """A solvable instance of this scale int32[]."""

    @abc.abstractmethod
    def transition(self, key: jax.Array, state: Any, action: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
        """(next state, reward float32[], terminated bool[]) of an action that is legal."""

    def legal(self, state: Any, action: jax.Array) -> jax.Array:
        """bool[]: the action has a meaning in this state. An illegal one costs a turn, no more."""
        return jnp.bool_(True)

    @abc.abstractmethod
    def symbolic(self, state: Any) -> jax.Array:
        """uint8 array of fixed shape from which the picture is drawn."""

    @abc.abstractmethod
    def draw(self, state: Any, canvas: int) -> jax.Array:
        """uint8[canvas, canvas, 3], the picture of a state."""

    @abc.abstractmethod
    def describe(self, state: Any) -> Texts:
        """The observation, state and hint in words."""

    @abc.abstractmethod
    def expert(self, key: jax.Array, state: Any) -> jax.Array:
        """An action that solves or leads to the solution, a random one among the equally good."""

    def exercised(self, state: Any, action: jax.Array, after: Any) -> dict[str, jax.Array]:
        """Which of `abilities` a legal action shows to have been exercised, bool[] each, judged by what it
        does. Those of form need not be named (see `jaxenv.abilities.exercised`). Only what traces abilities
        asks."""
        return {}

    # --- the public surface -------------------------------------------------------------------------

    @property
    def num_scales(self) -> int:
        return len(self.max_turns)

    @property
    def single_turn(self) -> bool:
        return max(self.max_turns) == 1

    def default_params(self) -> Params:
        return make_params()

    def sample_level(self, key: jax.Array, params: Params) -> Episode:
        """A fresh episode, not yet observed: what a pool, a curriculum or a held-out set keeps."""
        state = self.generate(key, params.level.scale)
        return Episode(state, params.level, jnp.int32(0), jnp.bool_(False))

    def reset_to(self, episode: Episode) -> tuple[dict[str, Any], Episode]:
        """Starts from a kept episode: (obs, episode)."""
        return self.observation(episode), episode

    def reset(self, key: jax.Array, params: Params) -> tuple[dict[str, Any], Episode]:
        """A fresh instance of params.level: (obs, episode)."""
        return self.reset_to(self.sample_level(key, params))

    def step(
        self, key: jax.Array, episode: Episode, action: jax.Array, params: Params
    ) -> tuple[dict[str, Any], Episode, jax.Array, jax.Array, jax.Array, dict[str, jax.Array]]:
        """One turn: (obs, episode, reward, terminated, truncated, info).

        info: `success` bool[], `verdict` int32[] (see `jaxenv.answers`). An illegal action costs the turn.
        """
        return self._judged_step(key, episode, action, jnp.int32(answers.ACCEPTED), params)

    def step_text(
        self, key: jax.Array, episode: Episode, reply: Text, params: Params
    ) -> tuple[dict[str, Any], Episode, jax.Array, jax.Array, jax.Array, dict[str, jax.Array]]:
        """`step` with a reply in words. A malformed reply costs the turn and changes nothing else."""
        answer, tagged = answers.extract(reply)
        action, valid = self.grammar.parse(answer)
        verdict = jnp.where(valid, answers.ACCEPTED, answers.NOT_IN_GRAMMAR)
        verdict = jnp.where(tagged, verdict, answers.NO_TAG).astype(jnp.int32)
        return self._judged_step(key, episode, action, verdict, params)

    def expert_text(self, key: jax.Array, episode: Episode) -> Text:
        """The expert's action as a whole reply."""
        return answers.wrap(self.grammar.format(self.expert(key, episode.state)))

    def observation(self, episode: Episode) -> dict[str, Any]:
        """What the caller asked for: `symbolic` uint8, `pixels` uint8[canvas, canvas, 3], `text` Text."""
        obs: dict[str, Any] = {}
        if "symbolic" in self.observe:
            obs["symbolic"] = self.symbolic(episode.state)
        if "pixels" in self.observe:
            obs["pixels"] = self.draw(episode.state, self.canvas)
        if "text" in self.observe:
            obs["text"] = self.prompt(episode)
        return obs

    def prompt(self, episode: Episode, board: bool = False) -> Text:
        """Task and texts of the episode's harness level, without the picture; with `board` the observation
        in words at every level."""
        texts = self.describe(episode.state)
        return harness.prompt(self.task, self.rules, texts, episode.level.harness, board)

    def _judged_step(
        self, key: jax.Array, episode: Episode, action: jax.Array, verdict: jax.Array, params: Params
    ) -> tuple[dict[str, Any], Episode, jax.Array, jax.Array, jax.Array, dict[str, jax.Array]]:
        illegal = (verdict == answers.ACCEPTED) & ~self.legal(episode.state, action)
        verdict = jnp.where(illegal, answers.ILLEGAL, verdict).astype(jnp.int32)
        acts = (verdict == answers.ACCEPTED) & ~episode.done
        moved, paid, ended = self.transition(key, episode.state, action)
        state = jax.tree.map(lambda new, old: jnp.where(acts, new, old), moved, episode.state)
        reward = jnp.where(acts, paid, 0.0).astype(jnp.float32)
        terminated = acts & ended
        turn = episode.turn + jnp.where(episode.done, 0, 1)
        limit = jnp.where(params.max_turns > 0, params.max_turns, self.own_limit(episode.level.scale))
        truncated = ~episode.done & (turn >= limit)
        after = Episode(state, episode.level, turn, episode.done | terminated | truncated)
        info = {"success": terminated & (reward >= 1.0), "verdict": verdict}
        return self.observation(after), after, reward, terminated, truncated, info

    def own_limit(self, scale: jax.Array) -> jax.Array:
        """Turns after which an episode of this scale is truncated, int32[]."""
        return jnp.asarray(self.max_turns, jnp.int32)[scale]


class TileEnvironment(Environment):
    """An environment whose picture is a board of tiles from `tileset` (see `jaxenv.render.tiles`)."""

    tileset: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def extent(self, state: Any) -> tuple[jax.Array, jax.Array]:
        """(rows, cols) int32[] in use of the `symbolic` array, from its top left."""

    def draw(self, state: Any, canvas: int) -> jax.Array:
        rows, cols = self.extent(state)
        return render.draw_tiles(self.symbolic(state), rows, cols, self.tileset, canvas)
