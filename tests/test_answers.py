"""Answer grammars and tags against plain-Python references."""

import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxenv import answers, text
from jaxenv.answers import Coordinates, DigitGrid, Digits, Grammar, LabelledMoves, Moves, Numbers, Word
from jaxenv.text import Text

CAPACITY = 64
MOVES = ("up", "down", "left", "right")
Answer = list[Any] | int | None  # an action, None when there is none


def tokens(string: str) -> list[str]:
    return [token for token in re.split(r"[ ,;\n\r\t]+", string) if token]


def lower(string: str) -> str:
    """Lower case of ASCII letters only, as the grammars have it."""
    return re.sub("[A-Z]", lambda letter: letter[0].lower(), string)


def padded(values: list[int], limit: int) -> list[int]:
    return values + [-1] * (limit - len(values))


def read_word(string: str) -> Answer:
    found = [lower(token) for token in tokens(string)]
    return MOVES.index(found[0]) if len(found) == 1 and found[0] in MOVES else None


def read_moves(string: str) -> Answer:
    found = [lower(token) for token in tokens(string)]
    valid = 1 <= len(found) <= 3 and all(token in MOVES for token in found)
    return padded([MOVES.index(token) for token in found], 3) if valid else None


def read_numbers(string: str, limit: int = 3, high: int = 20) -> Answer:
    found = tokens(string)
    digits = len(str(high))
    numeric = all(re.fullmatch(f"[0-9]{{1,{digits}}}", token) for token in found)
    valid = 1 <= len(found) <= limit and numeric and all(int(token) <= high for token in found)
    return padded([int(token) for token in found], limit) if valid else None


def read_digits(string: str, limit: int = 6) -> Answer:
    found = "".join(tokens(string))
    return padded([int(d) for d in found], limit) if re.fullmatch(f"[0-9]{{1,{limit}}}", found) else None


def read_digit_grid(string: str, side: int = 3) -> Answer:
    found = "".join(tokens(string))
    n = round(len(found) ** 0.5)
    if not re.fullmatch("[0-9]+", found) or n * n != len(found) or n > side:
        return None
    rows = [padded([int(d) for d in found[r * n : (r + 1) * n]], side) for r in range(n)]
    return rows + [[-1] * side] * (side - n)


def read_coordinates(string: str) -> Answer:
    numbers = read_numbers(re.sub("[()]", " ", string), 2, 12)
    if not isinstance(numbers, list) or not (1 <= numbers[0] <= 6 and 1 <= numbers[1] <= 12):
        return None
    return [numbers[0] - 1, numbers[1] - 1]


def read_labelled(string: str) -> Answer:
    """Lines `A0: UP, LEFT` of labels A0 and B1, up to three words each."""
    gap, word, lines = "[ \\t\\r]*", "(?:up|down|left|right)", {}
    pattern = re.compile(f"{gap}(a0|b1){gap}:({gap}{word}{gap}(?:,{gap}{word}{gap}){{,2}})")
    for line in lower(string).split("\n"):
        found = pattern.fullmatch(line)
        if line.strip(" \t\r") and (not found or found[1] in lines):
            return None
        if found:
            lines[found[1]] = [MOVES.index(word) for word in tokens(found[2])]
    return [padded(lines.get(label, []), 3) for label in ("a0", "b1")] if lines else None


