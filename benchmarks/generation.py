"""Tokens a second of our generation beside transformers': `python -m benchmarks.generation MODEL`.

The same weights in float32, the same prompts of the environments in words, greedy, so many new tokens for
every row (neither side may stop early), on the CPU. Both are warm first and then take turns, of which each
begins with a call that does not count, since the other side has left its weights in the caches and its
threads spinning; a time includes the prompt and everything up to the tokens on the host, but no tokenizer.
Needs the `bench` extra.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from jaxenv import text
from jaxenv.environment import Level
from train.agent import SMALL_POLICY, Agent, make_agent
from train.batches import NO_PICTURES, prompt_batch
from train.policy.chat import PromptRow
from train.policy.generate import generate_jit
from train.turns import ActorConfig


@dataclass(frozen=True)
class GenerationConfig:
    """Tokens a second, ours and transformers'."""

    model: tyro.conf.Positional[str] = str(SMALL_POLICY)
    """Checkpoint directory, or a model's id on the Hugging Face Hub."""
    env_set: str = "frozen_lake"
    """Environments whose prompts are answered."""
    batches: tuple[int, ...] = (1, 8, 32)
    """Rows answered at a time."""
    new_tokens: int = 64
    """Tokens of every reply."""
    repeats: int = 5
    """Measurements of each; the table shows the medians."""


def main(config: GenerationConfig) -> None:
    """Measures both sides at every batch size and prints a table."""
    agent = make_agent(config.model, config.env_set, max(config.batches), 96, ActorConfig(), "text")
    rows = _prompts(agent)
    table = Table("rows", "ours, tokens/s", "transformers, tokens/s", "ratio")
    for size in config.batches:
        chosen = rows[:size]
        sides = [_ours(agent, chosen, config.new_tokens), _theirs(agent, chosen, config.new_tokens)]
        same = [side() for side in sides]  # warm
        agree = np.mean([a == b for a, b in zip(*(tokens.ravel() for tokens in same), strict=True)])
        times: list[list[float]] = [[], []]
        for _ in range(config.repeats):
            for side, spent in zip(sides, times, strict=True):
                side()
                started = time.perf_counter()
                side()
                spent.append(time.perf_counter() - started)
        ours, theirs = (size * config.new_tokens / statistics.median(spent) for spent in times)
        table.add_row(str(size), f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}")
        print(f"{size} rows: {100 * agree:.0f} % of the tokens are the same")
    Console().print(table)


def _prompts(agent: Agent) -> list[PromptRow]:
    """Different instances' first prompts, one a row."""
    shape = (len(agent.mixture.envs), agent.mixture.slots)
    level = Level(np.zeros(shape, np.int32), np.zeros(shape, np.int32))  # type: ignore[arg-type]
    view, _ = agent.mixture.reset(jax.random.split(jax.random.key(0), shape), level)
    return agent.chat.prompts(text.decode_batch(view.prompt))


def _ours(agent: Agent, rows: list[PromptRow], new_tokens: int) -> Callable[[], np.ndarray]:
    vocabulary = agent.policy.config.text.vocab_size
    prompt = prompt_batch(rows, NO_PICTURES, len(rows), max(map(len, rows)), agent.chat.shared)
    call = partial(
        generate_jit,
        agent.policy.graphdef,
        agent.policy.params,
        prompt,
        np.arange(len(rows), dtype=np.int32),
        jax.random.split(jax.random.key(0), len(rows)),
        max_new_tokens=new_tokens,
        temperature=np.float32(0),
        allowed=np.ones(vocabulary, bool),
        stop=np.zeros(vocabulary, bool),
    )
    return lambda: np.asarray(call().tokens)


def _theirs(agent: Agent, rows: list[PromptRow], new_tokens: int) -> Callable[[], np.ndarray]:
    import torch  # pyright: ignore[reportMissingImports]
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    kind = AutoModelForImageTextToText if agent.policy.config.family.sees else AutoModelForCausalLM
    model = kind.from_pretrained(agent.directory, dtype=torch.float32).eval()
    width = max(map(len, rows))
    pad = np.array([np.pad(row.tokens, (width - len(row), 0)) for row in rows])
    mask = np.array([np.arange(width) >= width - len(row) for row in rows])
    inputs = {"input_ids": torch.from_numpy(pad).long(), "attention_mask": torch.from_numpy(mask).long()}

    def call() -> np.ndarray:
        with torch.inference_mode():
            out = model.generate(
                **inputs, max_new_tokens=new_tokens, min_new_tokens=new_tokens, do_sample=False,
                eos_token_id=None, pad_token_id=0,
            )  # fmt: skip
        return out[:, width:].numpy()

    return call


if __name__ == "__main__":
    main(tyro.cli(GenerationConfig, description=main.__doc__))
