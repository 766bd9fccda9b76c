"""Tokens of a conversation: prompts from pictures and texts, replies back to text.

Tokenizer and chat template come from the checkpoint's directory. The template is rendered once; a prompt is
then its fixed head (with the picture), the tokens of the text, and its fixed tail. Special tokens bound both
parts, so joining tokens never differs from tokenising the joined string.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from train.policy.config import PolicyConfig
from train.policy.errors import PolicyError
from train.policy.positions import mrope_positions

PLACEHOLDER = "TEXT-GOES-HERE"
END_OF_TURN, END_OF_TEXT = "<|im_end|>", "<|endoftext|>"


@dataclass(frozen=True)
class PromptRow:
    """One prompt with one picture. `image_slots` counts its visual tokens from 0, -1 at text."""

    tokens: np.ndarray  # int32[P]
    positions: np.ndarray  # int32[3, P]
    image_slots: np.ndarray  # int32[P]
    next_position: int

    def __len__(self) -> int:
        return len(self.tokens)


class Chat:
    """The tokenizer of a checkpoint directory, for pictures of `canvas` pixels a side."""

    def __init__(self, directory: str | Path, config: PolicyConfig, canvas: int) -> None:
        from transformers import AutoTokenizer  # slow to import, and only the trainer needs it

        try:
            self.tokenizer = AutoTokenizer.from_pretrained(str(directory))
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise PolicyError(
                f"{directory}: no tokenizer; copy the whole checkpoint again ({reason})"
            ) from None
        if len(self.tokenizer) > config.text.vocab_size:
            raise PolicyError(
                f"{directory}: the tokenizer has {len(self.tokenizer)} tokens, the embedding only "
                f"{config.text.vocab_size} rows (text_config.vocab_size); use the checkpoint's own tokenizer"
            )
        per_token = config.vision.pixels_per_token
        if canvas % per_token:
            raise PolicyError(f"canvas: {canvas} is not a multiple of the {per_token} pixels of a token")
        self.grid = (canvas // per_token, canvas // per_token)
        head, self.tail = self._template(config)
        is_image = head == self.image_token
        positions, text_starts = mrope_positions(is_image, [self.grid])
        slots = np.where(is_image, np.cumsum(is_image) - 1, -1).astype(np.int32)
        self.head = PromptRow(head, positions, slots, int(text_starts))
        self.stop = self._mask(config, [END_OF_TURN, END_OF_TEXT])
        special = self._mask(config, self.tokenizer.all_special_tokens)
        known = np.arange(config.text.vocab_size) < len(self.tokenizer)
        self.allowed = known & (~special | self.stop)
        self.end = self.tokenizer.convert_tokens_to_ids(END_OF_TURN)

    def prompts(self, texts: Sequence[str]) -> list[PromptRow]:
        """A user's turn with one picture and a text, up to where the assistant speaks."""
        return [self._row(ids) for ids in self._encode(texts)]

    def replies(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Tokens int32[] of whole replies, with the end of turn."""
        return [np.array([*ids, self.end], np.int32) for ids in self._encode(texts)]

    def decode(self, tokens: np.ndarray, lengths: np.ndarray) -> list[str]:
        """Texts of sampled rows int32[B, M], without special tokens."""
        rows = [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)]
        return self.tokenizer.backend_tokenizer.decode_batch(rows, skip_special_tokens=True)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self.tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _row(self, ids: list[int]) -> PromptRow:
        head, after = self.head, np.concatenate([np.array(ids, np.int32), self.tail])
        n = len(after)
        positions = np.broadcast_to(head.next_position + np.arange(n, dtype=np.int32), (3, n))
        return PromptRow(
            np.concatenate([head.tokens, after]),
            np.concatenate([head.positions, positions], axis=1),
            np.concatenate([head.image_slots, np.full(n, -1, np.int32)]),
            head.next_position + n,
        )

    def _template(self, config: PolicyConfig) -> tuple[np.ndarray, np.ndarray]:
        content = [{"type": "image"}, {"type": "text", "text": PLACEHOLDER}]
        rendered = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        if rendered.count(PLACEHOLDER) != 1:
            raise PolicyError("the chat template does not place the text of a message once")
        before, after = rendered.split(PLACEHOLDER)
        head, tail = self._encode([before, after])
        self.image_token = config.image_token_id
        if head.count(self.image_token) != 1:
            raise PolicyError("the chat template does not place one image token (config: image_token_id)")
        at = head.index(self.image_token)
        pictured = [*head[:at], *[self.image_token] * (self.grid[0] * self.grid[1]), *head[at + 1 :]]
        return np.array(pictured, np.int32), np.array(tail, np.int32)

    def _mask(self, config: PolicyConfig, names: Sequence[str]) -> np.ndarray:
        mask = np.zeros(config.text.vocab_size, bool)
        mask[self.tokenizer.convert_tokens_to_ids(list(names))] = True
        return mask