REFERENCES: dict[Grammar, Callable[[str], Answer]] = {
    Word(MOVES): read_word,
    Moves(MOVES, 3): read_moves,
    Numbers(3, 20): read_numbers,
    Digits(6): read_digits,
    DigitGrid(3): read_digit_grid,
    Coordinates(6, 12): read_coordinates,
    LabelledMoves(("A0", "B1"), tuple(map(str.upper, MOVES)), 3): read_labelled,
}
every_grammar = pytest.mark.parametrize("grammar", REFERENCES, ids=lambda grammar: type(grammar).__name__)
PIECES = (
    *MOVES,
    "UP",
    "Left",
    "1",
    "2",
    "12",
    "20",
    "21",
    "007",
    "0",
    " ",
    " ",
    ",",
    "\n",
    "(",
    ")",
    "x",
    "ä",
)
LINE_PIECES = ("A0:", "\nA0: ", "b1 : ", "\nB1:", "up", "LEFT", ", ", ",down", "\n", " ", "x")
EXAMPLES = {
    Word: (
        ["up", " UP\n", "right,", ";Down\t"],
        ["", " ", "upp", "u", "up down", "up.", "rightright", "up\0"],
    ),
    Moves: (
        ["up", "up left", "UP,Left;down", "\nright\n\nright "],
        ["", "up up up up", "up x", "x", "upup", "up left-"],
    ),
    Numbers: (["7", "0 20", "1, 2,3", "00", "07"], ["", "21", "-1", "1 2 3 4", "1.5", "123", "a", "1e1"]),
    Digits: (["123", "1 2 3", "1,2;3\n456", "0"], ["", "1234567", "12a", "-1", "1.2"]),
    DigitGrid: (["12\n34", "1234", "7", "123 456 789"], ["", "12", "123", "12\n3x", "1" * 16, "1" * 64]),
    Coordinates: (
        ["2 3", "(2, 3)", "6,12", "((1))1"],
        ["", "0 1", "7 1", "1 13", "1", "1 1 1", "-1 1", "[1 1]"],
    ),
    LabelledMoves: (
        ["A0: UP", "\n b1 :up,LEFT ,right\r\n\n A0:\tdown\n", "A0: UP, UP\nB1: DOWN", "b1:up"],
        [
            *("", "A0", "A0:", "UP", "A0 UP", "A0: UP DOWN", "A0: UP,", "A0:, UP", "A0: UP; UP", "A0: UP;"),
            *("A0:: UP", "A0: UP B1: UP", "A0:\nUP", "A0: UP,\nUP", "A0: UP\nA0: UP", "A0: UP, UP, UP, UP"),
            *("A0: JUMP", "C2: UP", "A0: UP\n:", "A0: UP: UP", "A0\nB1: UP", "A0: UP\n, UP", "A0: B1: UP"),
        ],
    ),
}


@functools.cache
def compiled(grammar: Grammar) -> Any:
    return jax.jit(jax.vmap(grammar.parse))


def parse_all(grammar: Grammar, strings: list[str]) -> list[Answer]:
    """The actions of many answers, None for those that are not valid."""
    actions, valid = compiled(grammar)(text.encode_batch(strings, CAPACITY))
    return [a if ok else None for a, ok in zip(np.asarray(actions).tolist(), valid.tolist(), strict=True)]


def random_answers(count: int) -> list[str]:
    noise = np.random.default_rng(0)
    strings = ["".join(noise.choice(PIECES, noise.integers(0, 7))) for _ in range(count)]
    strings += ["".join(noise.choice(list("0123456789 \n"), noise.integers(0, 12))) for _ in range(count)]
    strings += ["".join(noise.choice(LINE_PIECES, noise.integers(0, 9))) for _ in range(count)]
    return [string for string in strings if len(string.encode()) <= CAPACITY]


@every_grammar
def test_examples(grammar: Grammar):
    good, bad = EXAMPLES[type(grammar)]
    assert parse_all(grammar, good) == [REFERENCES[grammar](string) for string in good]
    assert None not in parse_all(grammar, good)
    assert parse_all(grammar, bad) == [None] * len(bad)


@every_grammar
def test_random_answers_as_the_reference_reads_them(grammar: Grammar):
    strings = random_answers(1000)
    wanted = [REFERENCES[grammar](string) for string in strings]
    assert parse_all(grammar, strings) == wanted
    assert 10 < sum(answer is not None for answer in wanted) < len(wanted) - 10


@every_grammar
def test_actions_are_in_range_whatever_the_bytes(grammar: Grammar):
    noise = np.random.default_rng(1)
    data = noise.integers(0, 256, (1000, CAPACITY), dtype=np.uint8)
    lengths = noise.integers(0, CAPACITY + 1, 1000).astype(np.int32)
    data[np.arange(CAPACITY) >= lengths[:, None]] = 0
    actions, valid = compiled(grammar)(Text(jnp.asarray(data), jnp.asarray(lengths)))
    samples = jax.vmap(grammar.sample)(jax.random.split(jax.random.key(0), 1000))
    assert (actions.shape, actions.dtype, valid.dtype) == (samples.shape, jnp.int32, jnp.bool_)
    assert actions.min() >= -1
    assert actions.max() <= samples.max()


