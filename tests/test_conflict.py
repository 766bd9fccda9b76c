"""Gradients of environments: that they are the learner's, and what a projection keeps of them."""

import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny
from PIL import Image

import jaxenv
from jaxenv.selection import cosines
from train import conflict
from train.agent import Agent
from train.conflict import (
    ConflictConfig,
    GradientConfig,
    by_environment,
    environment_gradients,
    project,
    round_gradients,
    signal_to_noise,
)
from train.learner import Learner

CONFIG = GradientConfig(group_size=tiny.GROUP, rounds=1, dimensions=0, seed=2)


@pytest.fixture(scope="module")
def whole(agent: Agent, learner: Learner) -> np.ndarray:
    return environment_gradients(agent, learner, CONFIG)


def test_every_environment_has_a_gradient_of_its_own(agent: Agent, whole: np.ndarray) -> None:
    count = sum(leaf.size for leaf in jax.tree.leaves(agent.policy.params))
    assert whole.shape == (len(agent.names), count)
    assert np.isfinite(whole).all()
    assert (np.linalg.norm(whole, axis=1) > 0).all()
    assert abs(cosines(whole)[0, 1]) < 0.99


def test_rounds_are_averaged_and_each_counts(agent: Agent, learner: Learner, whole: np.ndarray) -> None:
    two = replace(CONFIG, rounds=2)
    first, second = round_gradients(agent, learner, two)
    assert np.array_equal(first, whole)
    assert (np.linalg.norm(second, axis=1) > 0).any()  # no group's returns may differ in one
    assert not np.allclose(second, first)
    np.testing.assert_allclose(environment_gradients(agent, learner, two), (first + second) / 2, atol=1e-7)


def test_signal_to_noise_is_without_bias() -> None:
    rng = np.random.default_rng(0)
    signal = rng.normal(size=1000)
    signal *= 5 / np.linalg.norm(signal)  # 25 over the noise's 1000 * 0.1 = 100
    told = [signal_to_noise(signal + rng.normal(0, 0.1**0.5, (4, 1000))) for _ in range(200)]
    assert np.mean(told) == pytest.approx(0.25, abs=0.01)
    noise = [signal_to_noise(rng.normal(size=(4, 1000))) for _ in range(200)]
    assert np.mean(noise) == pytest.approx(0, abs=0.005)
    assert signal_to_noise(np.stack([signal, -signal, signal])) < 0
    assert np.isnan(signal_to_noise(signal[None]))
    assert np.isnan(signal_to_noise(np.zeros((4, 10))))


def test_a_rollout_is_parted_by_environment(agent: Agent) -> None:
    keys = tiny.reset_keys(3, copies=tiny.GROUP)
    start = agent.mixture.reset(keys, tiny.level())
    limits = jnp.zeros(len(agent.names), jnp.int32)
    played = agent.actor.play(agent.policy.params, start, jax.random.key(5), limits, 1.0)
    assert [len(part.returns) for part in by_environment(played, tiny.SLOTS)] == [tiny.SLOTS] * 2
    assert sum(len(part.turns) for part in by_environment(played, tiny.SLOTS)) == len(played.turns)
    for e, part in enumerate(by_environment(played, tiny.SLOTS)):
        rows = slice(e * tiny.SLOTS, (e + 1) * tiny.SLOTS)
        assert part.returns.tolist() == played.returns[rows].tolist()
        assert {turn.row for turn in part.turns} <= set(range(tiny.SLOTS))


def test_pictures_are_compared_with_words(model: Path, tmp_path: Path) -> None:
    config = ConflictConfig(
        env_set=tiny.ENVS,
        model=str(model),
        episodes=tiny.SLOTS,
        canvas=tiny.CANVAS,
        out=tmp_path,
        gradients=replace(CONFIG, dimensions=256),
        actor=tiny.ACTOR,
        learner=tiny.LEARNER,
    )
    conflict.main(config)
    told = json.loads((tmp_path / "cosines.json").read_text())
    assert told["names"] == list(jaxenv.env_set(tiny.ENVS))
    assert not np.allclose(told["text"], told["pixels"])
    np.testing.assert_allclose(np.diag(told["pixels"]), 1)  # of words alone this policy learns nothing
    with Image.open(tmp_path / "gradients.png") as picture:
        assert picture.width > 1.5 * picture.height


def test_episodes_are_whole_groups() -> None:
    with pytest.raises(ValueError, match=r"episodes: 12 are not a multiple of gradients.group_size, 8"):
        ConflictConfig(episodes=12)


def test_a_projection_keeps_cosines() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=20_000)
    trees = [
        {
            "a": jnp.asarray(v[:15_000].reshape(100, 150), jnp.float32),
            "b": jnp.asarray(v[15_000:], jnp.float32),
        }
        for v in (common + own * rng.normal(size=20_000) for own in (0.5, 1.0, 3.0))
    ]
    trees.append(jax.tree.map(lambda leaf: -leaf, trees[0]))
    key = jax.random.key(1)
    exact = np.stack([np.asarray(project(tree, 0, key)) for tree in trees])
    small = np.stack([np.asarray(project(tree, 4096, key)) for tree in trees])
    assert small.shape == (4, 4096)
    assert np.abs(cosines(small) - cosines(exact)).max() < 0.06
    assert cosines(small)[0, 3] == pytest.approx(-1)
    other = np.asarray(project(trees[0], 4096, jax.random.key(2)))
    assert not np.allclose(other, small[0])
