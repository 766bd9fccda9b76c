"""Many instances of one environment at once, compiled once a function; NumPy in, NumPy out.

INSTANCES=10000 in the environment makes them more than the usual 2,000 a scale.
"""

import functools
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import answers, text
from jaxenv.environment import Environment, Episode, Level, make_params
from jaxenv.text import Text

MANY, SOME = int(os.environ.get("INSTANCES", "2000")), 200


@functools.cache
def _compiled(env: Environment, name: str, canvas: int = 0) -> Any:
    def judge(state: Any, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        return env.legal(state, action), env.transition(jax.random.key(0), state, action)[1]

    def read(state: Any, reply: Text) -> tuple[jax.Array, jax.Array]:
        level = Level(jnp.int32(0), jnp.int32(0))
        episode = Episode(state, level, jnp.int32(0), jnp.bool_(False))
        _, _, reward, _, _, info = env.step_text(jax.random.key(0), episode, reply, make_params())
        return info["verdict"], reward

    functions = {
        "generate": jax.vmap(env.generate, (0, None)),
        "expert": jax.vmap(env.expert),
        "judge": jax.vmap(judge),
        "read": jax.vmap(read),
        "symbolic": jax.vmap(env.symbolic),
        "describe": jax.vmap(env.describe),
        "draw": jax.vmap(lambda state: env.draw(state, canvas)),
    }
    return jax.jit(functions[name])


def instances(env: Environment, scale: int, count: int = MANY, seed: int = 0) -> Any:
    """A batch of states as NumPy arrays."""
    keys = jax.random.split(jax.random.key(seed), count)
    return jax.tree.map(np.asarray, _compiled(env, "generate")(keys, jnp.int32(scale)))


def experts(env: Environment, states: Any) -> np.ndarray:
    count = len(jax.tree.leaves(states)[0])
    return np.asarray(_compiled(env, "expert")(jax.random.split(jax.random.key(1), count), states))


def judge(env: Environment, states: Any, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(legal bool[n], reward float32[n]) of an action for each state."""
    legal, reward = _compiled(env, "judge")(states, jnp.asarray(actions, jnp.int32))
    return np.asarray(legal), np.asarray(reward)


def read(
    env: Environment, states: Any, replies: list[str], capacity: int = 160
) -> tuple[np.ndarray, np.ndarray]:
    """(verdict int32[n], reward float32[n]) of the words inside the answer tags, for each state."""
    texts = [text.encode(f"{answers.OPEN}{reply}{answers.CLOSE}", capacity) for reply in replies]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *texts)
    verdict, reward = _compiled(env, "read")(states, batch)
    return np.asarray(verdict), np.asarray(reward)


def tiles(env: Any, states: Any) -> list[list[list[str]]]:
    """Names of the tiles of each picture, the whole padded board."""
    ids = np.asarray(_compiled(env, "symbolic")(states))
    return [[[env.tileset[i] for i in row] for row in board] for board in ids]


def pictures(env: Environment, states: Any, canvas: int) -> np.ndarray:
    return np.asarray(_compiled(env, "draw", canvas)(states))


def layers(name: str) -> dict[str, str]:
    """The layers of a tile, `{"given": "", "glyph": "3"}`."""
    return {kind: argument for kind, _, argument in (part.partition(":") for part in name.split())}


def observations(env: Environment, states: Any) -> list[str]:
    """The observation of each state in words."""
    batch = jax.tree.map(np.asarray, _compiled(env, "describe")(states).observation)
    return [text.decode(Text(*row)) for row in zip(batch.data, batch.length, strict=True)]


def first(states: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[:count], states)


def distinct(states: Any) -> int:
    rows = [leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(states)]
    return len(np.unique(np.concatenate(rows, axis=1), axis=0))
