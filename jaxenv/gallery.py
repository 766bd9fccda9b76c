"""A page that shows every environment: `python -m jaxenv.gallery`.

For each: a picture at every scale, the texts with the harness levels that show them, its abilities, and an
episode by the expert. The page is Markdown, so that it is read where the code is read.
"""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from PIL import Image
from rich.progress import track

import jaxenv
from jaxenv import text
from jaxenv.environment import Environment, Episode, Params, make_params
from jaxenv.harness import Texts
from jaxenv.quick_compile import quick_jit
from jaxenv.replay import animate

PAGE = "README.md"
HEAD = """\
# The environments

Written by `python -m jaxenv.gallery`. A picture at each scale and an episode by the expert at the first;
below them what is said at which harness level."""
# Harness levels that show each text, of NUM_HARNESS_LEVELS.
SHOWN = {"Board": "H0", "State": "H0, H1", "Hint": "H0 to H2", "Rules": "H0 to H3", "Task": "H0 to H4"}


@dataclass(frozen=True)
class GalleryConfig:
    """Which environments, and where to."""

    out: Path = Path("docs/gallery")
    """Directory of the page and its pictures."""
    env_set: str = "all"
    """Named set of environments, an environment's id, or several of both with commas between."""
    canvas: int = 192
    """Side of the pictures in pixels, a multiple of 32."""
    seed: int = 0
    """Seed of the instances."""


class Played(NamedTuple):
    """An episode by the expert: texts of its first state, frames uint8[turns + 1, canvas, canvas, 3]."""

    texts: Texts
    frames: np.ndarray
    replies: list[str]
    success: bool


def main(config: GalleryConfig) -> None:
    """Plays an episode at every scale of every environment and writes the page."""
    config.out.mkdir(parents=True, exist_ok=True)
    envs = [
        jaxenv.make(name, observe=("pixels",), canvas=config.canvas)[0]
        for name in jaxenv.env_set(config.env_set)
    ]
    write = functools.partial(write_section, out=config.out, seed=config.seed)
    # Threads, because most of the time is XLA's, which compiles without the interpreter's lock.
    with ThreadPoolExecutor() as pool:
        sections = list(track(pool.map(write, envs), "Drawing", total=len(envs)))
    (config.out / PAGE).write_text(page(envs, sections))


def page(envs: list[Environment], sections: list[str]) -> str:
    """The page: a list of contents by family, then the sections in the same order."""
    ordered = sorted(zip(envs, sections, strict=True), key=lambda pair: (pair[0].family, pair[0].id))
    contents, body = [], []
    for family, members in groupby(ordered, lambda pair: pair[0].family):
        title = family.replace("_", " ").capitalize()
        names, parts = zip(*((f"[`{env.id}`](#{env.id})", section) for env, section in members), strict=True)
        contents.append(f"- **{title}**: {', '.join(names)}")
        body += [f"## {title}", *parts]
    return "\n\n".join([HEAD, "\n".join(contents), *body]) + "\n"


def write_section(env: Environment, out: Path, seed: int) -> str:
    """Writes an environment's pictures to `out`; its section of the page."""
    episodes = [play(env, seed, scale) for scale in range(env.num_scales)]
    pictures = [f"{env.id}_{scale}.webp" for scale in range(env.num_scales)]
    for name, episode in zip(pictures, episodes, strict=True):
        Image.fromarray(episode.frames[0]).save(out / name, lossless=True)
    first = episodes[0]
    ending = "solved" if first.success else "not solved"
    animate(first.frames, [*first.replies, ending], out / f"{env.id}.webp", env.canvas)
    tags = [f'<img src="{name}" width="{env.canvas}">' for name in (*pictures, f"{env.id}.webp")]
    turns = "one turn" if env.single_turn else f"up to {', '.join(map(str, env.max_turns))} turns by scale"
    abilities = ", ".join(f"`{ability}`" for ability in env.abilities)
    return "\n\n".join(
        [
            f"### {env.id}",
            "\n".join(tags),
            f"{turns.capitalize()}. Abilities: {abilities}.",
            f"First answer:\n```\n{first.replies[0]}\n```",
            "<details><summary>Texts</summary>",
            *(f"{title} ({SHOWN[title]}):\n```\n{words}\n```" for title, words in _said(env, first.texts)),
            "</details>",
        ]
    )


def play(env: Environment, seed: int, scale: int) -> Played:
    """An episode by the expert. `env` must observe pixels."""
    texts, frames, replies, ended, success = jax.device_get(_episode(env)(jax.random.key(seed), scale))
    turns = int(ended.argmax()) + 1
    return Played(texts, frames[: turns + 1], text.decode_batch(replies)[:turns], bool(success.any()))


@functools.cache
def _episode(env: Environment) -> Callable[[jax.Array, int], Any]:
    """The compiled episode of a key and a scale: (texts of the first state, frames, replies, whether it had
    ended after each turn, and with success)."""

    def turn(params: Params, episode: Episode, key: jax.Array) -> tuple[Episode, Any]:
        think, rules = jax.random.split(key)
        reply = env.expert_text(think, episode)
        obs, after, _, _, _, info = env.step_text(rules, episode, reply, params)
        return after, (obs["pixels"], reply, after.done, info["success"])

    def play_all(key: jax.Array, scale: jax.Array) -> Any:
        key, make = jax.random.split(key)
        params = make_params(0, scale)
        obs, start = env.reset(make, params)
        keys = jax.random.split(key, max(env.max_turns))
        _, (frames, *told) = jax.lax.scan(functools.partial(turn, params), start, keys)
        return env.describe(start.state), jnp.concatenate([obs["pixels"][None], frames]), *told

    return quick_jit(play_all)


def _said(env: Environment, texts: Texts) -> list[tuple[str, str]]:
    """Titles and words of what a prompt can hold, in its order; without those that are empty."""
    words = {
        "Task": env.task,
        "Board": text.decode(texts.observation),
        "State": text.decode(texts.state),
        "Hint": text.decode(texts.hint),
        "Rules": env.rules,
    }
    return [(title, said) for title, said in words.items() if said]


if __name__ == "__main__":
    main(tyro.cli(GalleryConfig))
