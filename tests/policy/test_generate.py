"""Generation: what is sampled, what it cost in log-probability, and when it ends."""

import time
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from train.policy.generate import Completion, Prompt, generate_jit
from train.policy.model import Model
from train.policy.positions import mrope_positions
from train.policy.weights import Policy, load_policy

GOLDEN = Path(__file__).parent / "golden"
VOCAB, IMAGE, START, END, STOP = 64, 60, 62, 63, 7
WIDTH, NEW = 14, 8  # of a prompt, and new tokens
ALLOWED = jnp.arange(VOCAB) < IMAGE
GRID = (2, 2)


@cache
def policy() -> Policy:
    return load_policy(GOLDEN / "tied")


@cache
def prompt() -> Prompt:
    """Three prompts with a picture each at different places, one without, and a row of padding."""
    picture = [START, *[IMAGE] * 4, END]
    rows = [[1, 2, *picture, 3], [*picture, 4, 5, 6, 7, 8], [9, 10, 11, *picture], [12, 13, 14], []]
    rng = np.random.default_rng(0)
    tokens, positions = np.zeros((5, WIDTH), np.int32), np.zeros((3, 5, WIDTH), np.int32)
    slots, following, pictures = np.full((5, WIDTH), -1, np.int32), np.zeros(5, np.int32), 0
    for i, row in enumerate(rows):
        is_image = np.array(row, int) == IMAGE
        grids = [GRID] * bool(is_image.any())
        tokens[i, : len(row)] = row
        positions[:, i, : len(row)], following[i] = mrope_positions(is_image, grids)
        slots[i, : len(row)] = np.where(is_image, 4 * pictures + np.cumsum(is_image) - 1, -1)
        pictures += len(grids)
    lengths = np.array([len(row) for row in rows], np.int32)
    pixels = rng.integers(0, 256, (pictures, 16, 16, 3), np.uint8)
    return Prompt(*(jnp.asarray(x) for x in (tokens, positions, slots, lengths, following, pixels)))


def keys(rows: int = 5) -> jax.Array:
    return jax.random.split(jax.random.key(1), rows)


def sample(
    prompt: Prompt,
    keys: jax.Array,
    *,
    source: jax.Array | None = None,
    temperature: float = 1.0,
    allowed: jax.Array = ALLOWED,
    stop: int | None = None,
) -> Completion:
    """Each prompt answered once, unless `source` says otherwise."""
    p, stops = policy(), jnp.arange(VOCAB) == (-1 if stop is None else stop)
    return generate_jit(
        p.graphdef,
        p.params,
        prompt,
        own(prompt) if source is None else source,
        keys,
        max_new_tokens=NEW,
        temperature=temperature,
        allowed=allowed,
        stop=stops,
    )


def own(prompt: Prompt) -> jax.Array:
    return jnp.where(prompt.lengths > 0, jnp.arange(len(prompt.lengths)), -1)


def teacher_forced(done: Completion, prompt: Prompt, temperature: float) -> np.ndarray:
    """float32[B, NEW]: the same log-probabilities from one forward pass over prompt and answer, no cache."""
    rows = len(prompt.lengths)
    at = np.asarray(prompt.lengths)[:, None] + np.arange(NEW)
    grown = [
        np.pad(np.asarray(x), ((0, 0), (0, NEW)), constant_values=v)
        for x, v in ((prompt.tokens, 0), (prompt.image_slots, -1))
    ]
    positions = np.pad(np.asarray(prompt.positions), ((0, 0), (0, 0), (0, NEW)))
    which = np.arange(rows)[:, None]
    grown[0][which, at] = done.tokens
    positions[:, which, at] = np.asarray(prompt.next_position)[:, None] + np.arange(NEW)
    model: Model = nnx.merge(policy().graphdef, policy().params)
    visual = jax.jit(model.encode_images)(prompt.pictures)
    hidden, _ = jax.jit(lambda *a: model(*a[:2], visual=a[2], image_slots=a[3]))(
        jnp.asarray(grown[0]), jnp.asarray(positions), visual, jnp.asarray(grown[1])
    )
    logits = jnp.where(ALLOWED, model.logits(hidden) / temperature, -jnp.inf)
    logprobs = np.asarray(jax.nn.log_softmax(logits))
    return logprobs[which, np.maximum(at - 1, 0), np.asarray(done.tokens)]


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_logprobs_equal_teacher_forcing(temperature: float) -> None:
    done = sample(prompt(), keys(), temperature=temperature)
    wanted = teacher_forced(done, prompt(), temperature or 1.0)
    np.testing.assert_allclose(done.logprobs[:4], wanted[:4], atol=1e-4)
    assert list(done.lengths) == [NEW] * 4 + [0]


def test_greedy_takes_the_best_and_needs_no_key() -> None:
    done = sample(prompt(), keys(), temperature=0.0)
    again = sample(prompt(), jax.random.split(jax.random.key(5), 5), temperature=0.0)
    np.testing.assert_array_equal(done.tokens, again.tokens)
    nearly = sample(prompt(), keys(), temperature=1e-4)
    np.testing.assert_array_equal(done.tokens, nearly.tokens)


