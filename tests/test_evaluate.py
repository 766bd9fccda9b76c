"""What an evaluation tells about answers, against answers that each grammar writes itself."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import jaxenv
from jaxenv import text
from jaxenv.answers import Moves, Word
from train.evaluate import answer_words, words_used

IN_WORDS = [name for name in jaxenv.ids() if isinstance(jaxenv.make(name)[0].grammar, Word | Moves)]


@pytest.mark.parametrize("name", IN_WORDS)
def test_every_word_that_a_grammar_writes_is_seen(name):
    grammar = jaxenv.make(name)[0].grammar
    actions = jnp.arange(len(grammar.words))
    if isinstance(grammar, Moves):
        actions = jnp.pad(actions[:, None], ((0, 0), (0, grammar.limit - 1)), constant_values=-1)
    written = jax.jit(jax.vmap(grammar.format))(actions)
    replies = [f"<answer>{word}</answer>" for word in text.decode_batch(written)]
    assert [answer_words(reply) for reply in replies] == [{word} for word in grammar.words]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("drop it? <answer>UP, left;\n up</answer> done", {"up", "left"}),
        ("<answer>down</answer> no: <answer>R2 u'</answer>", {"r2", "u'"}),
        ("<answer>B-2</answer>", {"b-2"}),
        ("<answer></answer>", set()),
        ("<Answer>up</Answer>", set()),
        ("up", set()),
        ("<answer>up", set()),
    ],
)
def test_words_are_those_of_the_last_answer(reply, words):
    assert answer_words(reply) == words


def test_words_that_are_never_said_are_named():
    names = ["connect_four", "frozen_lake", "spiral_matrix"]
    envs = [jaxenv.make(name)[0] for name in names]
    agent = SimpleNamespace(names=names, mixture=SimpleNamespace(envs=envs))
    four = {"<answer>4</answer>": 9, "not 3": 1}
    walk = {"left <answer>up</answer>": 1, "<answer>down</answer>": 2}
    everywhere = {f"<answer>{column}</answer>": 1 for column in range(1, 8)}
    said = SimpleNamespace(answers=[four, walk, {}], sampled_answers=[everywhere, walk, {}])
    assert words_used(agent, said) == {
        "connect_four": "1 and 7 of 7 (greedily not 1, 2, 3, 5, 6, 7)",
        "frozen_lake": "2 and 2 of 4 (greedily not left, right; sampled not left, right)",
    }
