"""The network against transformers: the golden files of make_golden.py, float32 on CPU."""

from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from train.policy.decoder import KVCache
from train.policy.model import Model, join
from train.policy.positions import mrope_positions
from train.policy.vision import Visual, patchify
from train.policy.weights import Params, Policy, load_policy

GOLDEN = Path(__file__).parent / "golden"
BATCHES = ["text", "one", "two_sizes", "picture_first", "picture_last", "padded"]
SIDE = 8  # pixels of a visual token
ROWS, WIDTH, VISUAL = 4, 35, 48  # the shape all batches are padded to


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
    """One batch of the golden file, padded to the shape that all share so that one program runs them all."""
    with np.load(GOLDEN / f"{checkpoint}.npz") as file:
        arrays = {key.split("/")[1]: file[key] for key in file.files if key.startswith(name + "/")}
    pictures = [arrays[f"picture_{i}"] for i in range(sum(key.startswith("picture_") for key in arrays))]
    rows, width = arrays["tokens"].shape
    pad = ((0, ROWS - rows), (0, WIDTH - width))
    return Batch(
        tokens=np.pad(arrays["tokens"], pad),
        lengths=arrays["lengths"],
        image=np.pad(arrays["image"], pad),
        positions=np.pad(arrays["positions"], ((0, 0), *pad)),
        logits=arrays["logits"],
        pictures=pictures,
        patches=arrays.get("patches"),
    )


def slots(image: np.ndarray) -> np.ndarray:
    """Pictures are numbered through the batch, and so are their visual tokens."""
    return np.where(image, np.cumsum(image).reshape(image.shape) - 1, -1).astype(np.int32)


@partial(jax.jit, static_argnums=0)
def encode_one(graphdef: nnx.GraphDef, params: Params, pixels: jax.Array) -> Visual:
    return nnx.merge(graphdef, params).encode_images(pixels)


def encode(p: Policy, pictures: list[np.ndarray]) -> Visual:
    """The batch's pictures, each encoded at its own size, padded to the count that all batches share."""
    blank = Visual(jnp.zeros((1, VISUAL, 32)), jnp.zeros((2, 1, VISUAL, 32)))
    parts = [encode_one(p.graphdef, p.params, jnp.asarray(picture[None])) for picture in pictures]
    joined = join(*parts, blank)
    return Visual(joined.embeddings[:, :VISUAL], joined.deepstack[:, :, :VISUAL])


@partial(jax.jit, static_argnums=0)
def logits_of(
    graphdef: nnx.GraphDef,
    params: Params,
    tokens: jax.Array,
    positions: jax.Array,
    visual: Visual,
    slots: jax.Array,
) -> jax.Array:
    model: Model = nnx.merge(graphdef, params)
    hidden, _ = model(tokens, positions, visual=visual, image_slots=slots)
    return model.logits(hidden)


@partial(jax.jit, static_argnums=0)
def step(
    graphdef: nnx.GraphDef,
    params: Params,
    tokens: jax.Array,
    positions: jax.Array,
    visual: Visual,
    slots: jax.Array,
    cache: KVCache,
) -> tuple[jax.Array, KVCache]:
    model: Model = nnx.merge(graphdef, params)
    hidden, tail = model(tokens, positions, visual=visual, image_slots=slots, cache=cache)
    return model.logits(hidden), cache.absorb(tail, jnp.full(len(tokens), tokens.shape[1]))


@partial(jax.jit, static_argnums=0)
def text_hidden(
    graphdef: nnx.GraphDef, params: Params, tokens: jax.Array, positions: jax.Array, mask: jax.Array
) -> jax.Array:
    return nnx.merge(graphdef, params)(tokens, positions, mask=mask)[0]


def empty_cache(slots: int) -> KVCache:
    keys = jnp.zeros((3, ROWS, 2, slots, 16))
    return KVCache(keys, keys, jnp.zeros(ROWS, jnp.int32))


def compare(got: np.ndarray, batch: Batch) -> None:
    """Padding is free to differ."""
    for row, wanted, length in zip(got, batch.logits, batch.lengths, strict=False):
        np.testing.assert_allclose(row[:length], wanted[:length], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("checkpoint", "name"), [("tied", name) for name in BATCHES] + [("untied", "text"), ("untied", "padded")]
)
def test_logits_equal_transformers(checkpoint: str, name: str) -> None:
    b, p = batch(checkpoint, name), policy(checkpoint)
    got = logits_of(p.graphdef, p.params, b.tokens, b.positions, encode(p, b.pictures), slots(b.image))
    compare(np.asarray(got), b)


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


@pytest.mark.parametrize("chunk", [1, 5])
def test_cache_equals_full_forward(chunk: int) -> None:
    """Chunk after chunk, pictures cut anywhere: each row at its place, deepstack with its tokens."""
    b, p = batch("tied", "padded"), policy("tied")
    visual, image_slots, cache, parts = encode(p, b.pictures), slots(b.image), empty_cache(WIDTH), []
    for at in range(0, WIDTH, chunk):
        now = slice(at, at + chunk)
        got, cache = step(
            p.graphdef, p.params, b.tokens[:, now], b.positions[:, :, now], visual, image_slots[:, now], cache
        )
        parts.append(got)
    assert list(cache.lengths) == [WIDTH] * ROWS
    compare(np.concatenate(parts, 1), b)


def test_an_overfull_cache_keeps_its_tokens() -> None:
    """XLA clamps slices: without care a write past the end lands on earlier tokens."""
    b, p = batch("tied", "text"), policy("tied")
    full = empty_cache(WIDTH).replace(lengths=jnp.full(ROWS, WIDTH))
    _, after = step(
        p.graphdef,
        p.params,
        b.tokens[:, :1],
        b.positions[:, :, :1],
        encode(p, []),
        slots(b.image[:, :1]),
        full,
    )
    np.testing.assert_array_equal(after.keys, full.keys)


def test_a_mask_can_share_a_prompt() -> None:
    """Two answers behind one prompt in one row, under a block mask, equal two rows."""
    p = policy("tied")
    prompt, one, two = [5, 6, 7], [8, 9, 0], [10, 11, 12]
    group = np.repeat([0, 1, 2], 3)
    blocks = np.tril((group == 0) | (group == group[:, None]))
    causal = np.tril(np.ones((9, 9), bool))
    rows = np.array([prompt + one + two, [*prompt, *one, 0, 0, 0], [*prompt, *two, 0, 0, 0]])
    positions = np.array([[0, 1, 2, 3, 4, 5, 3, 4, 5], [*range(9)], [*range(9)]])
    mask = np.stack([blocks, causal, causal])
    hidden = text_hidden(p.graphdef, p.params, rows, np.tile(positions, (3, 1, 1)), mask)
    np.testing.assert_allclose(hidden[0, 3:6], hidden[1, 3:6], atol=1e-5)
    np.testing.assert_allclose(hidden[0, 6:9], hidden[2, 3:6], atol=1e-5)


def test_remat_changes_no_gradient() -> None:
    b, p = batch("tied", "text"), policy("tied")

    def loss(params: Params, remat: bool) -> jax.Array:
        model: Model = nnx.merge(p.graphdef, params)
        hidden, _ = model(jnp.asarray(b.tokens[:1, :9]), jnp.asarray(b.positions[:, :1, :9]), remat=remat)
        return jnp.mean(hidden**2)

    plain, again = (jax.jit(jax.grad(loss), static_argnums=1)(p.params, remat) for remat in (False, True))
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), plain, again)
