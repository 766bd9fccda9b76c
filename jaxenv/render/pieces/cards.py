"""Layers of card games: playing cards on a green table, the tally of a deck, chips."""

import numpy as np

from jaxenv.render.tiles import Brush, Region, layer

SUITS = ("spade", "heart", "club", "diamond")
TABLE = "team1"


@layer
def table(brush: Brush, _: str) -> None:
    brush.fill(brush.everywhere(), TABLE)


@layer
def card(brush: Brush, face: str) -> None:
    """A card by rank and suit, `card:10-heart`; one of rank alone, `card:K`; `card:back` lies face down."""
    rank, _, suit = face.partition("-")
    brush.fill(brush.box(0.03, 0.02, 0.97, 0.98), "ink")
    brush.fill(brush.box(0.06, 0.05, 0.94, 0.95), "white")
    if rank == "back":
        brush.fill(brush.box(0.14, 0.13, 0.86, 0.87), "cross")
        weave = (np.sin(22 * (brush.x + brush.y)) > 0.55) | (np.sin(22 * (brush.x - brush.y)) > 0.55)
        brush.fill(weave & brush.box(0.14, 0.13, 0.86, 0.87), "rack")
    elif suit:
        colour = "red" if suit in ("heart", "diamond") else "black"
        brush.label(rank, colour, place=(0.31, 0.34), room=0.55)
        brush.fill(_pip(brush, suit), colour)
    else:
        brush.label(rank, "ink", room=0.86)


def _pip(brush: Brush, suit: str) -> Region:
    """The sign of a suit, in the lower right of a card."""
    x, y = (brush.x - 0.67) / 0.25, (brush.y - 0.66) / 0.27
    if suit == "diamond":
        return np.abs(x) * 1.2 + np.abs(y) < 1
    stem = (np.abs(x) < 0.06 + 0.22 * np.maximum(y - 0.3, 0)) & (y > 0) & (y < 1)
    if suit == "club":
        leaves = [(x - a) ** 2 + (y - b) ** 2 < 0.2 for a, b in ((0, -0.5), (-0.5, 0.15), (0.5, 0.15))]
        return np.logical_or.reduce(leaves) | stem
    up = y if suit == "heart" else -y
    lobes = ((np.abs(x) - 0.45) ** 2 + (up + 0.35) ** 2 < 0.24) & (up < 0.2)
    point = (np.abs(x) < 0.92 * (1 - (up + 0.1) / 1.05)) & (up > -0.2) & (up < 0.95)
    return lobes | point | (stem if suit == "spade" else np.zeros_like(stem))


@layer
def tally(brush: Brush, entry: str) -> None:
    """How many cards of a rank a deck has, `tally:10-16`: the rank above, the count below."""
    rank, _, count = entry.partition("-")
    brush.fill(brush.everywhere(), "paper")
    brush.fill(brush.box(0, 0, 1, 0.48), "header")
    brush.border("line")
    brush.label(rank, "ink", place=(0.47, 0.25), room=0.5)
    brush.label(count, "count_1", place=(0.47, 0.72), room=0.5)


@layer
def chips(brush: Brush, count: str) -> None:
    """One or two chips in a pile."""
    for n in range(int(count)):
        y = (0.5, 0.62, 0.36)[n + int(count) - 1]
        brush.fill(brush.disc(0.5, y, 0.33), "ink")
        brush.fill(brush.disc(0.5, y, 0.28), "lamp_on")
        brush.fill(brush.disc(0.5, y, 0.15), "key")


@layer
def gauge(brush: Brush, quarters: str) -> None:
    """How often, in quarters from never (empty) to always (full)."""
    brush.fill(brush.box(0.24, 0.06, 0.76, 0.94), "ink")
    brush.fill(brush.box(0.3, 0.1, 0.7, 0.9), "paper")
    brush.fill(brush.box(0.3, 0.9 - 0.2 * int(quarters), 0.7, 0.9), "sign")
    for n in range(1, 4):
        brush.fill(brush.box(0.3, 0.89 - 0.2 * n, 0.7, 0.91 - 0.2 * n), "ink")


@layer
def deals(brush: Brush, count: str) -> None:
    """Small cards: so many hands are left."""
    for n in range(int(count)):
        left = 0.1 + 0.28 * n
        brush.fill(brush.box(left, 0.3, left + 0.24, 0.7), "white")
        brush.fill(brush.box(left + 0.04, 0.35, left + 0.2, 0.65), "cross")
