"""The peers, each with its own way to reset: gymnasium's vectorised FrozenLake, jumanji's Maze and Sudoku."""

# pyright: reportMissingImports=false
# The peers are an extra (`bench`) that the type checker need not find.
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.contenders import Contender, Ready, scanned

INSTALL = "The peers are left out; to measure them beside: pip install 'jaxenv[bench]'"
GYMNASIUM_TURNS = 16


def installed() -> bool:
    """Both packages can be imported."""
    try:
        import gymnasium  # noqa: F401
        import jumanji  # noqa: F401
    except ImportError:
        return False
    return True


def gymnasium_lake(board: str, slippery: bool, num_envs: int, draws: bool = False) -> Contender:
    """gymnasium's FrozenLake in Python: SyncVectorEnv(num_envs), or one environment that draws itself."""
    mode = "rgb_array" if draws else None
    side = 64 * int(board.split("x")[0])
    prepare = _draw_lake if draws else _vector_lake
    return Contender(
        name="gymnasium FrozenLake" + ("" if draws else f", SyncVectorEnv({num_envs})"),
        board=f"{board}, {'slippery' if slippery else 'firm'}",
        observation=f"{side}x{side} uint8 rgb_array" if draws else "cell number",
        reset="same map",
        prepare=functools.partial(prepare, board, slippery, num_envs, mode),
        num_envs=num_envs,
    )


def jumanji_game(env_id: str, board: str, num_envs: int, steps: int, auto_reset: bool) -> Contender:
    """A jumanji environment under vmap, random actions not masked. From jumanji 1.1.2 on,
    `VmapAutoResetWrapper` is `VmapWrapper(AutoResetWrapper)`, so that there is one row for both."""
    return Contender(
        name=f"jumanji {env_id}",
        board=board,
        observation="symbolic",
        reset="VmapAutoResetWrapper" if auto_reset else "none",
        prepare=functools.partial(_jumanji, env_id, num_envs, steps, auto_reset),
        num_envs=num_envs,
    )


def _lake(board: str, slippery: bool, mode: str | None) -> Any:
    import gymnasium

    return gymnasium.make("FrozenLake-v1", map_name=board, is_slippery=slippery, render_mode=mode)


def _vector_lake(board: str, slippery: bool, num_envs: int, mode: str | None) -> Ready:
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    make = functools.partial(_lake, board, slippery, mode)
    # Same-step, as ours: otherwise a turn in a few would be a reset.
    envs = SyncVectorEnv([make] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=0)
    random = np.random.default_rng(0)

    def play() -> int:
        for _ in range(GYMNASIUM_TURNS):
            envs.step(random.integers(0, 4, num_envs))
        return GYMNASIUM_TURNS * num_envs

    return Ready(play)


def _draw_lake(board: str, slippery: bool, num_envs: int, mode: str | None) -> Ready:
    env = _lake(board, slippery, mode)
    env.reset(seed=0)
    random = np.random.default_rng(0)

    def play() -> int:
        for _ in range(GYMNASIUM_TURNS):
            _, _, terminated, truncated, _ = env.step(int(random.integers(4)))
            env.render()
            if terminated or truncated:
                env.reset()
        return GYMNASIUM_TURNS

    return Ready(play)


def _jumanji(env_id: str, num_envs: int, steps: int, auto_reset: bool) -> Ready:
    from jumanji.registration import make
    from jumanji.wrappers import VmapAutoResetWrapper, VmapWrapper

    core = make(env_id)
    env = VmapAutoResetWrapper(core) if auto_reset else VmapWrapper(core)
    values = jnp.asarray(core.action_spec.num_values)

    def reset(key: jax.Array) -> tuple[Any, Any]:
        state, timestep = env.reset(jax.random.split(key, num_envs))
        return timestep.observation, state

    def turn(key: jax.Array, state: Any) -> tuple[Any, Any, jax.Array, jax.Array]:
        actions = jax.random.randint(key, (num_envs, *values.shape), 0, values)
        state, timestep = env.step(state, actions)
        return timestep.observation, state, jnp.asarray(timestep.reward), jnp.asarray(timestep.last())

    return scanned(reset, turn, lambda state: state, num_envs, steps, num_envs if auto_reset else 0)
