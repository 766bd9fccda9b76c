"""Episodes as conversations: exact tokens, a cache that changes nothing, and rows to learn from."""

import dataclasses
import math
import shutil
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny
from flax import nnx

from train.agent import Agent
from train.batches import Answer, Dialogue, packed_batch
from train.compilation import count_compilations
from train.experience import CreditConfig, make_experience
from train.lengths import dialogue_lengths
from train.policy.chat import Chat, PromptRow
from train.policy.errors import PolicyError
from train.policy.generate import Prompt, generate_jit
from train.policy.positions import mrope_positions
from train.rollout import Actor, Rollout
from train.turns import Turn

TURN = 160 + tiny.ACTOR.max_new_tokens
CAPACITIES = (TURN, 10 * TURN)
TURNS = 4  # played
WIDTH = TURNS * TURN
TEMPERATURE = 3.0  # ragged replies, some too long
SYSTEM = "<|im_start|>system\nYou are a helpful assistant<|im_end|>\n"


@pytest.fixture(scope="module")
def talker(agent: Agent) -> Agent:
    """The tiny policy in conversation."""
    actor = Actor(agent.policy, agent.chat, agent.mixture, tiny.ACTOR, (160,), capacities=CAPACITIES)
    return dataclasses.replace(agent, actor=actor)


def play(talker: Agent, temperature: float = TEMPERATURE, seed: int = 0) -> Rollout:
    limits = jnp.array([TURNS, 0], jnp.int32)
    start = talker.mixture.reset(tiny.reset_keys(seed, tiny.GROUP), tiny.level())
    return talker.actor.play(talker.policy.params, start, jax.random.key(seed), limits, temperature)


@pytest.fixture(scope="module")
def rollout(talker: Agent) -> Rollout:
    return play(talker)


def episodes(rollout: Rollout) -> list[list[Turn]]:
    rows = range(len(rollout.lengths))
    return [[turn for turn in rollout.turns if turn.row == row] for row in rows]


def dialogue(turns: list[Turn], advantage: float = 1.0) -> Dialogue:
    return Dialogue(
        [turn.prompt for turn in turns],
        np.stack([turn.pixels for turn in turns]),
        [Answer(turn.tokens, turn.logprobs, advantage) for turn in turns],
    )


def tokens_of(turns: list[Turn]) -> np.ndarray:
    """All tokens of a conversation."""
    return np.concatenate([part for turn in turns for part in (turn.prompt.tokens, turn.tokens)])


def whole(chat: Chat, conversations: list[list[Turn]], ends: list[int] | None = None) -> Prompt:
    """Conversations as plain rows, or their first `ends` tokens; positions and slots are counted anew."""
    size, pictures = len(conversations), []
    tokens, slots = np.zeros((size, WIDTH), np.int32), np.full((size, WIDTH), -1, np.int32)
    positions, following = np.zeros((3, size, WIDTH), np.int32), np.zeros(size, np.int32)
    lengths = np.zeros(size, np.int32)
    for i, turns in enumerate(conversations):
        ids = tokens_of(turns)[: None if ends is None else ends[i]]
        n, is_image = len(ids), ids == chat.image_token
        shown = is_image.sum() // 16
        lengths[i], tokens[i, :n] = n, ids
        positions[:, i, :n], following[i] = mrope_positions(is_image, chat.grids * shown)
        slots[i, :n] = np.where(is_image, np.cumsum(is_image) - 1 + 16 * len(pictures), -1)
        pictures += [turn.pixels for turn in turns[:shown]]
    arrays = (tokens, positions, slots, lengths, following, np.stack(pictures))
    return Prompt(*map(jnp.asarray, arrays))


def places(turns: list[Turn]) -> list[slice]:
    """Where each reply stands in its conversation."""
    ends = np.cumsum([len(part) for turn in turns for part in (turn.prompt, turn.tokens)])
    return [slice(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True)]


def test_turns_are_ragged_and_some_replies_cut(talker: Agent, rollout: Rollout) -> None:
    """What the tests below are about."""
    long = [turns for turns in episodes(rollout) if len(turns) == TURNS]
    assert len(long) >= 4
    assert len({len(turn.tokens) for turns in long for turn in turns}) > 3
    assert any(not talker.chat.stop[turn.tokens[-1]] for turns in long for turn in turns[:-1])
    assert len(set(rollout.lengths)) > 1
    assert all(turn.prompt.pictured for turn in rollout.turns)


