"""arc_1d against the rules in plain Python, which reads the words, and reasoning-gym's makers of strips."""

import random
from itertools import accumulate, groupby

import numpy as np
import play
import pytest
from reasoning_gym.arc.arc_1d_tasks import ARC_1D_TASKS

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("arc_1d")[0]
LENGTHS, PAIRS = (8, 14, 24), (3, 3, 2)
LAST_OF_KIND = (10, 13, 16, 20)  # rules that move, take away, add and recolour cells
TILES = {
    "paper": "0",
    "coloured:blue": "1",
    "coloured:red": "2",
    "coloured:green": "3",
    "coloured:yellow": "4",
    "plain:backdrop": "-",
    "header glyph:?": "?",
}
THEIRS = {
    0: "move_1pix_solid_right",
    1: "move_2pix_solid_right",
    2: "move_1pix_solid_left",
    3: "move_2pix_solid_left",
    4: "move_1pix_solid_wrapped_right",
    5: "move_2pix_solid_wrapped_right",
    6: "move_1pix_solid_wrapped_left",
    7: "move_2pix_solid_wrapped_left",
    9: "gravity_right",  # to the left, in fact
    10: "gravity_left",
    11: "two_points_and_fill_inv",
    12: "block_and_noise_remove",
    14: "two_points_and_fill",
}


def runs(strip: str) -> list[str]:
    return ["".join(run) for _, run in groupby(strip)]


def longest(strip: str) -> str:
    return max((run for run in runs(strip) if run[0] != "0"), key=len)


def moved(strip: str, by: int) -> str:
    return ("0" * by + strip)[: len(strip)] if by > 0 else strip[-by:] + "0" * -by


def each_run(strip: str, change) -> str:
    return "".join(run if run[0] == "0" else change(run) for run in runs(strip))


def filled_gaps(strip: str) -> str:
    body = strip.rstrip("0")
    return "".join(accumulate(body, lambda old, new: old if new == "0" else new)).ljust(len(strip), "0")


def rewritten(strip: str) -> list[str]:
    """The strip after each rule, in the order of the environment."""
    most, n = longest(strip), len(strip)
    packed = strip.replace("0", "")
    grown = "".join(old if new == "0" else new for old, new in zip("0" + strip, strip, strict=False))
    shrunk = "".join(old if new == "0" else new for old, new in zip(strip[1:] + "0", strip, strict=True))
    return [
        *(moved(strip, by) for by in (1, 2, -1, -2)),
        *(strip[-by:] + strip[:-by] for by in (1, 2, -1, -2)),
        strip[::-1],
        packed.ljust(n, "0"),
        packed.rjust(n, "0"),
        each_run(strip, lambda run: run[0] + "0" * (len(run) - 2) + run[-1] if len(run) > 1 else run),
        each_run(strip, lambda run: run if len(run) > 1 else "0"),
        each_run(strip, lambda run: run if len(run) == len(most) else "0" * len(run)),
        filled_gaps(strip),
        grown,
        shrunk,
        each_run(strip, lambda run: "4" * len(run) if len(run) == len(most) else run),
        each_run(strip, lambda run: "4" + run[1:-1] + "4" if len(run) > 1 else "4"),
        strip.translate(str.maketrans("123", "231")),
        "".join(most[0] if cell != "0" else "0" for cell in strip),
    ]


