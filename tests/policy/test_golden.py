"""The network against transformers: the golden files of make_golden.py, float32 on CPU."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from train.policy.model import Qwen3VL, join
from train.policy.positions import mrope_positions
from train.policy.vision import Visual, patchify
from train.policy.weights import Policy, load_policy

GOLDEN = Path(__file__).parent / "golden"
BATCHES = ["text", "one", "two_sizes", "picture_first", "picture_last", "padded"]
SIDE = 8  # pixels of a visual token


class Batch(NamedTuple):
    tokens: np.ndarray
    lengths: np.ndarray
    image: np.ndarray
    positions: np.ndarray
    logits: np.ndarray
    pictures: list[np.ndarray]
    patches: np.ndarray | None


@cache
def policy(checkpoint: str) -> Policy:
    return load_policy(GOLDEN / checkpoint)


@cache
def batch(checkpoint: str, name: str) -> Batch:
    with np.load(GOLDEN / f"{checkpoint}.npz") as file:
        arrays = {key.split("/")[1]: file[key] for key in file.files if key.startswith(name + "/")}
    pictures = [arrays[f"picture_{i}"] for i in range(sum(key.startswith("picture_") for key in arrays))]
    fields = ("tokens", "lengths", "image", "positions", "logits")
    return Batch(*(arrays[field] for field in fields), pictures, arrays.get("patches"))


def slots(image: np.ndarray) -> np.ndarray:
    """Pictures are numbered through the batch, and so are their visual tokens."""
    return np.where(image, np.cumsum(image).reshape(image.shape) - 1, -1).astype(np.int32)


def encode(model: Qwen3VL, pictures: list[np.ndarray]) -> Visual | None:
    return join(*(model.encode_images(jnp.asarray(p[None])) for p in pictures)) if pictures else None


def compare(got: jax.Array, batch: Batch) -> None:
    """Padding is free to differ."""
    for row, wanted, length in zip(np.asarray(got), batch.logits, batch.lengths, strict=True):
        np.testing.assert_allclose(row[:length], wanted[:length], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("checkpoint", ["tied", "untied"])
@pytest.mark.parametrize("name", BATCHES)
def test_logits_equal_transformers(checkpoint: str, name: str) -> None:
    b, p = batch(checkpoint, name), policy(checkpoint)
    model: Qwen3VL = nnx.merge(p.graphdef, p.params)
    visual = encode(model, b.pictures)
    image_slots = jnp.asarray(slots(b.image)) if b.pictures else None
    hidden, _ = model(jnp.asarray(b.tokens), jnp.asarray(b.positions), visual=visual, image_slots=image_slots)
    compare(model.logits(hidden), b)


@pytest.mark.parametrize("name", BATCHES)
def test_positions_equal_get_rope_index(name: str) -> None:
    b = batch("tied", name)
    grids = [(p.shape[0] // SIDE, p.shape[1] // SIDE) for p in b.pictures]
    for row, length in enumerate(b.lengths):
        is_image = b.image[row, :length]
        counts = np.cumsum([h * w for h, w in grids])
        own = int(np.searchsorted(counts, is_image.sum(), side="left")) + 1 if is_image.any() else 0
        mine, grids = grids[:own], grids[own:]
        got, following = mrope_positions(is_image, mine)
        np.testing.assert_array_equal(got, b.positions[:, row, :length])
        assert got.dtype == np.int32
        assert following == got.max() + 1
    assert not grids


def test_positions_need_grids_that_fit() -> None:
    with pytest.raises(ValueError, match="3 visual tokens do not fill"):
        mrope_positions(np.array([True] * 3), [(2, 2)])


@pytest.mark.parametrize("name", BATCHES[1:])
def test_patchify_equals_the_hugging_face_processor(name: str) -> None:
    """Theirs holds each patch twice, once a frame of the temporal patch."""
    b = batch("tied", name)
    patches = np.concatenate([np.asarray(patchify(jnp.asarray(p[None]), 4, 2))[0] for p in b.pictures])
    assert b.patches is not None
    theirs = b.patches.reshape(len(patches), 3, 2, 4, 4)
    for frame in range(2):
        np.testing.assert_allclose(patches, theirs[:, :, frame], atol=1e-6)


def test_a_picture_that_does_not_divide_is_named() -> None:
    with pytest.raises(ValueError, match="20x24 pixels does not divide into blocks of 8"):
        patchify(jnp.zeros((1, 20, 24, 3), jnp.uint8), 4, 2)


@pytest.mark.parametrize("name", ["two_sizes", "padded"])
@pytest.mark.parametrize("chunk", [1, 3])
def test_cache_equals_full_forward(name: str, chunk: int) -> None:
    """Token after token, pictures included: every row at its own place, the deepstack with its tokens."""
    b, p = batch("tied", name), policy("tied")
    model: Qwen3VL = nnx.merge(p.graphdef, p.params)
    visual, image_slots = encode(model, b.pictures), slots(b.image)
    steps = b.tokens.shape[1] // chunk * chunk
    first = slice(0, chunk)
    hidden, cache = model(
        jnp.asarray(b.tokens[:, first]),
        jnp.asarray(b.positions[:, :, first]),
        visual=visual,
        image_slots=jnp.asarray(image_slots[:, first]),
    )
    step = jax.jit(lambda t, q, s, c: model(t, q, visual=visual, image_slots=s, cache=c))
    cache, parts = cache.grow(steps - chunk), [hidden]
    for at in range(chunk, steps, chunk):
        now = slice(at, at + chunk)
        hidden, cache = step(b.tokens[:, now], b.positions[:, :, now], image_slots[:, now], cache)
        parts.append(hidden)
    assert list(cache.lengths) == [steps] * len(b.tokens)
    short = b._replace(lengths=np.minimum(b.lengths, steps))
    compare(model.logits(jnp.concatenate(parts, 1)), short)


def test_an_overfull_cache_keeps_its_tokens() -> None:
    """XLA clamps slices: without care a write past the end lands on earlier tokens."""
    b, p = batch("tied", "text"), policy("tied")
    model: Qwen3VL = nnx.merge(p.graphdef, p.params)
    _, cache = model(jnp.asarray(b.tokens), jnp.asarray(b.positions))
    _, after = model(jnp.asarray(b.tokens[:, :1]), jnp.asarray(b.positions[:, :, :1]), cache=cache)
    np.testing.assert_array_equal(after.keys, cache.keys)


def test_a_mask_can_share_a_prompt() -> None:
    """Two answers behind one prompt in one row, under a block mask, equal two rows."""
    p = policy("tied")
    model: Qwen3VL = nnx.merge(p.graphdef, p.params)
    prompt, one, two = [5, 6, 7], [8, 9], [10, 11, 12]
    row = np.array([prompt + one + two])
    positions = np.array([0, 1, 2, 3, 4, 3, 4, 5])
    group = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    sees = (group == 0) | (group == group[:, None])
    mask = jnp.asarray(np.tril(sees)[None])
    shared, _ = model(jnp.asarray(row), jnp.asarray(np.tile(positions, (3, 1, 1))), mask=mask)
    for answer, at in ((one, 3), (two, 5)):
        alone = np.array([prompt + answer])
        line = jnp.asarray(np.tile(np.arange(alone.size), (3, 1, 1)))
        hidden, _ = model(jnp.asarray(alone), line)
        np.testing.assert_allclose(hidden[0, 3:], shared[0, at : at + len(answer)], atol=1e-5)


def test_remat_changes_no_gradient() -> None:
    b, p = batch("tied", "one"), policy("tied")

    def loss(params: dict, remat: bool) -> jax.Array:
        model: Qwen3VL = nnx.merge(p.graphdef, params)
        hidden, _ = model(jnp.asarray(b.tokens), jnp.asarray(b.positions), remat=remat)
        return jnp.mean(hidden**2)

    plain, again = (jax.jit(jax.grad(loss), static_argnums=1)(p.params, remat) for remat in (False, True))
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), plain, again)
