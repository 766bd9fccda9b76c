"""Checkpoints: bit for bit, and robust to kills and damage."""

import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import struct

from train.checkpoints import CheckpointError, latest_whole, restore, save


class Pair(NamedTuple):
    left: jax.Array
    right: dict


@struct.dataclass
class Run:
    params: dict
    optimiser: optax.OptState
    key: jax.Array
    pair: Pair


def run(seed: int) -> Run:
    key = jax.random.key(seed)
    params = {
        "w": jax.random.normal(key, (3, 4), jnp.bfloat16),
        "b": [jnp.array([0.1, -0.0, jnp.nan, jnp.inf]), np.arange(3, dtype=np.int32)],
    }
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)).init(params["w"])
    pair = Pair(
        jnp.array([True, False]), {"counter": jnp.uint32(2**32 - 1), "keys": jax.random.split(key, 3)}
    )
    return Run(params, optimiser, key, pair)


def bits(tree):
    """Comparable leaves: raw bytes with type and shape."""
    return [
        (str(x.dtype), x.shape, np.asarray(jax.random.key_data(x) if "key" in str(x.dtype) else x).tobytes())
        for x in jax.tree.leaves(tree)
    ]


@pytest.mark.parametrize("abstract", [lambda tree: tree, lambda tree: jax.eval_shape(lambda: tree)])
def test_round_trip_is_exact(tmp_path, abstract):
    saved = run(7)
    save(tmp_path, 12, saved, {"config": "abc", "rate": 0.1, "seen": [1, 2]})
    step, tree, meta = restore(tmp_path, abstract(saved))
    assert (step, meta) == (12, {"config": "abc", "rate": 0.1, "seen": [1, 2]})
    assert jax.tree.structure(tree) == jax.tree.structure(saved)
    assert bits(tree) == bits(saved)
    assert jax.random.uniform(tree.key) == jax.random.uniform(saved.key)


def test_only_the_newest_are_kept(tmp_path):
    (tmp_path / "step_notes").mkdir()  # not ours
    for step in range(1, 6):
        save(tmp_path, step, {"x": jnp.full(3, step)}, {}, keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step_00000004", "step_00000005", "step_notes"]


def test_a_step_saved_again_is_replaced(tmp_path):
    for value in (1, 2):
        save(tmp_path, 4, {"x": jnp.full(3, value)}, {"value": value})
    _, tree, meta = restore(tmp_path, {"x": jnp.zeros(3, int)})
    assert (tree["x"][0], meta["value"]) == (2, 2)


def largest(path):
    return max((p for p in (path / "tree").rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)


def truncate(path):
    file = largest(path)
    file.write_bytes(file.read_bytes()[:-10])


def flip_a_bit(path):
    file = largest(path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def never_finished(path):
    (path / "manifest.json").unlink()
    path.rename(path.with_name(path.name + ".new"))


DAMAGES = {
    "bytes instead of": truncate,
    "has changed": flip_a_bit,
    "is missing": lambda path: largest(path).unlink(),
    "meta.json is missing": lambda path: (path / "meta.json").unlink(),
    "never finished": never_finished,
    "cannot be read": lambda path: (path / "manifest.json").write_text('{"files": {"tr'),
    "manifest cannot be": lambda path: (path / "manifest.json").write_bytes(b"\xff\x00"),
}


@pytest.mark.parametrize(("reason", "damage"), DAMAGES.items())
def test_damage_falls_back_to_the_last_whole_one(tmp_path, reason, damage):
    for step in (1, 2):
        save(tmp_path, step, {"x": jnp.full(300, step)}, {"step": step})
    damage(tmp_path / "step_00000002")
    with pytest.warns(UserWarning, match=f"skipped checkpoint step_00000002.*: .*{reason}") as caught:
        step, tree, meta = restore(tmp_path, {"x": jnp.zeros(300, int)})
    assert (step, tree["x"][0], meta["step"]) == (1, 1, 1)
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)
    save(tmp_path, 2, {"x": jnp.full(300, 5)}, {})  # the run goes on and passes the damaged step
    assert restore(tmp_path, {"x": jnp.zeros(300, int)}).tree["x"][0] == 5


def test_nothing_whole_is_one_clear_line(tmp_path):
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        restore(tmp_path / "absent", {})
    path = save(tmp_path, 1, {"x": jnp.ones(300)}, {})
    truncate(path)
    with pytest.raises(CheckpointError, match=r"skipped checkpoint step_00000001: tree/.* bytes") as caught:
        restore(tmp_path, {"x": jnp.ones(300)})
    assert "\n" not in str(caught.value)


def test_a_finished_one_that_was_not_yet_renamed_counts(tmp_path):
    path = save(tmp_path, 3, {"x": jnp.ones(3)}, {})
    shutil.move(path, path.with_name(path.name + ".new"))
    assert restore(tmp_path, {"x": jnp.ones(3)}).step == 3


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"x": jnp.ones(3, jnp.bfloat16)}, r"\['x'\] is float32\[3\] there and bfloat16\[3\] here"),
        ({"x": jnp.ones(4)}, r"float32\[3\] there and float32\[4\]"),
        ({"x": jnp.ones(3), "y": jnp.ones(1)}, r"\['y'\] is absent there"),
        ({}, r"float32\[3\] there and absent here"),
    ],
)
def test_another_kind_of_tree_is_refused(tmp_path, other, message):
    save(tmp_path, 1, {"x": jnp.ones(3)}, {})
    with pytest.raises(CheckpointError, match=message):
        restore(tmp_path, other)


@pytest.mark.parametrize("leaf", [3, "text", np.float32(1), jnp.zeros((2, 0))])
def test_what_cannot_be_stored_is_refused_before_writing(tmp_path, leaf):
    with pytest.raises(CheckpointError, match="leaf"):
        save(tmp_path, 1, {"x": leaf}, {})
    assert not list(tmp_path.iterdir())


WRITER = """
import sys, jax.numpy as jnp
from train.checkpoints import save
save(sys.argv[1], 1, {"x": jnp.full(200_000, 1)}, {"step": 1}, keep=2)
print("ready", flush=True)
for step in range(2, 1000):
    save(sys.argv[1], step, {"x": jnp.full(200_000, step)}, {"step": step}, keep=2)
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.11, 0.3])
def test_a_kill_in_mid_save_leaves_a_whole_one(tmp_path, delay):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
    path, _ = latest_whole(tmp_path)
    assert path is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        step, tree, meta = restore(tmp_path, {"x": jnp.zeros(200_000, int)})
    assert meta["step"] == step
    assert (tree["x"] == step).all()
    save(tmp_path, step + 1, tree, {}, keep=1)  # and the leftovers go with the next save
    assert [p.name for p in tmp_path.iterdir() if int(p.name[5:13]) <= step] == []