def padded(strips: list[str]) -> np.ndarray:
    rows = np.array([list(map(int, strip)) for strip in strips])
    return np.pad(rows, ((0, 0), (0, 24 - rows.shape[1])), constant_values=-1)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their pairs, the strip asked for, and which rules fit the pairs."""
    states = play.instances(ENV, request.param)
    n = LENGTHS[request.param]
    puzzles = []
    for words in play.observations(ENV, states):
        *pairs, last = (part.split("\n") for part in words.split("\n" + "-" * n + "\n"))
        assert len(pairs) == PAIRS[request.param]
        assert last[1] == "?" * n
        trials = zip(*([new == after for new in rewritten(before)] for before, after in pairs), strict=True)
        puzzles.append((pairs, last[0], [rule for rule, trial in enumerate(trials) if all(trial)]))
    return states, puzzles


def goal(asked: str, fitting: list[int]) -> str:
    """The one answer of all rules that fit."""
    (answer,) = {rewritten(asked)[rule] for rule in fitting}
    return answer


def test_every_instance_has_one_answer_and_all_rules_occur(batch):
    states, puzzles = batch
    certain, fit = set(), set()
    for pairs, asked, fitting in puzzles:
        assert goal(asked, fitting) != asked
        assert all(before != after for before, after in pairs)
        certain.update(fitting if len(fitting) == 1 else ())
        fit.update(fitting)
    assert fit == set(range(21))
    assert len(certain) >= 19  # two rules are one where all blocks but the longest are single cells
    assert play.distinct(states) > 1990


def test_expert_is_the_answer_and_is_a_success(batch):
    states, puzzles = batch
    actions = padded([goal(asked, fitting) for _, asked, fitting in puzzles])
    np.testing.assert_array_equal(play.experts(ENV, states), actions)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share_of_the_cells_filled_in_either(batch):
    states, puzzles = batch
    tries = [asked for _, asked, _ in puzzles]
    legal, reward = play.judge(ENV, states, padded(tries))
    assert legal.all()
    for (_, asked, fitting), paid in zip(puzzles, reward, strict=True):
        cells = [pair for pair in zip(asked, goal(asked, fitting), strict=True) if pair != ("0", "0")]
        assert paid == pytest.approx(np.mean([said == right for said, right in cells]) / 2)


def test_another_length_and_other_colours_are_illegal(batch):
    states, puzzles = batch
    n = len(puzzles[0][1])
    for wrong in ("0" * (n - 1), "1", "0" * (n - 1) + "5", "9" * n):
        assert not play.judge(ENV, states, np.repeat(padded([wrong]), len(puzzles), 0))[0].any()


def test_hint_is_what_the_rule_does(batch):
    states, puzzles = batch
    for (_, _, fitting), kind in zip(puzzles, states.kind, strict=True):
        assert kind in np.searchsorted(LAST_OF_KIND, fitting)


def test_picture_shows_the_strips(batch):
    states, puzzles = batch
    for (pairs, asked, _), picture in zip(puzzles, play.tiles(ENV, play.first(states, 50)), strict=False):
        rows = [[TILES[name] for name in row[: len(asked)]] for row in picture]
        shown = ["".join(row) for row in rows if "-" not in row][: 2 * len(pairs) + 2]
        assert shown == [*(strip for pair in pairs for strip in pair), asked, "?" * len(asked)]


def test_a_reply_is_digits_with_or_without_spaces(batch):
    states, puzzles = batch
    right = [goal(asked, fitting) for _, asked, fitting in puzzles[: play.SOME]]
    replies = [(answer, " ".join(answer), answer + "x", "")[n % 4] for n, answer in enumerate(right)]
    verdict, reward = play.read(ENV, play.first(states, play.SOME), replies)
    good = np.arange(play.SOME) % 4 < 2
    np.testing.assert_array_equal(verdict == answers.ACCEPTED, good)
    np.testing.assert_array_equal(reward == 1, good)


@pytest.mark.peer("reasoning-gym", "arc_1d")
@pytest.mark.parametrize(("rule", "name"), THEIRS.items())
def test_the_rules_are_those_of_reasoning_gym(rule, name):
    maker, options = ARC_1D_TASKS[name]
    rng = random.Random(0)
    made = (maker(rng, 14, **options) for _ in range(play.SOME))
    for task in filter(None, made):
        before, after = ("".join(map(str, task[end])) for end in ("input", "output"))
        assert rewritten(before)[rule] == after
