"""An environment under test: its functions compiled once for one batch that holds every level, whole episodes
of it, and rows of batches to compare."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import abilities, answers, text
from jaxenv.environment import Environment, Episode, Level, Params
from jaxenv.harness import NUM_HARNESS_LEVELS, Texts
from jaxenv.quick_compile import quick_options
from jaxenv.text import Text

ROWS = 64  # instances a scale
CANVAS, OTHER_CANVAS = 96, 64
RANDOM_TURNS = 8


@dataclasses.dataclass(frozen=True)
class Turn:
    """One turn of every row, as NumPy."""

    before: Episode
    after: Episode
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, np.ndarray]


class Subject:
    """An environment under test, its functions compiled when they are first asked for.

    Row r of every batch has the scale r // rows_a_scale and the harness r % 5.
    """

    def __init__(self, env: Environment, rows_a_scale: int = ROWS) -> None:
        self.env = dataclasses.replace(env, observe=("symbolic",), canvas=CANVAS)
        self.rows_a_scale, self.rows = rows_a_scale, rows_a_scale * env.num_scales
        row = jnp.arange(self.rows, dtype=jnp.int32)
        self.params = Params(Level(row % NUM_HARNESS_LEVELS, row // rows_a_scale), jnp.zeros_like(row))
        self.reply_capacity = max(env.grammar.capacity + 32, 64)
        self.seconds: dict[str, float] = {}  # of processor time, to compile what is compiled

    def keys(self, seed: int) -> jax.Array:
        return jax.random.split(jax.random.key(seed), self.rows)

    @functools.cached_property
    def start(self) -> tuple[dict[str, Any], Episode]:
        """The batch that all checks begin with."""
        return self.reset(self.keys(0), self.params)

    @functools.cached_property
    def expert_play(self) -> list[Turn]:
        """The expert's replies in words, until every row is done."""
        episode, turns = self.start[1], []
        for t in range(max(self.env.max_turns)):
            reply = self.expert(self.keys(100 + t), episode.state)[3]
            result = self.step_text(self.keys(500 + t), episode, reply, self.params)
            turns.append(turn_of(episode, result))
            episode = result[1]
            if turns[-1].after.done.all():
                break
        return turns

    @functools.cached_property
    def random_play(self) -> list[Turn]:
        """Random actions for a few turns, then the clock is put forward to the last two turns, then one
        turn too many."""
        episode, turns = self.start[1], []
        limit = jnp.asarray(self.env.max_turns, jnp.int32)[self.params.level.scale]
        for t in range(RANDOM_TURNS + 3):
            if t == RANDOM_TURNS:
                late = jnp.maximum(episode.turn, limit - 2)
                episode = dataclasses.replace(episode, turn=jnp.where(episode.done, episode.turn, late))
            action = self.sample(self.keys(1000 + t))[0]
            result = self.step(self.keys(1100 + t), episode, action, self.params)
            turns.append(turn_of(episode, result))
            episode = result[1]
        return turns

    @functools.cached_property
    def reset(self) -> Any:
        return self._compiled("reset", self.env.reset, self.keys(0), self.params)

    @functools.cached_property
    def step(self) -> Any:
        action = jax.eval_shape(jax.vmap(self.env.grammar.sample), self.keys(0))
        return self._compiled("step", self.env.step, self.keys(0), self._episode, action, self.params)

    @functools.cached_property
    def step_text(self) -> Any:
        reply = jax.eval_shape(lambda: text.encode_batch([""] * self.rows, self.reply_capacity))
        return self._compiled(
            "step_text", self.env.step_text, self.keys(0), self._episode, reply, self.params
        )

    @functools.cached_property
    def expert(self) -> Any:
        """(keys, states) -> see `_spoken`."""
        spoken = lambda key, state: self._spoken(self.env.expert(key, state))  # noqa: E731
        return self._compiled("expert", spoken, self.keys(0), self._episode.state)

    @functools.cached_property
    def sample(self) -> Any:
        """(keys) -> see `_spoken`."""
        spoken = lambda key: self._spoken(self.env.grammar.sample(key))  # noqa: E731
        return self._compiled("sample", spoken, self.keys(0))

    @functools.cached_property
    def exercised(self) -> Any:
        """(states, actions, states after, verdicts, successes) -> bool[rows, abilities]."""
        state, shape = self._episode.state, jax.ShapeDtypeStruct((self.rows,), jnp.int32)
        action = jax.eval_shape(jax.vmap(self.env.grammar.sample), self.keys(0))
        success = jax.ShapeDtypeStruct((self.rows,), jnp.bool_)
        told = functools.partial(abilities.exercised, self.env)
        return self._compiled("exercised", told, state, action, state, shape, success)

    @functools.cached_property
    def look(self) -> Any:
        """(states) -> see `_looks`."""
        return self._compiled("look", self._looks, self._episode.state)

    @functools.cached_property
    def _episode(self) -> Any:
        """Shapes of a batch of episodes."""
        return jax.eval_shape(jax.vmap(self.env.reset), self.keys(0), self.params)[1]

    def _compiled(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """The function compiled for the batch, once; it takes no other shapes."""
        began = time.process_time()
        compiled = jax.jit(jax.vmap(function)).lower(*args).compile(quick_options())
        self.seconds[name] = time.process_time() - began
        return compiled

    def _spoken(self, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, Text]:
        """An action, what it parses back to, whether that is valid, and the whole reply."""
        grammar = self.env.grammar
        answer = grammar.format(action)
        back, valid = grammar.parse(answer)
        return action, back, valid, text.resize(answers.wrap(answer), self.reply_capacity)

    def _looks(self, state: Any) -> tuple[dict[str, jax.Array], Texts, Text]:
        """All that can be seen of a state: arrays, texts, and the prompt of each harness level [5]."""
        arrays = {
            "symbolic": self.env.symbolic(state),
            "pixels": self.env.draw(state, CANVAS),
            "other_pixels": self.env.draw(state, OTHER_CANVAS),
        }

        def prompt(harness: jax.Array) -> Text:
            level = Level(harness, jnp.int32(0))
            return self.env.prompt(Episode(state, level, jnp.int32(0), jnp.bool_(False)))

        levels = jnp.arange(NUM_HARNESS_LEVELS, dtype=jnp.int32)
        return arrays, self.env.describe(state), jax.vmap(prompt)(levels)


def turn_of(before: Episode, result: tuple[Any, ...]) -> Turn:
    return Turn(*jax.device_get((before, *result[1:])))


def one_step(subject: Subject) -> tuple[jax.Array, tuple[Any, ...]]:
    """The expert's first action in every row, and its result."""
    action = subject.expert(subject.keys(7), subject.start[1].state)[0]
    return action, subject.step(subject.keys(3), subject.start[1], action, subject.params)


def scales(subject: Subject) -> Iterator[tuple[int, slice]]:
    """Each scale with its rows."""
    rows = subject.rows_a_scale
    return ((scale, slice(scale * rows, (scale + 1) * rows)) for scale in range(subject.env.num_scales))


def one_row_a_level(subject: Subject) -> list[int]:
    return [rows.start + at for _, rows in scales(subject) for at in range(NUM_HARNESS_LEVELS)]


def shown(subject: Subject, state: Any) -> Any:
    """The state without its hidden fields, as a dictionary (the whole of it when there are none)."""
    if not subject.env.hidden:
        return state
    names = [field.name for field in dataclasses.fields(state) if field.name not in subject.env.hidden]
    return {name: getattr(state, name) for name in names}


def row_of(tree: Any, row: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[row], tree)


def leaves(tree: Any) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def equal_rows(first: Any, second: Any) -> np.ndarray:
    """bool[N]: the rows in which all leaves are equal."""
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    same = [(np.asarray(a) == np.asarray(b)).reshape(len(a), -1).all(1) for a, b in pairs]
    return np.logical_and.reduce(same)


def fingerprint(tree: Any) -> np.ndarray:
    """int64[N]: a hash of each row."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return np.array([hash(b"".join(leaf[row].tobytes() for leaf in arrays)) for row in range(len(arrays[0]))])


def assert_close(found: Any, wanted: Any, message: str) -> None:
    """Integers are equal, floats nearly so."""
    for (path, a), (_, b) in zip(leaves(found), leaves(wanted), strict=True):
        near = np.allclose(a, b, atol=1e-6) if a.dtype.kind == "f" else np.array_equal(a, b)
        same = near & (a.dtype == b.dtype)
        assert same, f"{message} in {path}: {np.asarray(a)} and {np.asarray(b)}"
