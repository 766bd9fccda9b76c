"""Whole steps: the frontier, the metrics, no late compilation, the same again from a seed or a file."""

import dataclasses
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny

from jaxenv import curriculum
from jaxenv.curriculum import HDCConfig, ScalingInter
from jaxenv.testing.subject import fingerprint
from train.agent import Agent
from train.experience import Experience
from train.learner import Learner
from train.rollout import Rollout
from train.trainer import Trainer, TrainState, learn

ALWAYS = {
    "reward", "success", "mixed_groups", "turns", "tokens", "cut_replies", "skipped", "grad_norm",
    "rejected/no_answer_tag", "rejected/not_in_the_grammar", "rejected/illegal_in_this_state",
    *(f"{kind}/{name}" for kind in ("success", "harness", "scale") for name in tiny.ENVS.split(",")),
}  # fmt: skip
LEARNT = {"loss", "entropy", "clipped_low", "clipped_high", "old_kl", "log_ratio", "ref_kl", "logprob"}


def run(trainer: Trainer, state: TrainState, steps: int) -> tuple[TrainState, list[dict[str, float]]]:
    told = []
    for _ in range(steps):
        state, metrics, _ = trainer.step(state)
        told.append(metrics)
    return state, told


@pytest.fixture(scope="module")
def three_steps(trainer: Trainer) -> tuple[TrainState, list[dict[str, float]]]:
    return run(trainer, trainer.init(4), 3)


def test_metrics_are_complete_and_finite(three_steps) -> None:
    state, told = three_steps
    assert int(state.step) == 3
    for metrics in told:
        assert metrics.keys() >= ALWAYS
        assert metrics.keys() - ALWAYS == (LEARNT if metrics["mixed_groups"] else set())
        assert all(math.isfinite(value) for value in metrics.values())
        assert metrics["skipped"] == 0
        rejected = sum(value for name, value in metrics.items() if name.startswith("rejected/"))
        assert 0 <= rejected <= 1
    assert any(metrics["grad_norm"] > 0 for metrics in told)


def test_a_step_learns(trainer: Trainer, three_steps) -> None:
    before, after = trainer.init(4).learner.params, three_steps[0].learner.params
    assert any((a != b).any() for a, b in zip(*map(jax.tree.leaves, (before, after)), strict=True))


def test_every_minibatch_makes_an_update(agent: Agent, learner: Learner) -> None:
    """Two parts of a step's packs move the policy twice, and by other gradients than one whole."""
    packs = tiny.demonstrations(agent, 0)
    experience = Experience(packs, sum(pack.answer_length for pack in packs), np.ones(1, bool))
    ends = []
    for minibatches in (1, 2):
        state, _ = learn(learner, learner.init(agent.policy.params), experience, minibatches, epochs=1)
        counts = [leaf for leaf in jax.tree.leaves(state.opt_state) if leaf.dtype == jnp.int32]
        assert {int(count) for count in counts} == {minibatches}
        ends.append(state.params)
    assert any((a != b).any() for a, b in zip(*map(jax.tree.leaves, ends), strict=True))


class Scripted:
    """An actor that plays nothing; the environments named succeed always, the others never."""

    def __init__(self, agent: Agent, wins: tuple[bool, ...]) -> None:
        self.config, self.buckets, self.capacities = agent.actor.config, agent.actor.buckets, ()
        self.wins, self.levels, self.limits = wins, [], []

    def play(self, params, start, sample_key, max_turns, temperature, only) -> Rollout:
        episodes = [group.episodes for group in start[1]]
        self.levels.append(jax.tree.map(lambda *leaves: jnp.stack(leaves), *(e.level for e in episodes)))
        self.limits.append(max_turns.tolist())
        self.instances = np.concatenate([fingerprint(e.state) for e in episodes])
        success = np.repeat(self.wins, tiny.SLOTS)
        nothing = np.zeros(len(success), np.int32)
        return Rollout(
            success.astype(np.float32), success, nothing + 1, np.zeros(4, np.int32), 0, [],
            np.zeros((len(success), *tiny.PICTURE.shape), np.uint8),
        )  # fmt: skip


def scripted(agent: Agent, learner: Learner, wins: tuple[bool, ...], hdc: HDCConfig, **config) -> Trainer:
    return tiny.make_trainer(dataclasses.replace(agent, actor=Scripted(agent, wins)), learner, hdc, **config)


