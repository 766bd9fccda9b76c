"""What a policy is told of its last answers where every turn is a prompt of its own."""

from collections.abc import Sequence
from functools import partial

import jax

from jaxenv import answers, text
from jaxenv.answers import Grammar
from jaxenv.mixture import Mixture
from jaxenv.text import Text
from train.policy.chat import Chat
from train.turns import answer_in

LONGEST = 24  # letters of an answer that are told
REJECTED = " (rejected)"
SAMPLES = 64  # answers of each environment that are measured


def note(reply: str, verdict: int) -> str:
    """What is told of a reply: the answer in its last tags, on one line, and whether it was taken."""
    said = answer_in(reply)
    answer = "none" if said is None else " ".join(said.split())[:LONGEST]
    return answer if verdict == answers.ACCEPTED else answer + REJECTED


def reminder(notes: Sequence[str]) -> str:
    """The line at the end of a prompt's text; none where nothing was said yet."""
    return f"\nYour last answers: {'; '.join(notes)}" if notes else ""


def longest_reminder(chat: Chat, mixture: Mixture, turns: int) -> int:
    """Tokens of the line about so many turns, all rejected, with the longest of a few answers that the
    grammars of the games of several turns have."""
    if not turns:
        return 0
    keys = jax.random.split(jax.random.key(0), SAMPLES)
    said = [
        line[:LONGEST] + REJECTED
        for env in mixture.envs
        if not env.single_turn
        for line in text.decode_batch(jax.jit(jax.vmap(partial(_answer, env.grammar)))(keys))
    ]
    empty, *lines = chat.prompts(["", *(reminder([answer] * turns) for answer in said)])
    return max((len(line) - len(empty) for line in lines), default=0)


def _answer(grammar: Grammar, key: jax.Array) -> Text:
    return grammar.format(grammar.sample(key))
