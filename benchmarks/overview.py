"""One picture of all environments: `python -m benchmarks.overview docs/core12.png`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import tyro
from PIL import Image, ImageDraw, ImageFont

import jaxenv
from jaxenv.environment import make_params

GAP, CAPTION = 16, 26
PAPER, INK, EDGE = "#ffffff", "#2b2d31", "#c3c8d0"


@dataclass(frozen=True)
class OverviewConfig:
    """A picture of the environments of a set, with their names."""

    out: Annotated[Path, tyro.conf.Positional]
    """The PNG to write."""
    env_set: str = "core12"
    """Named set of environments."""
    canvas: int = 160
    """Side of each picture in pixels, a multiple of 32."""
    columns: int = 4
    """Pictures in a row."""
    scale: int = 1
    """Level shown."""
    seed: int = 3
    """Seed of the instances."""


def main(config: OverviewConfig) -> None:
    """Draws a fresh instance of each environment and writes the picture."""
    names = jaxenv.env_set(config.env_set)
    rows = -(-len(names) // config.columns)
    width, height = config.canvas + GAP, config.canvas + GAP + CAPTION
    sheet = Image.new("RGB", (config.columns * width + GAP, rows * height + GAP), PAPER)
    font = ImageFont.load_default(15)
    pen = ImageDraw.Draw(sheet)
    for n, name in enumerate(names):
        row, column = divmod(n, config.columns)
        left, top = GAP + column * width, GAP + row * height
        sheet.paste(Image.fromarray(picture(name, config)), (left, top))
        pen.rectangle((left - 1, top - 1, left + config.canvas, top + config.canvas), outline=EDGE)
        pen.text((left + config.canvas / 2, top + config.canvas + 6), name, INK, font, "ma")
    config.out.parent.mkdir(parents=True, exist_ok=True)
    sheet.quantize(128, dither=Image.Dither.NONE).save(config.out, optimize=True)


def picture(name: str, config: OverviewConfig) -> np.ndarray:
    """uint8[canvas, canvas, 3]: the first observation of an instance."""
    env, _ = jaxenv.make(name, observe=("pixels",), canvas=config.canvas)
    observation, _ = jax.jit(env.reset)(jax.random.key(config.seed), make_params(scale=config.scale))
    return np.asarray(observation["pixels"])


if __name__ == "__main__":
    main(tyro.cli(OverviewConfig))
