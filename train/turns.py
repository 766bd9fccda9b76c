"""One turn of the policy: how its reply is sampled, and what is kept of it."""

import re
from dataclasses import dataclass

import numpy as np

from jaxenv.answers import CLOSE, OPEN
from train.policy.chat import PromptRow


@dataclass(frozen=True)
class ActorConfig:
    """How answers are sampled."""

    max_new_tokens: int = 48
    """Tokens of one reply at most."""
    temperature: float = 1.0
    """Sampling temperature while training; evaluation is greedy and sampled."""
    rows: int = 32
    """Replies sampled in one generation call."""
    prompts: int = 16
    """Different prompts read in one generation call."""
    prefix: str = ""
    """What every reply begins with, as part of the prompt: `<answer>` helps models that forget the tags."""
    prompt_buckets: tuple[int, ...] = ()
    """Padded prompt lengths, in tokens; by default they are measured on the environments."""


_ANSWER = re.compile(f".*{OPEN}(.*?){CLOSE}", re.DOTALL)

Seen = tuple[str, bytes]
"""A prompt's text and its picture's bytes, none where the policy is shown no pictures."""


@dataclass(frozen=True)
class Turn:
    """One answered prompt: of batch row `row`, with the sampled tokens int32[n] and log-probabilities. In a
    conversation the prompt is what was new in this turn. The picture `pixels` is kept for replays also where
    the policy was not shown it; `features` is what it was shown instead of pixels (`train.eyes`)."""

    row: int
    prompt: PromptRow
    text: str
    pixels: np.ndarray
    tokens: np.ndarray
    logprobs: np.ndarray
    reply: str
    features: np.ndarray | None = None

    @property
    def shown(self) -> np.ndarray:
        return self.pixels if self.features is None else self.features

    @property
    def seen(self) -> Seen:
        return self.text, self.pixels.tobytes() if self.prompt.pictured else b""


def answer_in(reply: str) -> str | None:
    """What a reply says between its last answer tags; None where it has none."""
    found = _ANSWER.match(reply)
    return found[1] if found else None
