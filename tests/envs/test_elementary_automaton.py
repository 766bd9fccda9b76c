"""elementary_automaton against plain Python and cellpylib."""

import cellpylib
import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers

ENV = jaxenv.make("elementary_automaton")[0]
WIDTHS, STEPS = (6, 10, 16), (1, 2, 5)
SOME = 70  # of each scale: cellpylib is slow


def evolved(rule: int, row: list[int], steps: int) -> list[list[int]]:
    """The rows after this one; bit k of Wolfram's number is what becomes of the pattern that reads k."""
    rows = []
    for _ in range(steps):
        words = [
            "".join(map(str, (row[at - 1], row[at], row[(at + 1) % len(row)]))) for at in range(len(row))
        ]
        row = [rule >> int(word, 2) & 1 for word in words]
        rows.append(row)
    return rows


def flat(rows: list[list[int]]) -> np.ndarray:
    cells = [cell for row in rows for cell in row]
    return np.array(cells + [-1] * (80 - len(cells)))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """The states, their rules as Wolfram's numbers, the first rows, and the rows that follow."""
    width, steps = WIDTHS[request.param], STEPS[request.param]
    states = play.instances(ENV, request.param)
    assert (states.width == width).all()
    assert (states.steps == steps).all()
    assert not states.row[:, width:].any()
    rules = (states.rule * 2 ** np.arange(8)).sum(1).tolist()
    rows = states.row[:, :width].astype(int).tolist()
    return states, rules, rows, [evolved(rule, row, steps) for rule, row in zip(rules, rows, strict=True)]


def test_every_rule_is_lively_and_instances_differ(batch):
    _, rules, rows, _ = batch
    live = np.array([rule.bit_count() for rule in rules])
    assert np.bincount(live, minlength=9)[3:6].min() > 0.9 * len(rules) / 3
    assert (live.min(), live.max()) == (3, 5)
    assert len(set(rules)) == 182
    assert np.mean(rows) == pytest.approx(0.5, abs=0.02)
    assert len({str(both) for both in zip(rules, rows, strict=True)}) > (1700 if len(rows[0]) == 6 else 1980)


def test_expert_is_the_evolution_and_is_a_success(batch):
    states, _, _, goals = batch
    actions = np.stack([flat(goal) for goal in goals])
    np.testing.assert_array_equal(play.experts(ENV, states), actions)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share_of_the_cells_filled_in_either(batch):
    states, _, _, goals = batch
    rng = np.random.default_rng(0)
    wrong = [rng.random(np.shape(goal)) < rng.choice([0, 0.1, 0.5]) for goal in goals]
    tries = [goal ^ flips for goal, flips in zip(goals, wrong, strict=True)]
    legal, reward = play.judge(ENV, states, np.stack([flat(tried.tolist()) for tried in tries]))
    assert legal.all()
    assert 0.1 < (reward == 1).mean() < 0.9
    for goal, tried, paid in zip(goals, tries, reward, strict=True):
        filled, named = set(map(tuple, np.argwhere(goal))), set(map(tuple, np.argwhere(tried)))
        assert paid == pytest.approx(1 if filled == named else len(filled & named) / len(filled | named) / 2)


def test_another_count_and_other_digits_are_illegal(batch):
    states, _, _, goals = batch
    right = np.stack([flat(goal) for goal in goals])
    count = np.size(goals[0])
    for other in {1, count - 1, count + 1, 79, 80} - {count, 81}:
        assert not play.judge(ENV, states, np.where(np.arange(80) < other, 0, -1) + 0 * right)[0].any()
    right[:, 2] = np.resize([2, 9], len(goals))
    assert not play.judge(ENV, states, right)[0].any()


def test_picture_and_text_show_the_instance(batch):
    states, rules, rows, goals = batch
    some = play.first(states, 50)
    cells = {"paper": "0", "coloured:alive": "1", "plain:backdrop": " ", "header glyph:?": "?"}
    width, steps = len(rows[0]), len(goals[0])
    margin = " " * ((16 - width) // 2)
    for rule, row, picture, words in zip(
        rules, rows, play.tiles(ENV, some), play.observations(ENV, some), strict=False
    ):
        lines = ["".join(cells[name] for name in line) for line in picture]
        patterns = [lines[at][4 * k : 4 * k + 3] for at in (0, 3) for k in range(4)]
        results = [lines[at][4 * k : 4 * k + 3] for at in (1, 4) for k in range(4)]
        assert patterns == [f"{pattern:03b}" for pattern in range(7, -1, -1)]
        assert results == [f" {bit} " for bit in f"{rule:08b}"]
        assert {lines[at] for at in (2, 5)} == {" " * 16}
        start = "".join(map(str, row))
        below = [start, *["?" * width] * steps]
        assert [line.rstrip() for line in lines[6:]] == [margin + line for line in below] + [""] * (5 - steps)
        assert words.split("\n") == [
            " ".join(patterns),
            " " + "   ".join(f"{rule:08b}"),
            f"row {start}",
            f"steps {steps}",
        ]


@pytest.mark.peer("cellpylib", "elementary_automaton")
def test_agrees_with_cellpylib(batch):
    states, rules, rows, goals = batch
    some = play.first(states, SOME)
    steps = len(goals[0])
    rng = np.random.default_rng(1)
    rights, wrongs = [], []
    for rule, row in zip(rules[:SOME], rows[:SOME], strict=True):
        after = cellpylib.evolve(
            np.array([row]), steps + 1, lambda cells, _, __, rule=rule: cellpylib.nks_rule(cells, rule)
        )[1:].astype(int)
        rights.append("\n".join("".join(map(str, line)) for line in after))
        after[rng.integers(steps), rng.integers(len(row))] ^= 1
        wrongs.append("\n".join("".join(map(str, line)) for line in after))
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies)
        assert (verdict == answers.ACCEPTED).all()
        assert ((reward == 1) == solved).all()
