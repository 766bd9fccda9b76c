"""One update: what it computes, what it does not depend on, and what it refuses."""

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import tiny

from train.agent import Agent
from train.batches import Pack
from train.learner import Learner, LearnerState
from train.policy.weights import Params

RATE = 1e-3


@pytest.fixture(scope="module")
def packs(agent: Agent) -> list[Pack]:
    return tiny.practice(agent, agent.policy.params, seed=5)


def tokens_of(packs: list[Pack]) -> int:
    return sum(pack.answer_length for pack in packs)


def first_moment(state: LearnerState) -> Params:
    """A tenth of the (clipped) gradient after one step of Adam."""
    return optax.tree.get(state.opt_state, "mu")


def largest_difference(one, other) -> float:
    return max(float(jnp.abs(a - b).max()) for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True))


def same(one, other) -> bool:
    return all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True)
    )


def plain_loss(agent: Agent, packs: list[Pack], params: Params) -> jax.Array:
    """The clipped objective of answers that are alone in their rows, written out."""
    rows = tiny.alone(packs)
    answers = [(pack, answer) for pack in packs for answer in pack.answers]
    old, advantages, mask = np.zeros((3, len(answers), tiny.LENGTH - 1), np.float32)
    for i, (pack, answer) in enumerate(answers):
        place = slice(len(pack.prompt) - 1, len(pack.prompt) - 1 + len(answer.tokens))
        old[i, place], advantages[i, place], mask[i, place] = answer.logprobs, answer.advantage, 1
    logprobs = tiny.plain_logprobs(agent.policy.graphdef, params, rows, agent.actor.allowed)
    ratio = jnp.exp(jnp.where(mask > 0, logprobs - old, 0.0))
    clipped = jnp.clip(ratio, 1 - tiny.LEARNER.clip_low, 1 + tiny.LEARNER.clip_high)
    return -(jnp.minimum(ratio * advantages, clipped * advantages) * mask).sum() / tokens_of(packs)


def test_an_update_is_adam_on_the_plain_loss(agent: Agent, learner: Learner, packs: list[Pack]) -> None:
    params = agent.policy.params
    loss, gradient = jax.jit(jax.value_and_grad(partial(plain_loss, agent, packs)))(params)
    state, metrics = learner.update(learner.init(params), packs, tokens_of(packs))
    assert metrics["loss"] == pytest.approx(float(loss), abs=1e-5)
    assert metrics["grad_norm"] == pytest.approx(float(optax.tree.norm(gradient)), rel=1e-3)
    assert metrics["skipped"] == 0
    adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(RATE, 0.9, tiny.LEARNER.adam_b2))
    updates, adam_state = adam.update(gradient, adam.init(params), params)
    found, wanted = first_moment(state), optax.tree.get(adam_state, "mu")
    assert largest_difference(found, wanted) < 1e-3 * largest_difference(wanted, zeros(wanted))
    # Adam divides by the gradient's size, so where that is noise the sign may be too: compare the rest.
    for leaf, reference, moment in zip(
        *map(jax.tree.leaves, (state.params, optax.apply_updates(params, updates), wanted)), strict=True
    ):
        clear = np.abs(moment) > 1e-5 * np.abs(moment).max()
        np.testing.assert_allclose(np.asarray(leaf)[clear], np.asarray(reference)[clear], atol=0.05 * RATE)


def zeros(tree: Params) -> Params:
    return jax.tree.map(jnp.zeros_like, tree)


def test_the_ratio_is_clipped_and_counted(agent: Agent, learner: Learner, packs: list[Pack]) -> None:
    _, metrics = learner.update(learner.init(agent.policy.params), packs, tokens_of(packs))
    assert metrics["clipped_low"] + metrics["clipped_high"] > 0
    assert 0 < metrics["log_ratio"] < 1
    assert metrics["old_kl"] > 0
    assert 0 < metrics["entropy"] < math.log(agent.policy.config.text.vocab_size)


def test_micro_batches_do_not_change_the_update(agent: Agent, learner: Learner, packs: list[Pack]) -> None:
    params, tokens = agent.policy.params, tokens_of(packs)
    small = tiny.make_learner(agent, micro_tokens=400)
    assert len(small.micro_batches(packs)) == 4
    assert len(learner.micro_batches(packs)) == 1
    one, metrics = learner.update(learner.init(params), packs, tokens)
    four, others = small.update(small.init(params), packs, tokens)
    assert others == pytest.approx(metrics, rel=1e-3, abs=1e-6)
    size = largest_difference(first_moment(one), zeros(params))
    assert largest_difference(first_moment(one), first_moment(four)) < 1e-3 * size


