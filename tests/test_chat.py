"""Tokens of a conversation: joined parts equal the whole, and nothing is lost on the way back."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tiny

import jaxenv
from jaxenv import text
from jaxenv.environment import Environment, make_params
from train.agent import Agent
from train.compilation import in_threads
from train.policy.chat import Chat
from train.policy.errors import PolicyError
from train.policy.positions import mrope_positions

CORE = jaxenv.env_set("core12")
PAD = "<|image_pad|>"


@pytest.fixture(scope="module")
def chat(fresh: Agent) -> Chat:
    return fresh.chat


@pytest.fixture(scope="module")
def said() -> dict[str, tuple[list[str], list[str]]]:
    """Prompts and expert replies of every environment at every harness level and scale."""

    def both(env: Environment) -> tuple[list[str], list[str]]:
        def one(key: jax.Array, harness: jax.Array, scale: jax.Array):
            episode = env.sample_level(key, make_params(harness, scale))
            return env.prompt(episode), env.expert_text(key, episode)

        harness, scale = (x.reshape(-1) for x in jnp.indices((5, env.num_scales)))
        written = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(7), len(scale)), harness, scale)
        prompts, replies = map(text.decode_batch, written)
        return prompts, replies

    envs = [jaxenv.make(name, canvas=tiny.CANVAS)[0] for name in CORE]
    return dict(zip(CORE, in_threads(partial(both, env) for env in envs), strict=True))


def rendered(chat: Chat, said: str) -> str:
    """The whole conversation as transformers would feed it, the picture as so many pads."""
    content = [{"type": "image"}, {"type": "text", "text": said}]
    whole = chat.tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    return whole.replace(PAD, PAD * (chat.grids[0][0] * chat.grids[0][1]))


@pytest.mark.parametrize("name", CORE)
def test_a_prompt_is_the_tokens_of_the_whole_rendered_string(chat: Chat, said, name: str) -> None:
    for line, row in zip(said[name][0], chat.prompts(said[name][0]), strict=True):
        whole = chat.tokenizer(rendered(chat, line), add_special_tokens=False)["input_ids"]
        assert row.tokens.tolist() == whole
        assert row.tokens.dtype == np.int32


@pytest.mark.parametrize("line", ["", " ", "\n", "a", "é and 漢字", "<answer>", "  two  spaces ", "1234"])
def test_odd_texts_join_just_as_well(chat: Chat, line: str) -> None:
    whole = chat.tokenizer(rendered(chat, line), add_special_tokens=False)["input_ids"]
    assert chat.prompts([line])[0].tokens.tolist() == whole


def test_pictures_have_slots_and_positions(chat: Chat, said) -> None:
    assert chat.grids == [(4, 4)]
    for row in chat.prompts(said["frozen_lake"][0]):
        is_image = row.tokens == chat.image_token
        assert row.image_slots[is_image].tolist() == list(range(16))
        assert set(row.image_slots[~is_image]) == {-1}
        positions, following = mrope_positions(is_image, chat.grids)
        np.testing.assert_array_equal(row.positions, positions)
        assert row.next_position == following == positions.max() + 1


@pytest.mark.parametrize("name", CORE)
def test_replies_come_back_as_they_were(chat: Chat, said, name: str) -> None:
    replies = said[name][1]
    rows = chat.replies(replies)
    assert all(row[-1] == chat.end and chat.allowed[row].all() for row in rows)
    width = max(map(len, rows))
    tokens = np.stack([np.pad(row, (0, width - len(row))) for row in rows])
    assert chat.decode(tokens, np.array([len(row) for row in rows])) == replies


def test_no_texts_make_no_rows(chat: Chat) -> None:
    assert chat.prompts([]) == chat.replies([]) == []


def test_only_text_and_the_ends_may_be_sampled(fresh: Agent, random_model: Path) -> None:
    config = fresh.policy.config
    wide = replace(config, text=replace(config.text, vocab_size=config.text.vocab_size + 50))
    chat = Chat(random_model, wide, tiny.CANVAS)
    known = len(chat.tokenizer)
    ends = chat.tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|im_end|>"])
    special = set(chat.tokenizer.convert_tokens_to_ids(chat.tokenizer.all_special_tokens))
    assert set(np.flatnonzero(chat.stop)) == set(ends)
    assert set(np.flatnonzero(chat.allowed)) == set(range(known)) - special | set(ends)
    assert len(special) == 7
    assert len(chat.allowed) == known + 50


def test_a_tokenizer_larger_than_the_embedding_is_refused(fresh: Agent, random_model: Path) -> None:
    config = fresh.policy.config
    narrow = replace(config, text=replace(config.text, vocab_size=config.text.vocab_size - 1))
    with pytest.raises(PolicyError, match=r"the tokenizer has \d+ tokens, the embedding only"):
        Chat(random_model, narrow, tiny.CANVAS)


@pytest.mark.parametrize("canvas", [72, 8, 100])
def test_a_canvas_that_cuts_a_token_is_refused(fresh: Agent, random_model: Path, canvas: int) -> None:
    with pytest.raises(PolicyError, match=f"canvas: {canvas} is not a multiple of the 16 pixels"):
        Chat(random_model, fresh.policy.config, canvas)


def test_an_image_token_that_is_not_the_templates_is_refused(fresh: Agent, random_model: Path) -> None:
    config = fresh.policy.config
    config = replace(config, pictures=replace(config.pictures, image_token_id=3))
    with pytest.raises(PolicyError, match=r"one image token \(config: image_token_id\)"):
        Chat(random_model, config, tiny.CANVAS)


@pytest.mark.parametrize(
    ("kept", "complaint"),
    [(PAD, "text"), ("{{ part.text }}", "image token"), (PAD * 2 + "{{ part.text }}", "image token")],
)
def test_a_template_without_picture_or_text_is_refused(
    fresh: Agent, random_model: Path, tmp_path: Path, kept: str, complaint: str
) -> None:
    shutil.copytree(random_model, tmp_path, dirs_exist_ok=True)
    template = "{% for message in messages %}{% for part in message.content %}{% if part.type == 'text' %}"
    (tmp_path / "chat_template.jinja").write_text(template + kept + "{% endif %}{% endfor %}{% endfor %}")
    with pytest.raises(PolicyError, match=complaint):
        Chat(tmp_path, fresh.policy.config, tiny.CANVAS)


def test_a_directory_without_tokenizer_is_refused(fresh: Agent, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=f"{tmp_path}: no tokenizer"):
        Chat(tmp_path, fresh.policy.config, tiny.CANVAS)


def test_a_prefix_is_asked_for_and_answered_with(fresh: Agent, random_model: Path, chat: Chat) -> None:
    led = Chat(random_model, fresh.policy.config, tiny.CANVAS, prefix="<answer>")
    whole = led.tokenizer(rendered(led, "Go.") + "<answer>", add_special_tokens=False)["input_ids"]
    row = led.prompts(["Go."])[0]
    assert row.tokens.tolist() == whole
    assert row.next_position == chat.prompts(["Go."])[0].next_position + 1
    (reply,) = led.replies(["<answer>up</answer>"])
    assert len(reply) == len(chat.replies(["<answer>up</answer>"])[0]) - 1
    assert led.decode(reply[None], np.array([len(reply)])) == ["<answer>up</answer>"]