@every_grammar
def test_format_and_parse_are_inverse(grammar: Grammar):
    samples = jax.vmap(grammar.sample)(jax.random.split(jax.random.key(2), 500))
    spoken = jax.jit(jax.vmap(grammar.format))(samples)
    assert spoken.length.max() <= grammar.capacity
    strings = text.decode_batch(spoken)
    assert parse_all(grammar, strings) == np.asarray(samples).tolist()
    assert [REFERENCES[grammar](string) for string in strings] == np.asarray(samples).tolist()
    assert len(set(strings)) > 3


@every_grammar
def test_the_host_agrees_with_jit(grammar: Grammar):
    strings = [*EXAMPLES[type(grammar)][0][:2], *EXAMPLES[type(grammar)][1][:2]]
    for string, wanted in zip(strings, parse_all(grammar, strings), strict=True):
        action, valid = grammar.parse(text.encode(string, CAPACITY))
        assert (np.asarray(action).tolist() if valid else None) == wanted


# --- tags -----------------------------------------------------------------------------------------------


def read_tags(reply: str) -> str | None:
    """The text between the last closing tag and the last opening tag before it."""
    close = reply.rfind(answers.CLOSE)
    start = reply.rfind(answers.OPEN, 0, max(close, 0))
    return None if close < 0 or start < 0 else reply[start + len(answers.OPEN) : close]


_extract = jax.jit(jax.vmap(answers.extract))


def extract_all(replies: list[str], capacity: int = CAPACITY) -> list[str | None]:
    found, tagged = _extract(text.encode_batch(replies, capacity))
    return [s if ok else None for s, ok in zip(text.decode_batch(found), tagged.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("<answer>up</answer>", "up"),
        ("I think <answer>up</answer> is best", "up"),
        ("<answer>up</answer><answer>down</answer>", "down"),
        ("<answer>up</answer> or <answer>down", "up"),
        ("<answer>up<answer>down</answer>", "down"),
        ("<answer>a<answer>b</answer>c</answer>", "b</answer>c"),
        ("<answer></answer>", ""),
        ("<answer>up", None),
        ("up</answer>", None),
        ("</answer><answer>", None),
        ("</answer>up<answer>", None),
        ("<Answer>up</Answer>", None),
        ("< answer>up</answer>", None),
        ("<answer>up</answer", None),
        ("<<answer>>up<</answer>>", ">up<"),
        ("", None),
    ],
)
def test_tags(reply: str, wanted: str | None):
    assert extract_all([reply]) == [wanted]


def test_tags_at_the_edges_of_the_buffer():
    exact = "<answer>" + "x" * (CAPACITY - 17) + "</answer>"
    assert len(exact) == CAPACITY
    assert extract_all([exact, "y" + exact[1:], exact[:-1]]) == ["x" * (CAPACITY - 17), None, None]
    assert extract_all(["<answer>"], 8) == [None]
    assert extract_all(["<ans"], 4) == [None]


def test_bytes_after_the_length_do_not_count():
    reply = text.encode("<answer>up</answer>", CAPACITY)
    found, tagged = answers.extract(Text(reply.data, jnp.int32(18)))
    assert not tagged
    assert text.decode(found) == ""


def test_random_replies_as_the_reference_reads_them():
    noise = np.random.default_rng(3)
    pieces = ("<answer>", "</answer>", "<answer", "/answer>", "up", " ", "<", ">")
    replies = ["".join(noise.choice(pieces, noise.integers(0, 7))) for _ in range(1500)]
    wanted = [read_tags(reply) for reply in replies]
    assert extract_all(replies) == wanted
    assert sum(answer is not None for answer in wanted) > 100


def test_wrapping_an_answer_gives_just_this_answer():
    for answer in ("", "up", "1 2"):
        assert extract_all([text.decode(answers.wrap(text.encode(answer, 8)))]) == [answer]
