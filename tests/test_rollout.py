"""Playing episodes: the log-probabilities kept, who is asked, and that only keys decide what happens."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny

from jaxenv import answers
from train.agent import Agent, make_agent
from train.batches import Answer, Pack
from train.compilation import count_compilations
from train.policy import chat
from train.rollout import Actor, Rollout, Turn

OWN = jnp.zeros(2, jnp.int32)  # the environments' own turn limits
ROWS = range(2 * tiny.SLOTS)


def play(agent: Agent, seed: int = 0, *, actor: Actor | None = None, sample: int = 4, turns=OWN, **options):
    options = {"temperature": 1.0} | options
    start = agent.mixture.reset(tiny.reset_keys(seed, options.pop("same", 1)), tiny.level())
    return (actor or agent.actor).play(agent.policy.params, start, jax.random.key(sample), turns, **options)


@pytest.fixture(scope="module")
def rollout(agent: Agent) -> Rollout:
    """Groups of four, to the end."""
    return play(agent, same=tiny.GROUP)


def by_row(turns: list[Turn]) -> dict[int, list[Turn]]:
    return {row: [turn for turn in turns if turn.row == row] for row in ROWS}


def same_turns(one: Rollout, other: Rollout) -> None:
    """The same replies to the same views, whatever the order within a turn."""
    for mine, yours in zip(by_row(one.turns).values(), by_row(other.turns).values(), strict=True):
        assert [turn.text for turn in mine] == [turn.text for turn in yours]
        assert [turn.reply for turn in mine] == [turn.reply for turn in yours]
        for a, b in zip(mine, yours, strict=True):
            np.testing.assert_array_equal(a.tokens, b.tokens)
            np.testing.assert_array_equal(a.pixels, b.pixels)
            np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-5)
    for name in ("returns", "success", "lengths", "verdicts", "cut", "last_pixels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_sampled_logprobs_are_those_the_learner_computes(agent: Agent, rollout: Rollout) -> None:
    packs = [Pack(t.prompt, t.pixels, [Answer(t.tokens, t.logprobs, 1.0)]) for t in rollout.turns]
    found = tiny.answer_logprobs(agent, agent.policy.params, packs)
    assert len(set(rollout.lengths)) > 2  # ragged
    for turn, logprobs in zip(rollout.turns, found, strict=True):
        np.testing.assert_allclose(turn.logprobs, logprobs, atol=1e-4)


def test_a_group_shares_its_instance_and_differs_in_what_it_says(rollout: Rollout) -> None:
    first = [turns[0] for turns in by_row(rollout.turns).values()]
    groups = [first[at : at + tiny.GROUP] for at in range(0, len(first), tiny.GROUP)]
    for group in groups:
        for turn in group[1:]:
            assert turn.text == group[0].text
            np.testing.assert_array_equal(turn.pixels, group[0].pixels)
    assert len({group[0].text for group in groups}) == 4
    assert sum(len({turn.reply for turn in group}) > 1 for group in groups) >= 2


def test_who_is_done_is_asked_no_more(agent: Agent, rollout: Rollout) -> None:
    turns = by_row(rollout.turns)
    assert [len(turns[row]) for row in ROWS] == list(rollout.lengths)
    assert set(rollout.lengths[tiny.SLOTS :]) == {1}  # single-turn
    assert rollout.lengths.min() >= 1
    assert rollout.lengths.max() <= agent.mixture.envs[0].max_turns[0]
    assert (rollout.lengths[: tiny.SLOTS][rollout.success[: tiny.SLOTS]] >= 1).all()


def test_every_turn_gets_one_verdict(agent: Agent, rollout: Rollout) -> None:
    assert rollout.verdicts.sum() == rollout.lengths.sum() == len(rollout.turns)
    untagged = sum("</answer>" not in turn.reply for turn in rollout.turns)
    assert rollout.verdicts[answers.NO_TAG] >= untagged
    cut = [turn for turn in rollout.turns if not agent.chat.stop[turn.tokens[-1]]]
    assert rollout.cut == len(cut)
    assert all(len(turn.tokens) == tiny.ACTOR.max_new_tokens for turn in cut)
    assert all(agent.chat.allowed[turn.tokens].all() for turn in rollout.turns)


def test_success_is_a_full_return(rollout: Rollout) -> None:
    np.testing.assert_array_equal(rollout.success, rollout.returns >= 1.0)


def test_turn_limits_are_data(agent: Agent) -> None:
    short = play(agent, turns=jnp.array([3, 1], jnp.int32), same=tiny.GROUP)
    assert short.lengths.max() == 3
    assert [len(turns) for turns in by_row(short.turns).values()] == list(short.lengths)


def test_the_same_keys_give_the_same_rollout_without_compiling(agent: Agent, rollout: Rollout) -> None:
    with count_compilations() as compiled:
        again = play(agent, same=tiny.GROUP)
    assert not compiled
    same_turns(rollout, again)


def test_other_keys_give_another_rollout(agent: Agent, rollout: Rollout) -> None:
    said = [turn.reply for turn in rollout.turns]
    assert [turn.reply for turn in play(agent, same=tiny.GROUP, sample=1).turns] != said
    assert play(agent, 1, same=tiny.GROUP).turns[0].text != rollout.turns[0].text


def test_chunks_do_not_matter(agent: Agent) -> None:
    few = jnp.array([3, 0], jnp.int32)
    wide = Actor(agent.policy, agent.chat, agent.mixture, replace(tiny.ACTOR, rows=16, prompts=16), (160,))
    same_turns(play(agent, turns=few), play(agent, turns=few, actor=wide))


@pytest.fixture
def asked(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(prompts, rows) of every generation call made while the test runs."""
    calls, real = [], Actor._generate

    def count(actor, params, prompt, source, keys, temperature):
        calls.append((int((prompt.lengths > 0).sum()), len(source)))
        return real(actor, params, prompt, source, keys, temperature)

    monkeypatch.setattr(Actor, "_generate", count)
    return calls


