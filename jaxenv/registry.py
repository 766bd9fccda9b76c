"""Names: `make(id)`, `ids()`, `env_set(name)`.

Packages of environments announce themselves by an entry point of the group `jaxenv.environments` whose
value is a module with `ENVIRONMENTS: dict[id, "module:Class"]`. `envs_jax` is the first; a user's own is
the next. Named sets are data in `jaxenv/sets/*.toml`.
"""

import difflib
import functools
import importlib
import tomllib
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from jaxenv.environment import Environment, Params

ENTRY_POINTS = "jaxenv.environments"


@functools.cache
def _locations() -> dict[str, str]:
    """Every id with the place of its class, without importing the class."""
    found: dict[str, str] = {}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        for env_id, location in entry.load().ENVIRONMENTS.items():
            if found.setdefault(env_id, location) != location:
                raise ValueError(f"environment {env_id!r} is registered twice: {found[env_id]}, {location}")
    return found


def ids() -> tuple[str, ...]:
    """All registered environment ids, sorted."""
    return tuple(sorted(_locations()))


def make(env_id: str, **options: Any) -> tuple[Environment, Params]:
    """The environment with this id and its default params; options are the fields of `Environment`
    (`observe`, `canvas`). Raises ValueError naming the nearest id when there is no such environment."""
    location = _locations().get(env_id)
    if location is None:
        raise ValueError(f"no environment {env_id!r}{_nearest(env_id, ids())}")
    module, name = location.split(":")
    env = getattr(importlib.import_module(module), name)(**options)
    return env, env.default_params()


def env_set(name: str) -> tuple[str, ...]:
    """The ids of a named set; `all` is every registered id, an id is the set of itself, a path that ends in
    .toml is a set in a file of its own, and "frozen_lake,rotate_matrix" joins sets and ids in order, each id
    once; "all,-core12" leaves some out again. Raises ValueError for unknown names, and when none is left."""
    chosen: dict[str, None] = {}
    for part in name.split(","):
        named = _one_set(part.strip().removeprefix("-"))
        if part.strip().startswith("-"):
            chosen = {env_id: None for env_id in chosen if env_id not in named}
        else:
            chosen |= dict.fromkeys(named)
    if not chosen:
        raise ValueError(f"the environment set {name!r} leaves none; name first what it takes, then what not")
    return tuple(chosen)


def _one_set(name: str) -> tuple[str, ...]:
    if name == "all":
        return ids()
    folder = resources.files("jaxenv") / "sets"
    file = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if file.is_file():
        return tuple(tomllib.loads(file.read_text())["environments"])
    if name in _locations():
        return (name,)
    files = (f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    sets = ["all", *sorted(files)]
    raise ValueError(f"no environment set {name!r}{_nearest(name, (*sets, *ids()))}; sets: {', '.join(sets)}")


def _nearest(name: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else "; jaxenv.ids() names all there are"
