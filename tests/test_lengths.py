"""Padded lengths measured on the environments hold what is played later."""

import itertools

import numpy as np
import pytest
import tiny

from jaxenv import text
from train.agent import Agent
from train.lengths import MARGIN, STEP, least_padding, prompt_buckets


def longest(agent: Agent, harness: int, scale: int) -> int:
    view, _ = agent.mixture.reset(tiny.reset_keys(5), tiny.level(harness, scale))
    return max(len(row) for row in agent.chat.prompts(text.decode_batch(view.prompt)))


def test_they_hold_the_prompts_of_every_level(agent: Agent) -> None:
    buckets = prompt_buckets(agent.chat, agent.mixture, 1)
    assert list(buckets) == sorted(set(buckets))
    assert len(buckets) <= 5
    assert all(size % STEP == 0 for size in buckets)
    lengths = {(h, s): longest(agent, h, s) for h in range(5) for s in (0, 1)}
    assert max(lengths.values()) <= buckets[-1] <= max(lengths.values()) + 2 * (MARGIN + STEP)
    assert buckets[0] < min(lengths[0, s] for s in (0, 1))  # there is one for texts that are taken away


def test_larger_boards_need_longer_ones(agent: Agent) -> None:
    small, large = (prompt_buckets(agent.chat, agent.mixture, scale) for scale in (0, 2))
    assert large[-1] > small[-1]
    assert prompt_buckets(agent.chat, agent.mixture, 9) == large  # no environment has more scales than three


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_no_other_lengths_pad_less(count: int) -> None:
    rng = np.random.default_rng(count)
    lengths = rng.integers(1, 9, (5, 4)) * STEP
    sizes = np.unique(lengths)

    def padded(edges: tuple[int, ...]) -> int:
        return np.array(edges)[np.searchsorted(edges, lengths)].sum()

    found = least_padding(lengths, count)
    others = itertools.combinations(sizes[:-1], min(count, len(sizes)) - 1)
    assert list(found) == sorted(set(found))
    assert len(found) == min(count, len(sizes))
    assert found[-1] == sizes[-1]
    assert padded(found) == min(padded((*other, sizes[-1])) for other in others)


def test_the_same_every_time(agent: Agent) -> None:
    assert prompt_buckets(agent.chat, agent.mixture, 0) == prompt_buckets(agent.chat, agent.mixture, 0)