def test_the_order_of_packs_does_not_change_the_update(
    agent: Agent, learner: Learner, packs: list[Pack]
) -> None:
    params, tokens = agent.policy.params, tokens_of(packs)
    one, _ = learner.update(learner.init(params), packs, tokens)
    other, _ = learner.update(learner.init(params), packs[::-1], tokens)
    size = largest_difference(first_moment(one), zeros(params))
    assert largest_difference(first_moment(one), first_moment(other)) < 1e-3 * size


def test_tokens_divide_the_loss(agent: Agent, learner: Learner, packs: list[Pack]) -> None:
    """Answers without advantage are not given but count."""
    state, tokens = learner.init(agent.policy.params), tokens_of(packs)
    _, whole = learner.update(state, packs, tokens)
    _, half = learner.update(state, packs, 2 * tokens)
    assert half["loss"] == pytest.approx(whole["loss"] / 2, rel=1e-5)
    assert half["entropy"] == pytest.approx(whole["entropy"], rel=1e-5)


def broken_advantage(packs: list[Pack]) -> list[Pack]:
    answers = [replace(packs[0].answers[0], advantage=math.nan), *packs[0].answers[1:]]
    return [replace(packs[0], answers=answers), *packs[1:]]


def test_a_nan_advantage_changes_nothing(agent: Agent, learner: Learner, packs: list[Pack]) -> None:
    before = learner.init(agent.policy.params)
    after, metrics = learner.update(before, broken_advantage(packs), tokens_of(packs))
    assert metrics["skipped"] == 1
    assert same(after, before)
    good, metrics = learner.update(after, packs, tokens_of(packs))
    assert metrics["skipped"] == 0
    assert same(good, learner.update(before, packs, tokens_of(packs))[0])
    assert not same(good.params, before.params)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(
    agent: Agent, learner: Learner, packs: list[Pack], broken: float
) -> None:
    params = jax.tree.map(lambda leaf: leaf, agent.policy.params)
    norm = params["decoder"]["norm"]
    norm["scale"] = norm["scale"].at[0].set(broken)
    before = learner.init(params)
    after, metrics = learner.update(before, packs, tokens_of(packs))
    assert metrics["skipped"] == 1
    assert same(after, before)


def test_nothing_to_learn_from_changes_nothing(agent: Agent, learner: Learner) -> None:
    before = learner.init(agent.policy.params)
    after, metrics = learner.update(before, [], 100)
    assert after is before
    assert metrics["skipped"] == metrics["grad_norm"] == 0


@pytest.fixture(scope="module")
def imitator(agent: Agent, learner: Learner) -> tuple[Params, list[float]]:
    """Parameters after imitation of one batch, and the log-probabilities on the way."""
    packs = tiny.demonstrations(agent, 77)
    state, told = learner.init(agent.policy.params), []
    for _ in range(16):
        state, metrics = learner.update(state, packs, tokens_of(packs), imitate=True)
        told.append(metrics["logprob"])
        assert metrics["log_ratio"] == metrics["skipped"] == 0
    return state.params, told


def test_imitation_learns_a_batch(agent: Agent, imitator: tuple[Params, list[float]]) -> None:
    told = imitator[1]
    known = np.concatenate(tiny.answer_logprobs(agent, agent.policy.params, tiny.demonstrations(agent, 77)))
    assert told[0] == pytest.approx(known.mean(), abs=1e-4)
    assert told[-1] > told[0] + 0.1


def test_the_reference_pulls_back(
    agent: Agent, packs: list[Pack], imitator: tuple[Params, list[float]]
) -> None:
    """Without advantages only the KL term acts: a policy that was moved away comes nearer."""
    learner = tiny.make_learner(agent, 3e-4, kl_coefficient=0.5)
    mute = [
        replace(pack, answers=[replace(answer, advantage=0.0) for answer in pack.answers]) for pack in packs
    ]
    state, distances = learner.init(imitator[0]), []
    for _ in range(8):
        state, metrics = learner.update(state, mute, tokens_of(packs))
        distances.append(metrics["ref_kl"])
        assert metrics["loss"] == pytest.approx(0.5 * metrics["ref_kl"], rel=1e-4)
    assert distances[-1] < 0.8 * distances[0]
    _, metrics = learner.update(learner.init(agent.policy.params), mute, tokens_of(packs))
    assert metrics["ref_kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["grad_norm"] < 1e-3
