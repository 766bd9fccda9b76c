"""The vocabulary of atomic abilities that environments exercise: `abilities.toml`."""

import functools
import tomllib
from importlib import resources


@functools.cache
def definitions() -> dict[str, str]:
    """What each ability means, in the vocabulary's order."""
    kinds = tomllib.loads((resources.files("jaxenv") / "abilities.toml").read_text())
    return {name: meaning for kind in kinds.values() for name, meaning in kind.items()}
