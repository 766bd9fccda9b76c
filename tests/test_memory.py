"""The line about the last answers: what it says, and that it is part of the prompt."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny

from jaxenv import answers, text
from train.agent import Agent, make_agent
from train.batches import Answer, Pack
from train.lengths import prompt_buckets
from train.memory import longest_reminder, note, reminder
from train.rollout import Actor, Rollout


@pytest.mark.parametrize(
    ("reply", "verdict", "told"),
    [
        ("<answer>up</answer>", answers.ACCEPTED, "up"),
        ("<answer>up</answer>", answers.ILLEGAL, "up (rejected)"),
        ("so <answer>up</answer> or <answer> 1,\n 2 </answer>", answers.ACCEPTED, "1, 2"),
        ("<answer>up</answer> <answer>down", answers.ACCEPTED, "up"),
        ("<answer></answer>", answers.NOT_IN_GRAMMAR, " (rejected)"),
        (f"<answer>{'far ' * 20}</answer>", answers.NOT_IN_GRAMMAR, f"{'far ' * 6}(rejected)"),
        ("up", answers.NO_TAG, "none (rejected)"),
    ],
)
def test_an_answer_is_told_in_short(reply: str, verdict: int, told: str) -> None:
    assert note(reply, verdict).split() == told.split()


def test_nothing_said_is_nothing_told() -> None:
    assert reminder([]) == ""
    assert reminder(["up", "left (rejected)"]) == "\nYour last answers: up; left (rejected)"


@pytest.fixture(scope="module")
def rollout(agent: Agent) -> Rollout:
    actor = Actor(agent.policy, agent.chat, agent.mixture, tiny.ACTOR, (192,), memory=2)
    limits = jnp.array([4, 0], jnp.int32)
    start = agent.mixture.reset(tiny.reset_keys(0, tiny.GROUP), tiny.level())
    return actor.play(agent.policy.params, start, jax.random.key(0), limits, 1.0)


def test_a_prompt_ends_with_the_last_answers(rollout: Rollout) -> None:
    for row in range(2 * tiny.SLOTS):
        turns = [turn for turn in rollout.turns if turn.row == row]
        for t, turn in enumerate(turns):
            _, found, line = turn.text.partition("\nYour last answers: ")
            assert bool(found) == (t > 0)
            told = [part.removesuffix(" (rejected)") for part in line.split("; ") if found]
            said = [note(before.reply, answers.ACCEPTED) for before in turns[max(t - 2, 0) : t]]
            assert told == said
    assert rollout.lengths[: tiny.SLOTS].max() == 4
    assert rollout.lengths[tiny.SLOTS :].max() == 1


def test_what_is_remembered_is_seen(rollout: Rollout) -> None:
    """Turns with the same board and other answers before them are not the same."""
    later = [turn for turn in rollout.turns if "Your last" in turn.text]
    plain = {(turn.text.partition("\nYour last")[0], turn.pixels.tobytes()) for turn in later}
    assert len({turn.seen for turn in later}) > len(plain)


def test_logprobs_are_those_the_learner_computes(agent: Agent, rollout: Rollout) -> None:
    packs = [Pack(t.prompt, t.pixels, [Answer(t.tokens, t.logprobs, 1.0)]) for t in rollout.turns]
    found = tiny.answer_logprobs(agent, agent.policy.params, packs, length=208)
    for turn, logprobs in zip(rollout.turns, found, strict=True):
        np.testing.assert_allclose(turn.logprobs, logprobs, atol=1e-4)


def test_lengths_leave_room(agent: Agent) -> None:
    """For the games of several turns; the others are told nothing."""
    rooms = [longest_reminder(agent.chat, agent.mixture, turns) for turns in range(4)]
    assert rooms[0] == 0
    assert 0 < rooms[1] < rooms[2] < rooms[3]
    line = reminder(["right (rejected)"] * 2)
    empty, told = agent.chat.prompts(["", line])
    assert rooms[2] == len(told) - len(empty)
    plain, roomy = (prompt_buckets(agent.chat, agent.mixture, 0, memory=turns) for turns in (0, 2))
    assert plain != roomy
    view, _ = agent.mixture.reset(tiny.reset_keys(0), tiny.level())
    lake = agent.chat.prompts(text.decode_batch(view.prompt))[: tiny.SLOTS]
    assert max(map(len, lake)) + rooms[2] <= roomy[-1]
    assert roomy[-1] <= plain[-1] + rooms[2] + 8
    talk = prompt_buckets(agent.chat, agent.mixture, 0, conversation=True)
    assert plain[-1] <= talk[-1] <= plain[-1] + 8
    assert len(talk) <= 2


@pytest.mark.parametrize(("context", "memory"), [("turn", -1), ("conversation", 1)])
def test_a_memory_that_makes_no_sense_is_refused(random_model, context: str, memory: int) -> None:
    with pytest.raises(ValueError, match=f"memory: {memory} is not 0"):
        make_agent(random_model, tiny.ENVS, 8, tiny.CANVAS, tiny.ACTOR, context=context, memory=memory)
