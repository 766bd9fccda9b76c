"""What episodes exercise, against their own outcomes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxenv
from jaxenv import text
from jaxenv.environment import Level
from train.annotation.recorder import Recorder, play_experts, traced, transcripts

NAMES, SLOTS = ("frozen_lake", "rotate_matrix"), 8


@pytest.fixture(scope="module")
def recorder():
    return Recorder([jaxenv.make(name, canvas=32)[0] for name in NAMES], SLOTS)


def begin(recorder, seed: int = 0):
    keys = jax.random.split(jax.random.key(seed), (len(NAMES), SLOTS))
    levels = jnp.zeros((len(NAMES), SLOTS), jnp.int32)
    return recorder.reset(keys, Level(levels, levels))[1]


def test_the_expert_exercises_what_it_does(recorder):
    play_experts(recorder, begin(recorder), jax.random.key(1), noise=0.0)
    lake, matrix = traced(recorder)
    for slot in range(SLOTS):
        turns = sum(not turn.before[0].episodes.done[slot] for turn in recorder.turns)
        assert lake[slot].count("plan_path") == lake[slot].count("format_move") == turns
        assert "estimate_probability" not in lake[slot]  # nothing slips at the first scale
        assert matrix[slot] == recorder.envs[1].abilities
    assert any("predict_move_effect" in sequence for sequence in lake)


def test_noise_costs_abilities(recorder):
    play_experts(recorder, begin(recorder), jax.random.key(1), noise=0.9)
    lake, matrix = traced(recorder)
    assert sum(map(len, matrix)) < SLOTS * len(recorder.envs[1].abilities) / 2
    planned = sum(sequence.count("plan_path") for sequence in lake)
    assert planned < 0.8 * sum(sequence.count("format_move") for sequence in lake)


def test_transcripts_tell_every_turn(recorder):
    play_experts(recorder, begin(recorder), jax.random.key(1), noise=0.0)
    lake, matrix = transcripts(recorder, strong=True)
    lengths = [
        sum(not turn.before[0].episodes.done[slot] for turn in recorder.turns) for slot in range(SLOTS)
    ]
    assert [len(told.steps) for told in lake] == lengths
    assert all(told.success and told.strong and told.env_id == "frozen_lake" for told in lake)
    first = lake[0].steps[0]
    assert first.told.startswith(recorder.envs[0].task)
    assert first.reply.startswith("<answer>")
    assert first.outcome.startswith("accepted")
    assert [len(told.steps) for told in matrix] == [1] * SLOTS
    assert "Step 1\nRotate" in str(matrix[0])
    assert str(matrix[0]).endswith("The episode ends: solved.")


def test_a_refused_reply_exercises_nothing_but_its_form(recorder):
    groups = begin(recorder)
    replies = ["up", *["<answer>sideways</answer>"] * (SLOTS - 1), *["<answer>1</answer>"] * SLOTS]
    keys = jax.random.split(jax.random.key(2), (len(NAMES), SLOTS))
    limits = jnp.ones(len(NAMES), jnp.int32)
    recorder.step(keys, groups, text.encode_batch(replies, recorder.reply_capacity), limits)
    lake, matrix = traced(recorder)
    assert lake == [()] * SLOTS
    assert matrix == [("format_structured",)] * SLOTS  # a grid, but not one of as many rows
    told = transcripts(recorder, strong=False)[0][0]
    assert not told.success
    assert np.all([step.reply == "up" for step in told.steps])
