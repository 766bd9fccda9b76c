"""Tokens of a conversation: prompts from texts, with a picture or without, replies back to text.

Tokenizer and chat template come from the checkpoint's directory. The template is rendered once; a prompt is
then its fixed head (with the picture), the tokens of the text, and its fixed tail. Special tokens bound both
parts, so joining tokens never differs from tokenising the joined string.

A conversation goes on from the very tokens that were sampled, which are never tokenised again. It may differ
from what the template would render of the whole only where that takes something back, as Qwen3's hybrid
models do with the (empty) thoughts of earlier turns.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from train.policy.config import PolicyConfig
from train.policy.errors import PolicyError
from train.policy.positions import mrope_positions

PLACEHOLDER, REPLY = "TEXT-GOES-HERE", "REPLY-GOES-HERE"
WORTH_SHARING = 16  # tokens


@dataclass(frozen=True)
class PromptRow:
    """One prompt, or one more turn of a conversation, with one picture or none. `image_slots` counts its
    visual tokens from 0, -1 at text."""

    tokens: np.ndarray  # int32[P]
    positions: np.ndarray  # int32[3, P]
    image_slots: np.ndarray  # int32[P]
    next_position: int

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def pictured(self) -> bool:
        return bool(self.image_slots.max(initial=-1) >= 0)

    def moved(self, by: int) -> "PromptRow":
        """The same tokens, so many positions further on."""
        return replace(self, positions=self.positions + by, next_position=self.next_position + by)


class Chat:
    """The tokenizer of a checkpoint directory, for pictures of `canvas` pixels a side.

    Without `pictured` a user's turn is its text alone. A model without a vision tower has no other. Every
    reply begins with `prefix`, which is part of the prompt's tokens: the model only goes on from there.
    """

    def __init__(
        self,
        directory: str | Path,
        config: PolicyConfig,
        canvas: int,
        pictured: bool = True,
        prefix: str = "",
    ) -> None:
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
        if pictured and config.vision is None:
            raise PolicyError(
                f"{directory}: a {config.family.model_type} model sees no pictures; use --observation text"
            )
        self.grids, self.image_token = [], -1
        if pictured and config.vision is not None and config.pictures is not None:
            per_token = config.vision.pixels_per_token
            if canvas % per_token:
                raise PolicyError(f"canvas: {canvas} is not a multiple of the {per_token} pixels of a token")
            self.grids = [(canvas // per_token, canvas // per_token)]
            self.image_token = config.pictures.image_token_id
        head, tail = self._template()
        self.prefix, self.tail = prefix, np.append(tail, np.array(self._encode([prefix])[0], np.int32))
        self.head = self._lead(head)
        self.end, ends = self._ends(Path(directory))
        self.stop = self._mask(config, ends)
        special = self._mask(config, self.tokenizer.convert_tokens_to_ids(self.tokenizer.all_special_tokens))
        known = np.arange(config.text.vocab_size) < len(self.tokenizer)
        self.allowed = known & (~special | self.stop)

    @property
    def shared(self) -> int:
        """Tokens before any picture that all prompts begin with; 0 where so few that they are not worth a
        reading of their own."""
        before = len(self.head) if not self.grids else int(np.argmax(self.head.image_slots >= 0))
        return before if before >= WORTH_SHARING else 0

    def prompts(self, texts: Sequence[str]) -> list[PromptRow]:
        """A user's turn of a text, after the picture if there is one, up to where the assistant speaks."""
        return [self._row(self.head, ids) for ids in self._encode(texts)]

    def next_prompts(
        self, texts: Sequence[str], before: Sequence[PromptRow], said: Sequence[np.ndarray]
    ) -> list[PromptRow]:
        """The user's next turn of conversations whose last turn was the prompt `before` and the tokens
        `said` int32[n]. It begins with what the template puts after a reply; one that the length limit cut
        is ended first."""
        return [
            self._row(self.between if reply[-1] == self.end else self.closing, ids).moved(
                last.next_position + len(reply)
            )
            for ids, last, reply in zip(self._encode(texts), before, said, strict=True)
        ]

    @cached_property
    def closing(self) -> PromptRow:
        """What stands between a reply that has not ended and the text of the user's next turn."""
        turn = self._user_turn()
        rendered = self._render([*turn, {"role": "assistant", "content": REPLY}, *turn])
        between = rendered.partition(REPLY)[2].partition(PLACEHOLDER)[0]
        tokens = self._encode([between])[0]
        if tokens[:1] != [self.end]:
            raise PolicyError("the chat template does not end a reply with the tokenizer's eos_token")
        return self._lead(self._with_picture(tokens))

    @cached_property
    def between(self) -> PromptRow:
        """The same after a reply that has ended."""
        return self._lead(self.closing.tokens[1:])

    def replies(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Tokens int32[] of whole replies after the prefix, with the end of turn."""
        rest = [text.removeprefix(self.prefix) for text in texts]
        return [np.array([*ids, self.end], np.int32) for ids in self._encode(rest)]

    def decode(self, tokens: np.ndarray, lengths: np.ndarray) -> list[str]:
        """Whole replies of sampled rows int32[B, M]: the prefix and their text without special tokens."""
        rows = [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)]
        texts = self.tokenizer.backend_tokenizer.decode_batch(rows, skip_special_tokens=True)
        return [self.prefix + text for text in texts]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self.tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _lead(self, tokens: np.ndarray) -> PromptRow:
        """What stands before a text, with the picture if there is one, from position 0 on."""
        is_image = tokens == self.image_token
        positions, following = mrope_positions(is_image, self.grids)
        slots = np.where(is_image, np.cumsum(is_image) - 1, -1).astype(np.int32)
        return PromptRow(tokens, positions, slots, int(following))

    def _row(self, lead: PromptRow, ids: list[int]) -> PromptRow:
        after = np.concatenate([np.array(ids, np.int32), self.tail])
        n = len(after)
        positions = np.broadcast_to(lead.next_position + np.arange(n, dtype=np.int32), (3, n))
        return PromptRow(
            np.concatenate([lead.tokens, after]),
            np.concatenate([lead.positions, positions], axis=1),
            np.concatenate([lead.image_slots, np.full(n, -1, np.int32)]),
            lead.next_position + n,
        )

    def _template(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens before and after the text of a user's turn; those of the picture are before it."""
        rendered = self._render(self._user_turn())
        if rendered.count(PLACEHOLDER) != 1:
            raise PolicyError("the chat template does not place the text of a message once")
        head, tail = self._encode(rendered.split(PLACEHOLDER))
        return self._with_picture(head), np.array(tail, np.int32)

    def _user_turn(self) -> list[dict[str, Any]]:
        content: Any = PLACEHOLDER
        if self.grids:
            content = [{"type": "image"}, {"type": "text", "text": PLACEHOLDER}]
        return [{"role": "user", "content": content}]

    def _render(self, messages: list[dict[str, Any]]) -> str:
        return self.tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,  # else Qwen3's hybrid models think aloud; other templates ignore it
        )

    def _with_picture(self, tokens: list[int]) -> np.ndarray:
        """The one image token of the template becomes the visual tokens of a picture."""
        if not self.grids:
            return np.array(tokens, np.int32)
        if tokens.count(self.image_token) != 1:
            raise PolicyError("the chat template does not place one image token (config: image_token_id)")
        at, (rows, cols) = tokens.index(self.image_token), self.grids[0]
        return np.array([*tokens[:at], *[self.image_token] * (rows * cols), *tokens[at + 1 :]], np.int32)

    def _ends(self, directory: Path) -> tuple[int, list[int]]:
        """The token that ends a turn, and all that stop a reply: those of generation_config.json too."""
        end = self.tokenizer.eos_token_id
        if end is None:
            raise PolicyError(f"{directory}: the tokenizer has no eos_token; add it to tokenizer_config.json")
        file = directory / "generation_config.json"
        more = json.loads(file.read_text()).get("eos_token_id") if file.is_file() else None
        more = [more] if isinstance(more, int) else more or []
        return end, [end, *more]

    def _mask(self, config: PolicyConfig, ids: Sequence[int]) -> np.ndarray:
        mask = np.zeros(config.text.vocab_size, bool)
        mask[list(ids)] = True
        return mask