def test_later_rounds_play_the_single_turn_types(agent: Agent, learner: Learner) -> None:
    trainer = tiny.make_trainer(agent, learner, rounds=3)
    _, metrics, rollout = trainer.step(trainer.init(0))
    played = (rollout.lengths > 0).reshape(3, 2, tiny.SLOTS).all(-1)
    assert played.tolist() == [[True, True], [False, True], [False, True]]
    pictures = {turn.pixels.tobytes() for turn in rollout.turns if trainer.environment[turn.row] == 1}
    assert len(pictures) > tiny.GROUPS  # every round has instances of its own
    assert metrics["mixed_groups"] * 4 * tiny.GROUPS == pytest.approx(round(metrics["mixed_groups"] * 8))


def test_success_moves_its_own_frontier(agent: Agent, learner: Learner) -> None:
    trainer = scripted(agent, learner, (True, False), replace(tiny.HDC, delta_d=0))
    state, told = run(trainer, trainer.init(0), 4)
    moved = [(metrics["harness/frozen_lake"], metrics["scale/frozen_lake"]) for metrics in told]
    assert moved == [(0, 1), (0, 2), (1, 0), (1, 1)]
    assert {(m["harness/rotate_matrix"], m["scale/rotate_matrix"]) for m in told} == {(0, 0)}
    assert told[-1]["success/frozen_lake"] == 1
    assert list(state.frontier.harness) == [1, 0]


def test_the_frontier_follows_the_curriculum(agent: Agent, learner: Learner) -> None:
    """Every episode of the levels drawn is counted, in order."""
    hdc = HDCConfig(p_cur=0.6, window=6)
    trainer = scripted(agent, learner, (True, True), hdc)
    state = trainer.init(3)
    for step in range(5):
        before = state.frontier
        state, _, _ = trainer.step(state)
        drawn = trainer.agent.actor.levels[step]
        envs = jnp.repeat(jnp.arange(2, dtype=jnp.int32), tiny.SLOTS)
        yes = jnp.ones(2 * tiny.SLOTS, bool)
        wanted = curriculum.update(
            hdc, before, envs, drawn.harness.reshape(-1), drawn.scale.reshape(-1), yes, yes
        )
        for found, leaf in zip(*map(jax.tree.leaves, (state.frontier, wanted)), strict=True):
            np.testing.assert_array_equal(found, leaf)


def test_a_group_is_one_instance_at_one_level(agent: Agent, learner: Learner) -> None:
    trainer = scripted(agent, learner, (True, True), HDCConfig(p_cur=0.5, delta_d=2))
    state = trainer.init(0)
    high = state.frontier.replace(harness=jnp.full(2, 3, jnp.int32), scale=jnp.full(2, 2, jnp.int32))
    seen = set()
    for _ in range(4):
        state, _, _ = trainer.step(state._replace(frontier=high))
        actor = trainer.agent.actor
        instances = actor.instances.reshape(4, tiny.GROUP)
        assert (instances == instances[:, :1]).all()
        seen |= set(instances[:, 0].tolist())
        for leaf in jax.tree.leaves(actor.levels[-1]):
            groups = np.asarray(leaf).reshape(4, tiny.GROUP)
            assert (groups == groups[:, :1]).all()
    assert len(seen) == 16  # no instance comes twice


def test_the_horizon_grows_with_the_steps(agent: Agent, learner: Learner) -> None:
    trainer = scripted(agent, learner, (True, True), HDCConfig(), horizons=ScalingInter((2, 5), 2))
    run(trainer, trainer.init(0), 4)
    assert trainer.agent.actor.limits == [[2, 2], [2, 2], [5, 5], [5, 5]]
    state = trainer.init(0)._replace(step=jnp.int32(2))  # a resumed run stands where it stood
    trainer.step(state)
    assert trainer.agent.actor.limits[-1] == [5, 5]


@pytest.mark.parametrize("mode", ["scale", "harness", "none"])
def test_the_ablations_start_where_they_should(agent: Agent, learner: Learner, mode) -> None:
    frontier = tiny.make_trainer(agent, learner, HDCConfig(mode=mode)).init(0).frontier
    assert list(frontier.harness) == [0 if mode == "harness" else 4] * 2
    assert list(frontier.scale) == [0 if mode == "scale" else 2] * 2


def test_sizes_that_do_not_fit_are_refused(agent: Agent, learner: Learner) -> None:
    with pytest.raises(ValueError, match="8 slots is not 3 groups of 4"):
        tiny.make_trainer(agent, learner, groups=3)
    short = tiny.make_learner(agent)
    short.lengths = (170,)
    with pytest.raises(ValueError, match="pack_lengths: the last, 170, does not hold a prompt of 160"):
        tiny.make_trainer(agent, short)
