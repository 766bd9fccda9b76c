"""Replays: an episode's frames with what was said, as an animated GIF."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from train.rollout import Rollout

WIDTH = 360  # pixels a frame is at least scaled up to
PAPER, INK = (250, 250, 248), (32, 32, 36)
FONT_SIZE = 15
LINE = 20  # pixels from one caption line to the next
MARGIN = 10
STEP_MS, LAST_MS = 600, 2500


def animate(frames: np.ndarray, captions: Sequence[str], path: str | Path) -> Path:
    """Write frames, uint8[T, H, W, 3], with one caption each below them, as an endlessly looping GIF.

    Small frames are scaled up by a whole number, unsmoothed. Each is shown for 0.6 s, the last for 2.5 s.
    Raises ValueError for no frames, another shape or type, or a number of captions other than T.
    """
    frames = np.asarray(frames)
    if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[-1] != 3 or not len(frames):
        raise ValueError(
            f"frames must be uint8[T, H, W, 3] with T > 0, not {frames.dtype}{list(frames.shape)}"
        )
    if len(captions) != len(frames):
        raise ValueError(f"{len(captions)} captions for {len(frames)} frames")
    scale = max(1, -(-WIDTH // frames.shape[2]))
    font = ImageFont.load_default(FONT_SIZE)
    texts = [_wrap(caption, font, frames.shape[2] * scale - 2 * MARGIN) for caption in captions]
    below = 2 * MARGIN + LINE * max(map(len, texts))  # the same for all, so that the picture does not jump
    images = [_page(frame, text, scale, below, font) for frame, text in zip(frames, texts, strict=True)]
    images[0].save(
        path,
        save_all=True,
        append_images=images[1:],
        duration=[STEP_MS] * (len(images) - 1) + [LAST_MS],
        loop=0,
    )
    return Path(path)


def write_replays(names: Sequence[str], rollout: Rollout, folder: Path) -> None:
    """One episode of each environment with several turns: its longest successful one, else its longest."""
    folder.mkdir(parents=True, exist_ok=True)
    slots = len(rollout.lengths) // len(names)
    for e, name in enumerate(names):
        rows = np.arange(e * slots, (e + 1) * slots)
        rank = rollout.lengths[rows] + 1000 * rollout.success[rows]
        row = int(rows[rank.argmax()])
        turns = [turn for turn in rollout.turns if turn.row == row]
        if rollout.lengths[rows].max() > 1:
            ending = "solved" if rollout.success[row] else "not solved"
            captions = [f"{name}, turn {t + 1}: {turn.reply}" for t, turn in enumerate(turns)]
            frames = [turn.pixels for turn in turns] + [rollout.last_pixels[row]]
            animate(np.stack(frames), [*captions, f"{name}: {ending}"], folder / f"{name}.gif")


def _wrap(caption: str, font: ImageFont.ImageFont | ImageFont.FreeTypeFont, width: int) -> list[str]:
    """Lines of at most `width` pixels, measured by the font's average letter."""
    letters = max(1, int(width / (font.getlength("abcdefghij klmnopqrst uvwxyz") / 28)))
    return [line for part in caption.splitlines() or [""] for line in textwrap.wrap(part, letters) or [""]]


def _page(
    frame: np.ndarray,
    text: list[str],
    scale: int,
    below: int,
    font: ImageFont.ImageFont | ImageFont.FreeTypeFont,
) -> Image.Image:
    """One frame, scaled up, with its caption; in a palette, undithered: dots would speckle flat tiles."""
    picture = Image.fromarray(frame.repeat(scale, axis=0).repeat(scale, axis=1))
    page = Image.new("RGB", (picture.width, picture.height + below), PAPER)
    page.paste(picture)
    draw = ImageDraw.Draw(page)
    for i, line in enumerate(text):
        draw.text((MARGIN, picture.height + MARGIN + LINE * i), line, fill=INK, font=font)
    return page.quantize(256, dither=Image.Dither.NONE)
