"""What can be had without looking: the best single answer for all instances."""

from collections import Counter
from functools import partial

import jax
import numpy as np

from jaxenv import text
from jaxenv.environment import Environment, Level
from jaxenv.mixture import Groups, Mixture
from jaxenv.quick_compile import quick_jit
from train.compilation import in_threads

CANDIDATES = 10


def best_fixed_answers(
    mixture: Mixture, key: jax.Array, reset_keys: jax.Array, level: Level, max_turns: jax.Array
) -> np.ndarray:
    """bool[E, slots]: success of the reply that, given at every turn, solves most of these episodes.

    Candidates are the experts' commonest first answers to these same instances, so the baseline is, if
    anything, too good.
    """
    _, groups = mixture.reset(reset_keys, level)
    shape = (len(mixture.envs), mixture.slots)
    expert_keys = jax.random.split(key, shape)
    answers = in_threads(
        partial(_commonest, mixture.envs[e], expert_keys[e], groups[e].episodes) for e in range(shape[0])
    )
    best = np.zeros(shape, bool)
    for c in range(CANDIDATES):
        replies = [ranked[c % len(ranked)] for ranked in answers]
        solved = _play_constant(mixture, key, groups, replies, max_turns)
        better = solved.sum(1) > best.sum(1)
        best[better] = solved[better]
    return best


def _commonest(env: Environment, keys: jax.Array, episodes) -> list[str]:
    replies = quick_jit(jax.vmap(env.expert_text))(keys, episodes)
    return [reply for reply, _ in Counter(text.decode_batch(replies)).most_common(CANDIDATES)]


def _play_constant(
    mixture: Mixture, key: jax.Array, groups: Groups, replies: list[str], max_turns: jax.Array
) -> np.ndarray:
    shape = (len(mixture.envs), mixture.slots)
    rows = [reply for reply in replies for _ in range(mixture.slots)]
    said = text.encode_batch(rows, mixture.reply_capacity)
    success = np.zeros(shape, bool)
    for t in range(mixture.longest(max_turns)):
        keys = jax.random.split(jax.random.fold_in(key, t), shape)
        _, groups, outcome = mixture.step(keys, groups, said, max_turns)
        success |= np.asarray(outcome.success).reshape(shape)
        if bool(np.asarray(outcome.done).all()):
            break
    return success
