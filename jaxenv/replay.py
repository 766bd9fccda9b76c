"""Replays: an episode's frames with what was said, as an animated picture."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

PAPER, INK = (250, 250, 248), (32, 32, 36)
FONT_SIZE = 15
LINE = 20  # pixels from one caption line to the next
MARGIN = 10
STEP_MS, LAST_MS = 600, 2500


def animate(frames: np.ndarray, captions: Sequence[str], path: str | Path, width: int = 360) -> Path:
    """Write frames, uint8[T, H, W, 3], with one caption each below them, as an endlessly looping GIF or WebP.

    Frames narrower than `width` pixels are scaled up by a whole number, unsmoothed. Each is shown for 0.6 s,
    the last for 2.5 s. Raises ValueError for no frames, another shape or type, or a number of captions other
    than T.
    """
    frames = np.asarray(frames)
    if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[-1] != 3 or not len(frames):
        raise ValueError(
            f"frames must be uint8[T, H, W, 3] with T > 0, not {frames.dtype}{list(frames.shape)}"
        )
    if len(captions) != len(frames):
        raise ValueError(f"{len(captions)} captions for {len(frames)} frames")
    scale = max(1, -(-width // frames.shape[2]))
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
        lossless=True,
    )
    return Path(path)


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
