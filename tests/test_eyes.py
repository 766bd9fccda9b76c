"""A frozen vision tower: its features are kept, learnt from as they are, and say what the pixels would."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import tiny

from train.agent import Agent, make_agent
from train.batches import Answer, Pack
from train.compilation import count_compilations
from train.eyes import Eyes
from train.policy.weights import LoadConfig
from train.rollout import Rollout


@pytest.fixture(scope="module")
def frozen(model: Path) -> Agent:
    """The session's policy again, its tower frozen."""
    settings = (model, tiny.ENVS, tiny.SLOTS, tiny.CANVAS, tiny.ACTOR, "pixels", 0)
    return make_agent(*settings, LoadConfig("text"))


@pytest.fixture(scope="module")
def rollout(frozen: Agent) -> Rollout:
    turns = jnp.full(len(frozen.names), 2, jnp.int32)
    start = frozen.mixture.reset(tiny.reset_keys(1), tiny.level())
    return frozen.actor.play(frozen.policy.params, start, jax.random.key(2), turns, temperature=1.0)


def packs(rollout: Rollout, pixels: bool) -> list[Pack]:
    made = []
    for i, turn in enumerate(rollout.turns[:8]):
        answer = Answer(turn.tokens, turn.logprobs, float(i % 3 - 1))
        made.append(Pack(turn.prompt, turn.pixels if pixels else turn.shown, [answer]))
    return made


def test_features_are_sampled_from_as_pixels_are(agent: Agent, frozen: Agent, rollout: Rollout) -> None:
    turns = jnp.full(len(frozen.names), 2, jnp.int32)
    start = agent.mixture.reset(tiny.reset_keys(1), tiny.level())
    plain = agent.actor.play(frozen.policy.params, start, jax.random.key(2), turns, temperature=1.0)
    assert [turn.reply for turn in plain.turns] == [turn.reply for turn in rollout.turns]
    for turn, other in zip(rollout.turns, plain.turns, strict=True):
        np.testing.assert_allclose(turn.logprobs, other.logprobs, atol=1e-5)
        assert other.features is None
        assert turn.shown.shape == frozen.actor.picture.shape


def test_the_update_is_that_of_pixels_and_leaves_the_tower(frozen: Agent, rollout: Rollout) -> None:
    learner = tiny.make_learner(frozen)
    start, tokens = learner.init(frozen.policy.params), 100
    assert "vision" not in start.params
    kept, metrics = learner.update(start, packs(rollout, pixels=False), tokens)
    anew, others = learner.update(start, packs(rollout, pixels=True), tokens)
    assert metrics == pytest.approx(others, rel=1e-4, abs=1e-6)
    assert metrics["grad_norm"] > 0
    moments = [optax.tree.get(state.opt_state, "mu") for state in (kept, anew)]
    for one, other in zip(*map(jax.tree.leaves, moments), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    after = learner.policy_params(kept)
    jax.tree.map(np.testing.assert_array_equal, after["vision"], frozen.policy.params["vision"])


def test_a_picture_is_looked_at_once(frozen: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    eyes = Eyes(frozen.policy, tiny.CANVAS, 4)
    plain = eyes._look
    monkeypatch.setattr(eyes, "_look", lambda params, new: looked.append(len(new)) or plain(params, new))
    pictures = np.random.default_rng(0).integers(0, 256, (3, *tiny.PICTURE.shape), np.uint8)
    given = pictures[[0, 1, 0, 2, 1, 0]]
    first = eyes.show(frozen.policy.params, given)
    again = eyes.show(frozen.policy.params, given[::-1])
    assert looked == [3]
    np.testing.assert_array_equal(first, again[::-1])
    assert np.abs(first[0] - first[1]).max() > 0


def test_nothing_compiles_in_a_step(frozen: Agent) -> None:
    trainer = tiny.make_trainer(frozen, tiny.make_learner(frozen))
    state = trainer.init(0)
    trainer.compile(state)
    with count_compilations() as compiled:
        state, metrics, _ = trainer.step(state)
        state, metrics, _ = trainer.step(state)
    assert not compiled
    assert np.isfinite(metrics["loss"])