def test_rows_that_see_the_same_share_a_prompt(agent: Agent, asked: list[tuple[int, int]]) -> None:
    played = play(agent, turns=jnp.ones(2, jnp.int32), same=tiny.GROUP)
    assert sum(rows for _, rows in asked) == len(played.turns) == len(ROWS)
    assert sum(prompts for prompts, _ in asked) == len({turn.text for turn in played.turns}) == 4
    assert len(asked) == 2  # eight rows a call


def test_sharing_prompts_does_not_matter(agent: Agent) -> None:
    """Calls so narrow that no two rows share one."""
    few = jnp.array([2, 0], jnp.int32)
    narrow = Actor(agent.policy, agent.chat, agent.mixture, replace(tiny.ACTOR, rows=1, prompts=1), (160,))
    same_turns(play(agent, turns=few, same=tiny.GROUP), play(agent, turns=few, same=tiny.GROUP, actor=narrow))


def test_reading_once_what_all_prompts_begin_with_does_not_matter(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The few tokens before the picture, that are not worth it otherwise."""
    assert agent.actor.shared == 0
    monkeypatch.setattr(chat, "WORTH_SHARING", 1)
    once = Actor(agent.policy, agent.chat, agent.mixture, tiny.ACTOR, agent.actor.buckets)
    assert once.shared == agent.chat.head.image_slots.tolist().index(0) > 0
    few = jnp.array([2, 0], jnp.int32)
    same_turns(play(agent, turns=few, same=tiny.GROUP), play(agent, turns=few, same=tiny.GROUP, actor=once))


def test_a_greedy_policy_is_asked_once_about_what_it_sees(agent: Agent, asked) -> None:
    played = play(agent, temperature=0.0, same=tiny.GROUP)
    seen = {(turn.text, turn.pixels.tobytes()) for turn in played.turns}
    assert sum(rows for _, rows in asked) == sum(prompts for prompts, _ in asked) == len(seen)
    assert len(played.turns) > len(seen)
    for what in seen:
        assert len({t.reply for t in played.turns if (t.text, t.pixels.tobytes()) == what}) == 1


def test_greedy_needs_no_key(agent: Agent) -> None:
    few = jnp.array([3, 0], jnp.int32)
    greedy = play(agent, turns=few, temperature=0.0)
    same_turns(greedy, play(agent, turns=few, temperature=0.0, sample=9))


def test_shuffled_pictures_are_anothers(agent: Agent) -> None:
    once = jnp.ones(2, jnp.int32)
    own = {turn.row: turn for turn in play(agent, turns=once).turns}
    shuffled = play(agent, turns=once, shuffle_pictures=True).turns
    assert len(shuffled) == len(ROWS)
    for turn in shuffled:
        env, slot = divmod(turn.row, tiny.SLOTS)
        other = env * tiny.SLOTS + (slot - 1) % tiny.SLOTS
        assert turn.text == own[turn.row].text
        np.testing.assert_array_equal(turn.pixels, own[other].pixels)
        assert (turn.pixels != own[turn.row].pixels).any()


@pytest.mark.parametrize("observation", ["text", "both"])
def test_the_board_in_words_can_stay(random_model: Path, observation: str) -> None:
    """At H4, where only the picture stays otherwise; what is sampled is what the learner computes."""
    reader = make_agent(random_model, tiny.ENVS, tiny.SLOTS, tiny.CANVAS, tiny.ACTOR, observation)
    few = jnp.array([2, 0], jnp.int32)
    start = reader.mixture.reset(tiny.reset_keys(0, tiny.GROUP), tiny.level(harness=4))
    played = reader.actor.play(reader.policy.params, start, jax.random.key(0), few, temperature=1.0)
    assert played.lengths.max() == 2
    for turn in played.turns:
        assert "Board:" in turn.text
        assert "Rules:" not in turn.text
        assert turn.prompt.pictured == (observation == "both")
        assert turn.pixels.shape == tiny.PICTURE.shape  # for the replay
    packs = [Pack(t.prompt, t.pixels, [Answer(t.tokens, t.logprobs, 1.0)]) for t in played.turns]
    found = tiny.answer_logprobs(reader, reader.policy.params, packs)
    for turn, logprobs in zip(played.turns, found, strict=True):
        np.testing.assert_allclose(turn.logprobs, logprobs, atol=1e-4)


def test_text_observations_are_learnt_from(random_model: Path) -> None:
    reader = make_agent(random_model, tiny.ENVS, tiny.SLOTS, tiny.CANVAS, tiny.ACTOR, "text")
    trainer = tiny.make_trainer(reader, tiny.make_learner(reader))
    state = trainer.init(0)
    trainer.compile(state)
    with count_compilations() as compiled:
        _, metrics, _ = trainer.step(state)
    assert not compiled
    assert np.isfinite(metrics["reward"])
