"""Checkpoints of a run: written whole or not at all, checked before they are trusted.

    <directory>/step_00000012/tree/          the arrays, written by orbax
    <directory>/step_00000012/meta.json      the caller's own facts
    <directory>/step_00000012/manifest.json  size and SHA-256 of every file, type of every leaf; written last

A directory is a whole checkpoint if and only if its files agree with its manifest. It is written under the
name `step_00000012.new` and renamed when whole, so a kill at any moment leaves the older ones as they were.
Of several processes each writes its own part of the arrays, on a file system that they share; the first one
does the rest.
"""

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental import multihost_utils
from orbax.checkpoint import v1 as orbax

MANIFEST, META, TREE = "manifest.json", "meta.json", "tree"
UNFINISHED = ".new"
NAME = re.compile(r"step_\d{8}(\.new)?")


class CheckpointError(Exception):
    """A checkpoint cannot be written or read; the message is one line for the user."""


class Restored(NamedTuple):
    step: int
    tree: Any
    meta: dict[str, Any]


def save(directory: str | Path, step: int, tree: Any, meta: dict[str, Any], keep: int = 3) -> Path:
    """Write a checkpoint, whole on the disk when this returns its path; then keep the newest `keep`.

    tree: any pytree whose leaves are non-empty JAX or NumPy arrays or typed PRNG keys; plain numbers belong
    in `meta`, which must be JSON. A checkpoint of the same step is replaced, later ones are left alone.
    Raises CheckpointError for a leaf that cannot be stored.
    """
    if keep < 1:
        raise CheckpointError(f"keep must be at least 1, not {keep}")
    leaves = _leaf_types(tree)
    path = Path(directory).absolute() / f"step_{step:08d}"
    new = path.with_name(path.name + UNFINISHED)
    if jax.process_index() == 0:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
    _meet(f"{new} is empty")
    orbax.save(str(new / TREE), tree)
    _meet(f"{new} is written")
    if jax.process_index() == 0:
        _finish(new, path, step, leaves, meta)
        for old in [p for p in _candidates(directory) if _step(p) <= step][keep:]:
            shutil.rmtree(old)
    _meet(f"{path} is there")
    return path


def _meet(what: str) -> None:
    """Waits until every process is here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(what)


def _finish(new: Path, path: Path, step: int, leaves: dict[str, str], meta: dict[str, Any]) -> None:
    """Writes what makes a checkpoint whole, and gives it its name."""
    (new / META).write_text(json.dumps(meta))
    manifest = {"step": step, "leaves": leaves, "files": _fingerprints(new)}
    (new / MANIFEST).write_text(json.dumps(manifest))
    shutil.rmtree(path, ignore_errors=True)
    new.rename(path)


def latest_whole(directory: str | Path) -> tuple[Path | None, list[str]]:
    """The newest whole checkpoint, None if there is none, and one line for each newer one that is not."""
    skipped = []
    for path in _candidates(directory):
        damage = _damage(path)
        if damage is None:
            return path, skipped
        skipped.append(f"skipped checkpoint {path.name}: {damage}")
    return None, skipped


def any_finished(directory: str | Path) -> bool:
    """Whether any checkpoint was ever finished, be it whole or damaged; a kill may come before the first."""
    return any(not path.name.endswith(UNFINISHED) for path in _candidates(directory))


def restore(directory: str | Path, abstract_tree: Any) -> Restored:
    """Read the newest whole checkpoint, bit for bit, into the structure and shardings of `abstract_tree`.

    abstract_tree: the saved tree's like, of arrays or `jax.ShapeDtypeStruct`; without a sharding a leaf goes
    to the default device. Warns with one line for every newer checkpoint that is not whole.
    Raises CheckpointError when none is whole, or when the newest whole one holds another kind of tree.
    """
    path, skipped = latest_whole(directory)
    if path is None:
        reasons = "; ".join(skipped) or "it holds no checkpoint"
        raise CheckpointError(f"nothing to restore in {directory}: {reasons}")
    for line in skipped:
        warnings.warn(line, stacklevel=2)
    manifest = json.loads((path / MANIFEST).read_text())
    _same_leaves(path.name, manifest["leaves"], _leaf_types(abstract_tree))
    tree = orbax.load(str(path / TREE), jax.tree.map(_placed, abstract_tree))
    return Restored(manifest["step"], tree, json.loads((path / META).read_text()))


def _candidates(directory: str | Path) -> list[Path]:
    """All checkpoint directories, newest first; of one step the unfinished one is the newer."""
    found = (p for p in Path(directory).absolute().glob("step_*") if NAME.fullmatch(p.name))
    return sorted(found, key=lambda p: (_step(p), p.name), reverse=True)


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step_").removesuffix(UNFINISHED))


def _files(path: Path) -> Iterator[Path]:
    return (file for file in sorted(path.rglob("*")) if file.is_file() and file != path / MANIFEST)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fingerprints(path: Path) -> dict[str, list]:
    """Size and SHA-256 of every file, each forced to the disk first: a manifest must not outlive it."""
    for file in _files(path):
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    return {str(f.relative_to(path)): [f.stat().st_size, _sha256(f)] for f in _files(path)}


def _damage(path: Path) -> str | None:
    """Why a directory is not a whole checkpoint; None if it is."""
    try:
        files = json.loads((path / MANIFEST).read_text())["files"]
        for name, (size, digest) in files.items():
            found = (path / name).stat().st_size
            if found != size:
                return f"{name} has {found} bytes instead of {size}"
            if _sha256(path / name) != digest:
                return f"{name} has changed since it was written"
    except FileNotFoundError as error:
        name = Path(error.filename).name
        return "it was never finished" if name == MANIFEST else f"{name} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"its manifest cannot be read ({type(error).__name__})"
    return None


def _leaf_types(tree: Any) -> dict[str, str]:
    """For example {"['w']": "bfloat16[3,4]"}. Raises CheckpointError for a leaf that cannot be stored."""
    types = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        name = jax.tree_util.keystr(path)
        if not isinstance(leaf, jax.Array | np.ndarray | jax.ShapeDtypeStruct):
            raise CheckpointError(f"leaf {name} is a {type(leaf).__name__}; a checkpoint stores arrays")
        if 0 in leaf.shape:
            raise CheckpointError(f"leaf {name} is empty, shape {leaf.shape}; orbax cannot store it")
        types[name] = f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
    return types


def _same_leaves(checkpoint: str, stored: dict[str, str], wanted: dict[str, str]) -> None:
    """Orbax would convert types silently; a run that resumes in another precision must not."""
    for name in stored | wanted:
        if stored.get(name) != wanted.get(name):
            raise CheckpointError(
                f"checkpoint {checkpoint} does not fit this run: {name} is {stored.get(name, 'absent')} there"
                f" and {wanted.get(name, 'absent')} here"
            )


def _placed(leaf: Any) -> Any:
    """Give an abstract leaf that names no sharding the default device."""
    if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.sharding is None:
        here = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here)
    return leaf