def test_logprobs_are_those_of_one_plain_pass(talker: Agent, rollout: Rollout) -> None:
    """No cache, positions counted anew: four ragged turns, a picture in each."""
    conversations = [turns for turns in episodes(rollout) if len(turns) == TURNS][:4]
    rows = whole(talker.chat, conversations)
    found = np.asarray(jax.jit(partial(logprobs, talker, TEMPERATURE))(rows))
    for i, turns in enumerate(conversations):
        for turn, at in zip(turns, places(turns), strict=True):
            np.testing.assert_allclose(turn.logprobs, found[i, at.start - 1 : at.stop - 1], atol=1e-4)


def logprobs(talker: Agent, temperature: float, rows: Prompt) -> jax.Array:
    """float32[B, P - 1]: log-probability of each token but the first given those before it."""
    model = nnx.merge(talker.policy.graphdef, talker.policy.params)
    visual = model.encode_images(rows.pictures)
    hidden, _ = model(rows.tokens, rows.positions, visual=visual, image_slots=rows.image_slots)
    logits = jnp.where(talker.actor.allowed, model.logits(hidden) / temperature, -1e9)
    return jnp.take_along_axis(jax.nn.log_softmax(logits)[:, :-1], rows.tokens[:, 1:, None], 2)[..., 0]


def test_logprobs_are_those_the_learner_computes(talker: Agent) -> None:
    conversations = episodes(play(talker, temperature=1.0, seed=1))
    given = [dialogue(turns) for turns in conversations[:4] + conversations[-2:]]
    batch = packed_batch(given, 8, WIDTH, 512, tiny.PICTURE, TURNS)
    found = np.asarray(
        tiny._packed_logprobs(talker.policy.graphdef, talker.policy.params, batch, talker.actor.allowed)
    )
    sampled = np.concatenate([answer.logprobs for each in given for answer in each.answers])
    np.testing.assert_allclose(found[: len(sampled)], sampled, atol=1e-4)


def test_only_sampled_tokens_are_learnt(talker: Agent, rollout: Rollout) -> None:
    """The row is the conversation, and neither prompts nor the tokens that close a cut reply are targets."""
    conversations = episodes(rollout)[:3]
    given = [dialogue(turns, advantage=i + 1.0) for i, turns in enumerate(conversations)]
    batch = jax.device_get(packed_batch(given, 4, WIDTH, 512, tiny.PICTURE, TURNS))
    said = [turn.tokens for turns in conversations for turn in turns]
    n = sum(map(len, said))
    np.testing.assert_array_equal(batch.target[:n], np.concatenate(said))
    assert batch.mask[:n].all()
    assert not batch.mask[n:].any()
    flat = batch.tokens.reshape(-1)
    np.testing.assert_array_equal(flat[batch.source[:n] + 1], batch.target[:n])
    for i, turns in enumerate(conversations):
        ids = tokens_of(turns)
        np.testing.assert_array_equal(batch.tokens[i, : len(ids)], ids)
        assert list(batch.segment[i]) == [0] * len(ids) + [-1] * (WIDTH - len(ids))
        for t, turn in enumerate(turns):
            np.testing.assert_array_equal(batch.pictures[i * TURNS + t], turn.pixels)
    cut = [(a, b) for turns in conversations for a, b in pairwise(turns)]
    for turn, following in cut:
        closed = turn.tokens[-1] == talker.chat.end
        assert (following.prompt.tokens[0] == talker.chat.end) == (not closed)


def test_a_cache_changes_nothing(talker: Agent) -> None:
    """Greedy replies are those to the whole conversation read again in every turn."""
    rollout = play(talker, temperature=0.0)
    conversations = [turns for turns in episodes(rollout) if len(turns) == TURNS]
    again = [(turns, t) for turns in conversations[:2] for t in range(TURNS)]
    rows = whole(talker.chat, [turns for turns, _ in again], [places(turns)[t].start for turns, t in again])
    done = generate_jit(
        talker.policy.graphdef,
        talker.policy.params,
        rows,
        jnp.arange(len(again)),
        jax.random.split(jax.random.key(0), len(again)),
        max_new_tokens=tiny.ACTOR.max_new_tokens,
        temperature=np.float32(0),
        allowed=talker.actor.allowed,
        stop=talker.actor.stop,
    )
    for i, (turns, t) in enumerate(again):
        assert done.tokens[i, : int(done.lengths[i])].tolist() == turns[t].tokens.tolist()
    assert len(again) == 2 * TURNS


