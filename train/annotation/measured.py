"""What a selection goes by, kept in a directory: ability profiles and the cosines of gradients."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxenv.selection import Profile
from train.annotation.profiles import from_json, to_json

PROFILES, GRADIENTS = "profiles.json", "gradients.json"


class Measured(NamedTuple):
    """Of the environments `names`: their profiles, and the cosines float64[E, E] of their gradients."""

    names: tuple[str, ...]
    profiles: list[Profile]
    agree: np.ndarray


def save(measured: Measured, folder: Path) -> None:
    """Writes the files of a directory, rounded to six digits."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROFILES).write_text(to_json(measured.names, measured.profiles))
    told = {"names": measured.names, "cosines": measured.agree.round(6).tolist()}
    (folder / GRADIENTS).write_text(json.dumps(told) + "\n")


def load(folder: Path, names: Sequence[str]) -> Measured:
    """What `save` wrote about the environments `names`. Raises ValueError when something is not there."""
    for file in (PROFILES, GRADIENTS):
        if not (folder / file).is_file():
            raise ValueError(f"measured: {folder} has no {file}; name the --out of an earlier selection")
    profiles, gradients = ((folder / file).read_text() for file in (PROFILES, GRADIENTS))
    known, told = from_json(profiles), json.loads(gradients)
    missing = [name for name in names if name not in known or name not in told["names"]]
    if missing:
        raise ValueError(f"measured: {folder} does not tell of {', '.join(missing)}; take them out of --pool")
    at = [told["names"].index(name) for name in names]
    return Measured(tuple(names), [known[name] for name in names], np.array(told["cosines"])[np.ix_(at, at)])


def digest(folder: Path) -> str:
    """A hash of both files."""
    content = b"".join((folder / file).read_bytes() for file in (PROFILES, GRADIENTS))
    return hashlib.sha256(content).hexdigest()