def test_forbidden_tokens_are_never_sampled() -> None:
    few = jnp.zeros(VOCAB, bool).at[jnp.array([3, 20, 41])].set(True)
    done = sample(prompt(), keys(), temperature=50.0, allowed=few)
    assert set(np.unique(done.tokens[:4])) == {3, 20, 41}
    np.testing.assert_allclose(done.logprobs[:4], np.log(1 / 3), atol=0.3)  # so hot that all three are alike
    one = sample(prompt(), keys(), allowed=jnp.arange(VOCAB) == 9)
    assert set(np.unique(one.tokens[:4])) == {9}
    np.testing.assert_array_equal(one.logprobs, 0.0)


def test_a_row_does_not_depend_on_its_batch() -> None:
    together = sample(prompt(), keys())
    order = jnp.array([3, 1, 0, 4, 2])
    p = prompt()
    shuffled = p.replace(
        tokens=p.tokens[order],
        positions=p.positions[:, order],
        image_slots=p.image_slots[order],
        lengths=p.lengths[order],
        next_position=p.next_position[order],
    )
    apart = sample(shuffled, keys()[order])
    np.testing.assert_array_equal(apart.tokens, together.tokens[order])
    np.testing.assert_allclose(apart.logprobs, together.logprobs[order], atol=1e-5)


def test_rows_without_pictures_need_no_pixels() -> None:
    p = prompt()
    text = p.replace(image_slots=jnp.full_like(p.image_slots, -1), pictures=p.pictures[:0])
    np.testing.assert_array_equal(sample(text, keys()).tokens[3], sample(p, keys()).tokens[3])


def test_the_stop_token_counts_and_ends_the_row() -> None:
    free = sample(prompt(), keys())
    stop = int(free.tokens[1, 3])
    done = sample(prompt(), keys(), stop=stop)
    for row in range(4):
        hits = np.flatnonzero(np.asarray(free.tokens[row]) == stop)
        length = hits[0] + 1 if len(hits) else NEW
        assert int(done.lengths[row]) == length
        assert bool(done.stopped[row]) == bool(len(hits))
        np.testing.assert_array_equal(done.tokens[row, :length], free.tokens[row, :length])
        assert not done.tokens[row, length:].any()
        assert not done.logprobs[row, length:].any()
    assert not done.stopped[4]
    assert int(done.lengths[4]) == 0


def test_the_loop_ends_with_its_last_row() -> None:
    """Ten thousand steps would take minutes; the row of padding, which never stops, must not ask for them."""
    p = policy()

    def call() -> Completion:
        return generate_jit(
            p.graphdef,
            p.params,
            prompt(),
            own(prompt()),
            keys(),
            max_new_tokens=10_000,
            temperature=1.0,
            allowed=ALLOWED,
            stop=ALLOWED,
        )

    call()
    start = time.perf_counter()
    done = jax.block_until_ready(call())
    assert time.perf_counter() - start < 10
    assert list(done.lengths) == [1] * 4 + [0]


def test_rows_share_the_reading_of_a_prompt() -> None:
    """Seven rows on five prompts, in any order, say what each would on a prompt of its own."""
    source = jnp.array([3, 0, 0, -1, 2, 0, 3])
    shared = sample(prompt(), keys(7), source=source)
    for row, i in enumerate(source):
        if i < 0:
            assert not int(shared.lengths[row])
            continue
        alone = sample(prompt(), jnp.tile(keys(7)[row : row + 1], 5))
        np.testing.assert_array_equal(shared.tokens[row], alone.tokens[i])
        np.testing.assert_allclose(shared.logprobs[row], alone.logprobs[i], atol=1e-5)


@pytest.mark.parametrize("pictured", [True, False])
def test_what_all_prompts_begin_with_is_read_once(pictured: bool) -> None:
    """The same tokens in front of every prompt, and the replies are the same, read once or by every row."""
    p, front = prompt(), 5
    if not pictured:
        p = p.replace(image_slots=jnp.full_like(p.image_slots, -1), pictures=p.pictures[:0])
    asked = p.lengths > 0
    whole = p.replace(
        tokens=jnp.pad(p.tokens, ((0, 0), (front, 0)), constant_values=21),
        positions=jnp.concatenate(
            [jnp.broadcast_to(jnp.arange(front), (3, 5, front)), p.positions + front], axis=2
        ),
        image_slots=jnp.pad(p.image_slots, ((0, 0), (front, 0)), constant_values=-1),
        lengths=jnp.where(asked, p.lengths + front, 0),
        next_position=p.next_position + front,
    )
    apart = sample(whole, keys())
    assert not np.array_equal(apart.tokens, sample(p, keys()).tokens)  # what stands there is read
    together = sample(whole.replace(shared=front), keys())
    np.testing.assert_array_equal(together.tokens, apart.tokens)
    np.testing.assert_allclose(together.logprobs, apart.logprobs, atol=1e-5)
    np.testing.assert_array_equal(together.lengths, apart.lengths)


def test_one_compile_for_many_calls(caplog: pytest.LogCaptureFixture) -> None:
    sample(prompt(), keys())
    with jax.log_compiles(), caplog.at_level("WARNING"):
        policy.cache_clear()  # the same checkpoint loaded again is the same program
        for temperature, stop in ((0.0, 1), (0.5, 2), (1.0, None)):
            sample(prompt(), keys(), temperature=temperature, stop=stop)
    assert not [record for record in caplog.records if "generate" in record.getMessage()]