def test_who_rests_does_not_disturb(talker: Agent) -> None:
    """Calls of another width, so that other rows are beside each other and others are idle."""
    wide = Actor(
        talker.policy, talker.chat, talker.mixture, replace(tiny.ACTOR, rows=3), (160,), capacities=CAPACITIES
    )
    one, other = play(talker), play(dataclasses.replace(talker, actor=wide))
    for mine, yours in zip(episodes(one), episodes(other), strict=True):
        assert [turn.reply for turn in mine] == [turn.reply for turn in yours]
        for a, b in zip(mine, yours, strict=True):
            np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-5)


def with_template(model: Path, folder: Path, before: str) -> Path:
    """The model with something before everything its template writes."""
    shutil.copytree(model, folder, dirs_exist_ok=True)
    template = folder / "chat_template.jinja"
    template.write_text(f"{{{{ {before!r} }}}}" + template.read_text())
    return folder


@pytest.mark.parametrize("before", ["", SYSTEM])
@pytest.mark.parametrize("pictured", [True, False])
@pytest.mark.parametrize("prefix", ["", "<answer>"])
def test_a_conversation_is_the_tokens_of_the_whole_rendered_string(
    fresh: Agent, random_model: Path, tmp_path: Path, before: str, pictured: bool, prefix: str
) -> None:
    folder = with_template(random_model, tmp_path, before)
    chat = Chat(folder, fresh.policy.config, tiny.CANVAS, pictured, prefix)
    said = ["Go\nnow.", "3 walls", "  odd \n", "é 12"]
    replies = ["<answer>up</answer>", "<answer>", "<answer>1 2\n3</answer>"]
    messages = [{"role": "user", "content": content(said[0], pictured)}]
    rows = chat.prompts(said[:1])
    tokens, ids = chat.replies(replies), [rows[0].tokens]
    for line, reply, sampled in zip(said[1:], replies, tokens, strict=True):
        messages += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": content(line, pictured)},
        ]
        rows += chat.next_prompts([line], rows[-1:], [sampled])
        ids += [sampled, rows[-1].tokens]
    rendered = (
        chat.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + prefix
    )
    rendered = rendered.replace("<|image_pad|>", "<|image_pad|>" * 16)
    assert rendered.startswith(before)
    assert rendered.count("system") == (before != "")
    found = np.concatenate(ids)
    assert found.tolist() == chat.tokenizer(rendered, add_special_tokens=False)["input_ids"]
    is_image = found == chat.image_token
    positions, following = mrope_positions(is_image, chat.grids * len(said))
    assert rows[-1].next_position == following
    at = len(found) - len(rows[-1])
    np.testing.assert_array_equal(rows[-1].positions, positions[:, at:])
    assert all(row.pictured == pictured for row in rows)


def content(line: str, pictured: bool) -> list[dict[str, str]] | str:
    return [{"type": "image"}, {"type": "text", "text": line}] if pictured else line


def test_a_reply_that_was_cut_is_ended_first(fresh: Agent) -> None:
    chat = fresh.chat
    (first,) = chat.prompts(["Go."])
    reply = chat.replies(["<answer>up</answer>"])[0]
    (ended,) = chat.next_prompts(["On."], [first], [reply])
    (cut,) = chat.next_prompts(["On."], [first], [reply[:-1]])
    assert cut.tokens.tolist() == [chat.end, *ended.tokens.tolist()]
    np.testing.assert_array_equal(cut.positions[:, 1:], ended.positions)
    assert cut.positions[:, 0].tolist() == [first.next_position + len(reply) - 1] * 3


