"""Whole steps: the frontier, the metrics, no late compilation, the same again from a seed or a file."""

import dataclasses
import math
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny

from jaxenv import curriculum
from jaxenv.curriculum import HDCConfig
from jaxenv.environment import Level
from train import checkpoints
from train.agent import Agent
from train.compilation import count_compilations
from train.learner import Learner
from train.rollout import Rollout
from train.trainer import Trainer, TrainState

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


def test_every_minibatch_makes_an_update(agent: Agent) -> None:
    """Two parts of a step's episodes move the policy twice, and by other gradients than one whole."""
    learner, state = tiny.make_learner(agent), None
    ends = []
    for minibatches in (1, 2):
        trainer = tiny.make_trainer(agent, learner, minibatches=minibatches)
        state, told = run(trainer, trainer.init(4), 3)
        signals = sum(metrics["grad_norm"] > 0 for metrics in told)
        assert signals
        counts = [leaf for leaf in jax.tree.leaves(state.learner.opt_state) if leaf.dtype == jnp.int32]
        assert all(signals <= int(count) <= 3 * minibatches for count in counts)
        ends.append(state.learner)
    assert int(ends[1].opt_state[1].count) > int(ends[0].opt_state[1].count)


def test_the_same_seed_gives_the_same_metrics(trainer: Trainer, three_steps) -> None:
    _, again = run(trainer, trainer.init(4), 3)
    assert again == three_steps[1]
    _, other = run(trainer, trainer.init(5), 1)
    assert other[0] != again[0]


def test_a_checkpoint_in_the_middle_changes_nothing(trainer: Trainer, three_steps, tmp_path: Path) -> None:
    middle, _ = run(trainer, trainer.init(4), 1)
    checkpoints.save(tmp_path, 1, middle, {})
    restored = checkpoints.restore(tmp_path, trainer.init(99)).tree
    end, told = run(trainer, restored, 2)
    assert told == three_steps[1][1:]
    for found, wanted in zip(*map(jax.tree.leaves, (end, three_steps[0])), strict=True):
        np.testing.assert_array_equal(bits(found), bits(wanted))


def bits(leaf: jax.Array) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)


def test_nothing_compiles_once_compiled(agent: Agent) -> None:
    """A trainer of its own, at levels that come and go."""
    trainer = tiny.make_trainer(agent, tiny.make_learner(agent), HDCConfig(delta_d=0, p_cur=0.7))
    state = trainer.init(1)
    trainer.compile(state)
    pairs = ((0, 0), (1, 1), (4, 1), (2, 0))
    levels = [(jnp.full(2, harness, jnp.int32), jnp.full(2, scale, jnp.int32)) for harness, scale in pairs]
    with count_compilations() as compiled:
        for harness, scale in levels:
            frontier = state.frontier.replace(harness=harness, scale=scale)
            state, _, _ = trainer.step(state._replace(frontier=frontier))
    assert not compiled


class Scripted:
    """An actor that plays nothing; the environments named succeed always, the others never."""

    def __init__(self, agent: Agent, wins: tuple[bool, ...]) -> None:
        self.config, self.buckets, self.capacities = agent.actor.config, agent.actor.buckets, ()
        self.wins, self.levels = wins, []

    def play(self, params, reset_keys, sample_key, level: Level, max_turns, temperature, only) -> Rollout:
        self.levels.append(level)
        self.reset_keys = reset_keys
        success = np.repeat(self.wins, tiny.SLOTS)
        nothing = np.zeros(len(success), np.int32)
        return Rollout(
            success.astype(np.float32), success, nothing + 1, np.zeros(4, np.int32), 0, [],
            np.zeros((len(success), *tiny.PICTURE.shape), np.uint8),
        )  # fmt: skip


def scripted(agent: Agent, learner: Learner, wins: tuple[bool, ...], hdc: HDCConfig) -> Trainer:
    return tiny.make_trainer(dataclasses.replace(agent, actor=Scripted(agent, wins)), learner, hdc)


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
        keys = np.asarray(jax.random.key_data(actor.reset_keys)).reshape(4, tiny.GROUP, -1)
        assert (keys == keys[:, :1]).all()
        seen |= {key.tobytes() for key in keys[:, 0]}
        for leaf in jax.tree.leaves(actor.levels[-1]):
            groups = np.asarray(leaf).reshape(4, tiny.GROUP)
            assert (groups == groups[:, :1]).all()
    assert len(seen) == 16  # no instance comes twice


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
