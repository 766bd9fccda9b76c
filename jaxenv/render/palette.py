"""The colours, in one place."""

import numpy as np

COLOURS = {
    "backdrop": "#20242c",
    "floor": "#efe9dc",
    "grid": "#cfc6b4",
    "wall": "#4b5262",
    "wall_light": "#6b7488",
    "ice": "#d8ecf7",
    "ice_line": "#b4d4e6",
    "hole": "#1f5f8b",
    "hole_rim": "#12415f",
    "agent": "#e4572e",
    "agent_dark": "#a2331a",
    "goal": "#2e9e5b",
    "gift": "#c2185b",
    "gift_ribbon": "#ffd54f",
    "key": "#e0a800",
    "door": "#8d5524",
    "door_dark": "#5b3514",
    "box": "#c98f4a",
    "box_dark": "#8a5a22",
    "target": "#d81b60",
    "wood": "#e3b878",
    "wood_dark": "#a9783a",
    "slot": "#3a3f4b",
    "lamp_on": "#ffd83d",
    "lamp_off": "#39404e",
    "lamp_rim": "#1c2028",
    "paper": "#fbfaf5",
    "given": "#e3e7f1",
    "header": "#d4e4d9",
    "ink": "#1b1f2a",
    "sign": "#c0392b",
    "line": "#9aa0ad",
}

# Inks that stay apart from each other on paper.
INK_NAMES = ("#1f4e9c", "#c0392b", "#2e7d32", "#8e24aa", "#e07b00", "#00838f", "#5d4037", "#37474f")


def parse(code: str) -> np.ndarray:
    """uint8[3] of a code like `#20242c`."""
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)], np.uint8)


def rgb(name: str) -> np.ndarray:
    """uint8[3] of a named colour."""
    return parse(COLOURS[name])


INKS = np.stack([parse(code) for code in INK_NAMES])