def test_a_template_that_ends_replies_otherwise_is_refused(
    fresh: Agent, random_model: Path, tmp_path: Path
) -> None:
    folder = with_template(random_model, tmp_path, "")
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text().replace("<|im_end|>", "<|endoftext|>"))
    chat = Chat(folder, fresh.policy.config, tiny.CANVAS)
    assert chat.prompts(["Go."])  # turns that stand alone need no end
    with pytest.raises(PolicyError, match="does not end a reply"):
        _ = chat.closing


def test_an_episode_is_one_row_to_learn_from(talker: Agent) -> None:
    """Every turn keeps the advantage that it has as a turn; silent groups are left out."""
    played = play(talker, temperature=1.0, seed=1)
    returns = np.float32([1, *[0] * 15])
    played = played._replace(returns=returns)
    credit, types = CreditConfig(), np.repeat([0, 1], tiny.SLOTS)
    give = partial(make_experience, played, tiny.GROUP, environment=types, credit=credit)
    alone = give(most_prompts=999, rng=np.random.default_rng(0))
    joined = give(most_prompts=999, rng=np.random.default_rng(0), conversation=True)
    assert len(joined.packs) == 4
    assert joined.tokens == alone.tokens
    wanted = sorted(marks(alone.packs))
    assert sorted(mark for mark in marks(joined.packs) if mark[-1]) == wanted
    few = give(
        most_prompts=int(played.lengths[:4].sum()) // 2, rng=np.random.default_rng(0), conversation=True
    )
    kept = few.packs
    assert 0 < len(kept) <= 2
    scale = 4 / len(kept)
    whole = marks(joined.packs)
    for *ids, value in marks(kept):
        alike = [scale * full for *others, full in whole if others == ids]
        assert any(value == pytest.approx(full, abs=1e-4) for full in alike)


def marks(packs) -> list[tuple]:
    """Tokens and advantage of every answer."""
    return [
        (*answer.tokens.tolist(), round(float(answer.advantage), 5))
        for pack in packs
        for answer in pack.answers
    ]


def test_lengths_double_to_the_longest() -> None:
    assert dialogue_lengths(100, 1) == (100,)
    assert dialogue_lengths(100, 2) == (100, 200)
    assert dialogue_lengths(100, 10) == (100, 200, 400, 800, 1000)
    assert dialogue_lengths(100, 16) == (100, 200, 400, 800, 1600)


def test_steps_without_compiling(talker: Agent) -> None:
    """The first update is on the policy that played: what it recomputes is what was sampled. So weak a policy
    seldom does right: there are steps from which nothing can be learnt."""
    learner = tiny.make_learner(talker)
    learner.lengths, learner.most_pictures = CAPACITIES, talker.actor.most_pictures
    trainer = tiny.make_trainer(talker, learner, target_scale=0, minibatches=1)
    state = trainer.init(0)
    before = state.learner.params
    trainer.compile(state)
    told = []
    with count_compilations() as compiled:
        while len(told) < 2 or (len(told) < 12 and not any(metrics["grad_norm"] for metrics in told)):
            state, metrics, played = trainer.step(state)
            assert played.lengths.max() > 1
            told.append(metrics)
    learnt = [metrics for metrics in told if metrics["grad_norm"] > 0]
    assert all(math.isfinite(value) for metrics in told for value in metrics.values())
    assert learnt
    assert learnt[0]["log_ratio"] < 1e-4
    assert not compiled
    assert any(
        (a != b).any() for a, b in zip(*map(jax.tree.leaves, (before, state.learner.params)), strict=True)
    )


def test_what_does_not_fit_is_refused(talker: Agent) -> None:
    short = tiny.make_learner(talker)
    with pytest.raises(
        ValueError, match=f"the last, {tiny.LENGTH}, does not hold a conversation of {10 * TURN}"
    ):
        tiny.make_trainer(talker, short)
    few = tiny.make_learner(talker, answer_tokens=100)
    few.lengths = CAPACITIES
    with pytest.raises(ValueError, match="answer_tokens: 100 do not hold a conversation's 10 replies of 12"):
        tiny.make_trainer(talker, few)


def test_a_row_moves_as_a_whole() -> None:
    row = PromptRow(np.arange(2), np.zeros((3, 2), int), np.full(2, -1), 5)
    moved = row.moved(7)
    assert (moved.next_position, moved.positions.tolist()) == (12, [[7, 7]] * 3)
    assert row.next_position == 5
