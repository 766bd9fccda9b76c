"""Many types as one batch, against each environment alone."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy import Countdown

from jaxenv import text
from jaxenv.environment import Level, Params
from jaxenv.mixture import Mixture
from train.compilation import count_compilations


class Longer(Countdown):
    """The same game with more to say and to do."""

    id = "longer"
    rules = "Down takes one away. Stay takes nothing away, it only costs a turn."
    max_turns: ClassVar[tuple[int, ...]] = (5, 9)


ENVS = (Countdown(canvas=32), Longer(canvas=32))
SLOTS = 3
NO_LIMIT = jnp.zeros(2, jnp.int32)
LEVEL = Level(jnp.array([[0, 1, 4], [0, 3, 2]], jnp.int32), jnp.array([[0, 1, 0], [1, 1, 0]], jnp.int32))


@pytest.fixture(scope="module")
def mixture() -> Mixture:
    return Mixture(ENVS, SLOTS, reply_capacity=32)


def keys(seed: int) -> jax.Array:
    return jax.random.split(jax.random.key(seed), (2, SLOTS))


def replies(words: list[str]) -> text.Text:
    return text.encode_batch([f"<answer>{word}</answer>" for word in words], 32)


def part(tree: Any, *at: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[at], tree)


def assert_same(first: Any, second: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, first, second)


def test_rows_are_the_slots_of_each_type_in_order(mixture: Mixture):
    view, episodes = mixture.reset(keys(0), LEVEL)
    prompts = text.decode_batch(view.prompt)
    assert view.pixels.shape == (mixture.size, 32, 32, 3)
    for row, prompt in enumerate(prompts):
        e, slot = divmod(row, SLOTS)
        params = Params(part(LEVEL, e, slot), jnp.int32(0))
        episode = ENVS[e].sample_level(keys(0)[e, slot], params)
        assert_same(episode, part(episodes[e].episodes, slot))
        assert_same(ENVS[e].draw(episode.state, 32), view.pixels[row])
        assert prompt == text.decode(ENVS[e].prompt(episode))


def test_equal_keys_and_scales_give_equal_instances(mixture: Mixture):
    same = jnp.broadcast_to(jax.random.key(7), (2, SLOTS))
    level = Level(LEVEL.harness, jnp.ones_like(LEVEL.scale))
    _, episodes = mixture.reset(same, level)
    for played in (group.episodes for group in episodes):
        assert_same(part(played.state, 0), part(played.state, 1))
        assert played.level.harness.tolist() != [0, 0, 0]
    _, others = mixture.reset(keys(8), level)
    salt = others[0].episodes.state.salt
    assert not np.array_equal(salt[0], salt[1])


def test_a_step_is_the_step_of_each_environment(mixture: Mixture):
    _, episodes = mixture.reset(keys(0), LEVEL)
    words = ["down", "stay", "nothing", "down", "stay", "down"]
    view, after, outcome = mixture.step(keys(1), episodes, replies(words), NO_LIMIT)
    for row, word in enumerate(words):
        e, slot = divmod(row, SLOTS)
        episode, params = part(episodes[e].episodes, slot), Params(part(LEVEL, e, slot), jnp.int32(0))
        reply = part(replies([word]), 0)
        _, alone, reward, _, _, info = ENVS[e].step_text(keys(1)[e, slot], episode, reply, params)
        assert_same(alone, part(after[e].episodes, slot))
        wanted = (reward, alone.done, info["success"], info["verdict"])
        assert_same(wanted, tuple(part(leaf, row) for leaf in jax.tree.leaves(outcome)))
        assert text.decode(part(view.prompt, row)) == text.decode(ENVS[e].prompt(alone))
    assert outcome.done.tolist() == [True, False, False, False, False, True]


def test_done_slots_stay_as_they_are(mixture: Mixture):
    _, episodes = mixture.reset(keys(0), LEVEL)
    down = replies(["down"] * mixture.size)
    view, once, _ = mixture.step(keys(1), episodes, down, NO_LIMIT)
    again, twice, outcome = mixture.step(keys(2), once, down, NO_LIMIT)
    for row in (0, 2, 5):  # those of scale 0, won in one turn
        e, slot = divmod(row, SLOTS)
        assert_same(part(once[e].episodes, slot), part(twice[e].episodes, slot))
        assert_same(part(view, row), part(again, row))
    assert outcome.reward.tolist() == [0, 1, 0, 1, 1, 0]
    assert outcome.done.all()


def test_each_type_has_its_own_turn_limit(mixture: Mixture):
    _, episodes = mixture.reset(keys(0), LEVEL)
    stay = replies(["stay"] * mixture.size)
    _, _, outcome = mixture.step(keys(1), episodes, stay, jnp.array([1, 0], jnp.int32))
    assert outcome.done.tolist() == [True] * SLOTS + [False] * SLOTS
    assert mixture.longest(NO_LIMIT) == 9
    assert mixture.longest(jnp.array([3, 2], jnp.int32)) == 3
    assert mixture.longest(jnp.array([0, 2], jnp.int32)) == 6


def test_a_limit_never_lengthens_an_episode(mixture: Mixture):
    """Each scale has its own limit, and one above it changes nothing."""
    _, episodes = mixture.reset(keys(0), LEVEL)
    stay, limits = replies(["stay"] * mixture.size), jnp.array([8, 100], jnp.int32)
    ends = np.zeros(mixture.size, int)
    for turn in range(mixture.longest(limits)):
        _, episodes, outcome = mixture.step(keys(turn), episodes, stay, limits)
        ends += ~outcome.done
    scale = np.asarray(LEVEL.scale)
    own = np.array([np.asarray(env.max_turns)[scale[e]] for e, env in enumerate(ENVS)]).reshape(-1)
    wanted = np.minimum(own, np.repeat(limits, SLOTS))
    assert (ends + 1).tolist() == wanted.tolist()
    assert (wanted == own).any()


def test_nothing_is_compiled_after_compile():
    mixture = Mixture(ENVS, SLOTS, reply_capacity=32)
    mixture.compile()
    levels = LEVEL, Level(LEVEL.scale, jnp.zeros_like(LEVEL.scale))
    turns = [(keys(turn), jnp.array([turn, 2], jnp.int32)) for turn in range(2)]
    said = replies(["down"] * mixture.size)
    with count_compilations() as compiled:
        for level in levels:
            _, episodes = mixture.reset(turns[1][0], level)
            for turn_keys, limits in turns:
                _, episodes, _ = mixture.step(turn_keys, episodes, said, limits)
    assert not compiled
    programs = (*mixture._reset, *mixture._step, *mixture._view)
    assert [program._cache_size() for program in programs] == [1] * 6
