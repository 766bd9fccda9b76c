"""countdown against Python's own arithmetic and reasoning-gym."""

import ast
import operator
import re
from fractions import Fraction

import jax
import numpy as np
import play
import pytest
from reasoning_gym.games.countdown import CountdownConfig, CountdownDataset

import jaxenv
from jaxenv import answers, text
from jaxenv.text import Text

ENV = jaxenv.make("countdown")[0]
COUNTS, HIGHS = (3, 4, 6), (9, 20, 50)
STEPS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def value(expression: str) -> int | None:
    """By Python's grammar; None when a division leaves a remainder or a value is over a billion."""

    def of(node: ast.expr) -> Fraction:
        if isinstance(node, ast.Constant):
            return Fraction(node.value)
        assert isinstance(node, ast.BinOp)
        result = STEPS[type(node.op)](of(node.left), of(node.right))
        if result.denominator != 1 or abs(result) > 10**9:
            raise ArithmeticError
        return result

    try:
        return int(of(ast.parse(expression, mode="eval").body))
    except ArithmeticError:
        return None


def numbers_in(expression: str) -> list[int]:
    return sorted(map(int, re.findall(r"\d+", expression)))


def random_expression(rng: np.random.Generator, numbers: list[int]) -> str:
    """Of all the numbers in this order, with some parentheses, needed or not."""
    if len(numbers) == 1:
        return str(numbers[0])
    at = int(rng.integers(1, len(numbers)))
    blank = " " * int(rng.integers(2))
    parts = [random_expression(rng, part) for part in (numbers[:at], numbers[at:])]
    joined = f"{parts[0]}{blank}{'+-*/'[rng.integers(4)]}{blank}{parts[1]}"
    return f"({joined})" if rng.random() < 0.4 else joined


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """(states, numbers, expert's expressions)"""
    states = play.instances(ENV, request.param)
    count = COUNTS[request.param]
    assert (states.numbers[:, count:] == 0).all()
    numbers = states.numbers[:, :count].tolist()
    assert (np.min(numbers), np.max(numbers)) == (1, HIGHS[request.param])
    spoken = jax.jit(jax.vmap(ENV.grammar.format))(play.experts(ENV, states))
    return states, numbers, text.decode_batch(Text(np.asarray(spoken.data), np.asarray(spoken.length)))


def test_every_instance_is_solvable_and_they_differ(batch):
    states, numbers, expressions = batch
    targets = states.target.tolist()
    for expression, shown, target in zip(expressions, numbers, targets, strict=True):
        assert numbers_in(expression) == sorted(shown)
        assert value(expression) == target
        assert 1 <= target <= 999
    signs = "".join(expressions)
    assert min(signs.count(sign) for sign in "+-*") > 300
    assert signs.count("/") > 30
    assert play.distinct(states) > (1800 if len(numbers[0]) == 3 else 1990)


def test_expert_is_a_success(batch):
    states, _, _ = batch
    legal, reward = play.judge(ENV, states, play.experts(ENV, states))
    assert legal.all()
    assert (reward == 1).all()


def test_expressions_are_read_as_python_reads_them(batch):
    """Random expressions of the numbers, with the value they have as the target, or another."""
    states, numbers, _ = batch
    rng = np.random.default_rng(0)
    tries = [random_expression(rng, list(rng.permutation(shown))) for shown in numbers[: play.SOME]]
    values = [value(expression) for expression in tries]
    off = rng.integers(2, size=len(tries))
    targets = [by if found is None else found + by for found, by in zip(values, off.tolist(), strict=True)]
    some = play.first(states, play.SOME).replace(target=np.array(targets, np.int32))
    verdict, reward = play.read(ENV, some, tries)
    assert (verdict == answers.ACCEPTED).all()
    wanted = [found is not None and by == 0 for found, by in zip(values, off, strict=True)]
    np.testing.assert_array_equal(reward, wanted)
    assert 0 < values.count(None) < 150
    assert sum(wanted) > 10


def replies(shown: list[int], expression: str) -> dict[str, int]:
    """Answers to one instance and what is said of them."""
    a, b, *rest = map(str, shown)
    tail = "".join(f"+{number}" for number in rest)
    other = next(number for number in range(1, 50) if number not in shown)
    return {
        f"{a}+{b}{tail}+{b}": answers.ILLEGAL,
        f"{a}+{other}{tail}": answers.ILLEGAL,
        f"{a}{tail}": answers.ILLEGAL,
        f"{a} {b}{tail}": answers.ILLEGAL,
        f"{a}+{b}{tail}+": answers.ILLEGAL,
        f"-{a}+{b}{tail}": answers.ILLEGAL,
        f"({a}+{b}{tail}": answers.ILLEGAL,
        f"{a}+{b}){tail}": answers.ILLEGAL,
        f"){a}+{b}{tail}(": answers.ILLEGAL,
        f"({a})({b}){tail}": answers.ILLEGAL,
        f"()+{a}+{b}{tail}": answers.ILLEGAL,
        f"{a}+*{b}{tail}": answers.ILLEGAL,
        f"(({a})+\n({b})){tail}": answers.ACCEPTED,
        f"{expression} = 7": answers.NOT_IN_GRAMMAR,
        f"{a}^{b}{tail}": answers.NOT_IN_GRAMMAR,
        f"{a}+{b}+077{tail}": answers.NOT_IN_GRAMMAR,
        f"{a}+{b}+51{tail}": answers.NOT_IN_GRAMMAR,
        f"{a},{b}{tail}": answers.NOT_IN_GRAMMAR,
        "+".join("1" * 13): answers.NOT_IN_GRAMMAR,
        "": answers.NOT_IN_GRAMMAR,
    }


def test_other_numbers_and_broken_expressions_are_refused(batch):
    states, numbers, expressions = batch
    told = [replies(*both) for both in zip(numbers[: play.SOME], expressions, strict=False)]
    asked = [list(told[at].items())[at % len(told[0])] for at in range(play.SOME)]
    verdicts, _ = play.read(ENV, play.first(states, play.SOME), [reply for reply, _ in asked])
    for (reply, verdict), found in zip(asked, verdicts, strict=True):
        assert found == verdict, reply


def test_picture_and_text_show_the_task(batch):
    states, numbers, _ = batch
    some = play.first(states, 50)
    rows = 2 + (len(numbers[0]) > 4)
    for target, shown, picture, words in zip(
        some.target.tolist(), numbers, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        head, *below = [[play.layers(name) for name in row] for row in picture[:rows]]
        assert "target" in head[0]
        assert "".join(name.get("glyph", "") for name in head) == str(target)
        assert [int(name["wood"]) for row in below for name in row if "wood" in name] == shown
        assert words == f"target {target}\nnumbers {' '.join(map(str, shown))}"


@pytest.mark.peer("reasoning-gym", "countdown")
def test_agrees_with_reasoning_gym(batch):
    states, numbers, expressions = batch
    dataset = CountdownDataset(CountdownConfig(size=1, seed=0))
    off = np.random.default_rng(1).integers(2, size=play.SOME).astype(np.int32)
    some = play.first(states, play.SOME)
    some = some.replace(target=some.target + off)
    verdict, reward = play.read(ENV, some, expressions[: play.SOME])
    assert (verdict == answers.ACCEPTED).all()
    for expression, shown, target, paid in zip(
        expressions, numbers, some.target.tolist(), reward, strict=False
    ):
        entry = {"metadata": {"numbers": shown, "target": target}}
        assert (dataset.score_answer(expression, entry) == 1) == (paid == 1)
    np.testing.assert_array_equal(reward, off == 0)
