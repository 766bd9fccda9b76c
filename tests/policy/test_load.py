"""How a checkpoint is held: precision, what learns, adapters, and reading no more than is needed."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from flax.traverse_util import flatten_dict

from train.policy.model import Model
from train.policy.positions import mrope_positions
from train.policy.sharding import make_mesh
from train.policy.weights import LoadConfig, Policy, join, load_policy, save_policy

GOLDEN = Path(__file__).parent / "golden"
IMAGE = 60
TOKENS = np.array([[1, 2, 62, *[IMAGE] * 4, 63, 9, 10, 11]], np.int32)
PIXELS = np.random.default_rng(0).integers(0, 256, (1, 16, 16, 3), np.uint8)


def logits(policy: Policy, params: Any = None) -> np.ndarray:
    """float32[1, T, vocabulary] of a prompt with a picture."""

    def forward(params: Any) -> jax.Array:
        model: Model = nnx.merge(policy.graphdef, params)
        is_image = TOKENS[0] == IMAGE
        positions, _ = mrope_positions(is_image, [(2, 2)])
        slots = np.where(is_image, np.cumsum(is_image) - 1, -1)[None]
        visual = model.encode_images(jnp.asarray(PIXELS))
        hidden, tail = model(
            jnp.asarray(TOKENS), positions[:, None], visual=visual, image_slots=jnp.asarray(slots)
        )
        assert tail.keys.dtype == hidden.dtype == jnp.dtype(policy.load.compute)
        return model.logits(hidden)

    return np.asarray(jax.jit(forward)(policy.params if params is None else params))


def dtypes(params: Any, name: str) -> set[str]:
    return {str(leaf.dtype) for path, leaf in flatten_dict(params).items() if path[-1] == name}


@pytest.mark.parametrize("checkpoint", ["tied", "untied"])
def test_bfloat16_is_close_and_gives_float32_logits(checkpoint: str) -> None:
    exact = logits(load_policy(GOLDEN / checkpoint))
    for learns in ("all", "nothing"):
        policy = load_policy(GOLDEN / checkpoint, LoadConfig(learns, "bfloat16"))
        found = logits(policy)
        assert found.dtype == np.float32
        assert 0 < np.abs(found - exact).max() < 0.03 * np.abs(exact).max()
        assert dtypes(policy.params, "kernel") == {"float32" if learns == "all" else "bfloat16"}
        assert dtypes(policy.params, "scale") == {"float32"}


def test_a_frozen_tower_is_kept_small_and_apart() -> None:
    policy = load_policy(GOLDEN / "tied", LoadConfig("text", "bfloat16"))
    learnt, fixed = policy.split(policy.params)
    assert set(fixed) == {"vision"}
    assert dtypes(fixed, "kernel") == {"bfloat16"}
    assert dtypes(learnt, "kernel") == dtypes(learnt, "rows") == {"float32"}
    assert policy.sees_fixedly
    jax.tree.map(np.testing.assert_array_equal, join(learnt, fixed), policy.params)


def test_new_adapters_change_nothing() -> None:
    plain = load_policy(GOLDEN / "tied")
    policy = load_policy(GOLDEN / "tied", LoadConfig("adapters", lora_rank=4))
    np.testing.assert_allclose(logits(policy), logits(plain), atol=1e-5)
    learnt, _ = policy.split(policy.params)
    kernels = [path for path in flatten_dict(plain.params) if path[-1] == "kernel" and path[0] == "decoder"]
    assert {path[:-2] for path in flatten_dict(learnt)} == {path[:-1] for path in kernels}
    down = learnt["decoder"]["layers"]["query"]["adapter"]["down"]
    assert float(down.std()) == pytest.approx(down.shape[1] ** -0.5, rel=0.15)
    again = load_policy(GOLDEN / "tied", LoadConfig("adapters", lora_rank=4))
    jax.tree.map(np.testing.assert_array_equal, again.params, policy.params)


def test_export_merges_adapters(tmp_path: Path) -> None:
    policy = load_policy(GOLDEN / "tied", LoadConfig("adapters", lora_rank=4))
    learnt, fixed = policy.split(policy.params)
    moved = join(jax.tree.map(lambda leaf: leaf + 0.01, learnt), fixed)
    save_policy(policy._replace(params=moved), tmp_path, source=GOLDEN / "tied")
    before, after = logits(policy), logits(policy, moved)
    assert np.abs(after - before).max() > 1e-2
    np.testing.assert_allclose(logits(load_policy(tmp_path)), after, atol=1e-5)


@pytest.mark.parametrize("load", [LoadConfig("adapters", "bfloat16", 4), LoadConfig("text", "bfloat16")])
def test_what_did_not_learn_changes_no_byte(load: LoadConfig, tmp_path: Path) -> None:
    """Even where it is held in another precision than that of the checkpoint."""
    save_policy(load_policy(GOLDEN / "tied", load), tmp_path, source=GOLDEN / "tied")
    file = "model.safetensors"
    assert (tmp_path / file).read_bytes() == (GOLDEN / "tied" / file).read_bytes()


def test_adapters_need_their_checkpoint(tmp_path: Path) -> None:
    policy = load_policy(GOLDEN / "tied", LoadConfig("adapters", lora_rank=4))
    with pytest.raises(ValueError, match="source: adapters are merged"):
        save_policy(policy, tmp_path)


def test_only_the_part_of_a_device_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback that asks for a quarter of a stacked kernel gets it, equal to that part of the whole."""
    whole = flatten_dict(load_policy(GOLDEN / "untied").params)
    asked: list[tuple] = []

    def quarters(shape: tuple[int, ...], sharding: Any, read: Any) -> jax.Array:
        cut = tuple(slice(0, n // 2) if i >= len(shape) - 2 else slice(None) for i, n in enumerate(shape))
        asked.append((shape, cut))
        return jnp.asarray(read(cut))

    monkeypatch.setattr(jax, "make_array_from_callback", quarters)
    parts = flatten_dict(load_policy(GOLDEN / "untied", mesh=make_mesh("data=1")).params)
    assert len(asked) == len(whole)
    for path, part in parts.items():
        cut = next(cut for shape, cut in asked if shape == whole[path].shape)
        np.testing.assert_array_equal(part, whole[path][cut])
