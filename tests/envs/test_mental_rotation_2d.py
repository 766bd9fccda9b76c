"""mental_rotation_2d against brute force, complex numbers and its own picture."""

import functools

import jax
import numpy as np
import play
import pytest
import rollouts

import jaxenv
from jaxenv.render import palette

ENV = jaxenv.make("mental_rotation_2d")[0]
SIZES, TOLERANCES = (5, 6, 7), (20, 10, 5)
TURNS, COUNT = 6, 200
SQUARE = 100 / 6  # percent of a figure's half of the picture


def trimmed(squares: np.ndarray) -> np.ndarray:
    return squares[squares.any(1)][:, squares.any(0)]


def in_one_piece(squares: np.ndarray) -> bool:
    left = {tuple(at) for at in np.argwhere(squares).tolist()}
    queue = [left.pop()]
    while queue:
        row, col = queue.pop()
        beside = {(row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)} & left
        left -= beside
        queue += beside
    return not left


def poses(squares: np.ndarray) -> set[tuple]:
    """The four poses of a figure, each as its shape and squares."""
    turned = [np.rot90(trimmed(squares), times) for times in range(4)]
    return {(pose.shape, pose.tobytes()) for pose in turned}


@functools.cache
def all_figures(size: int) -> frozenset[frozenset[tuple]]:
    """All figures in the box that look different after each quarter turn, each as its poses."""
    found = set()
    for bits in range(1 << 16):
        if bits.bit_count() == size:
            squares = (bits >> np.arange(16) & 1).reshape(4, 4).astype(bool)
            # One of each that only differ in their place.
            if squares[0].any() and squares[:, 0].any() and in_one_piece(squares):
                found.add(frozenset(poses(squares)))
    return frozenset(four for four in found if len(four) == 4)


def spots(words: str) -> np.ndarray:
    """complex[2, squares]: the middles of the squares of both figures, from the middle of their half."""
    # Told are whole percents, rounded down.
    numbers = np.array([line.split(" ") for line in words.split("\n")], float) - 49.5
    return np.stack([numbers[:, 0] + 1j * numbers[:, 1], numbers[:, 2] + 1j * numbers[:, 3]])


def apart(degrees: np.ndarray | float) -> np.ndarray:
    return np.abs((np.asarray(degrees) + 180) % 360 - 180)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [spots(words) for words in play.observations(ENV, states)]


def test_every_figure_of_the_size_is_there(batch):
    scale, states, told = batch
    seen = set()
    for left, _ in told if scale == 0 else []:
        # The left one stands upright: its squares lie in rows and columns.
        at = np.stack([left.imag, left.real]) / SQUARE
        squares = np.zeros((4, 4), bool)
        squares[tuple(np.rint(at - at.min(1, keepdims=True)).astype(int))] = True
        seen.add(frozenset(poses(squares)))
    box = np.asarray(jax.jit(jax.vmap(ENV.symbolic))(states))[:, :16].reshape(-1, 4, 4).astype(bool)
    boxes = {frozenset(poses(squares)) for squares in box}
    assert boxes == all_figures(SIZES[scale])
    assert scale > 0 or seen == boxes


def test_instances_differ_and_are_far_from_solved(batch):
    scale, states, told = batch
    away = apart(states.turns[:, 0] - states.turns[:, 1])
    assert (away.min(), away.max()) == (30, 180)
    assert (states.turns[:, 0] == 0).all() == (scale == 0)
    assert play.distinct(states) > (1300, 1990, 1990)[scale]
    for (left, right), turns in zip(told, states.turns, strict=True):
        assert len(left) == SIZES[scale]
        turn = np.degrees(np.angle((right * left.conj()).sum()))  # clockwise, for y grows downwards
        assert apart(turn - turns[1] + turns[0]) < 4


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_turns_follow_the_rules(batch, share):
    scale, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths = played.length()
    for i in range(COUNT):
        goal, own = states.turns[i].tolist()
        for t in range(min(TURNS, lengths[i])):
            knob, amount = played.actions[t, i].tolist()
            assert played.verdicts[t, i] == 0
            assert played.terminated[t, i] == (knob == 1)
            assert played.rewards[t, i] == (knob == 1 and apart(goal - own) <= TOLERANCES[scale])
            own = own if knob == 1 else (own + amount) % 360
            assert played.states[t + 1].turns[i].tolist() == [goal, own]
    if share == 1.0:
        assert played.rewards.sum(0).all()
        assert (lengths == 2).all()
    else:
        assert 0 < played.rewards.sum() < COUNT


def test_stopping_pays_within_the_tolerance_and_no_farther(batch):
    scale, states, _ = batch
    some = play.first(states, COUNT)
    for away in (0, TOLERANCES[scale], TOLERANCES[scale] + 1, 90, 180):
        for sign in (1, -1):
            turns = np.stack([some.turns[:, 0], (some.turns[:, 0] + sign * away) % 360], axis=1)
            _, reward = play.judge(
                ENV, some.replace(turns=turns.astype(np.int32)), np.tile([1, 0], (COUNT, 1))
            )
            assert (reward == (away <= TOLERANCES[scale])).all()


def test_answers_in_words(batch):
    _, states, _ = batch
    replies = {"turn 60": 0, "Turn -15": 0, "stop": 0, "turn": 2, "60": 2, "turn 181": 2, "turn left": 2}
    verdict, _ = play.read(ENV, play.first(states, len(replies)), list(replies))
    assert dict(zip(replies, verdict.tolist(), strict=True)) == replies


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_shows_the_squares(batch, canvas):
    scale, states, told = batch
    half = canvas // 2
    paper, wood = palette.rgb("paper"), palette.rgb("wood")
    for image, figures in zip(play.pictures(ENV, play.first(states, 40), canvas), told, strict=False):
        for panel, figure in zip((image[:half, :half], image[:half, half:]), figures, strict=True):
            rows, cols = ((50 + part) * half / 100 for part in (figure.imag, figure.real))
            middles = panel[np.rint(rows).astype(int), np.rint(cols).astype(int)]
            assert (middles == wood).all()
            drawn = (np.abs(panel.astype(int) - paper).sum(-1) > 190).sum()
            assert abs(drawn / (SIZES[scale] * (half / 6) ** 2) - 1) < 0.12


def test_figures_that_stand_alike_look_alike(batch):
    _, states, _ = batch
    some = play.first(states, 40)
    alike = some.replace(turns=some.turns[:, :1].repeat(2, axis=1))
    for image, before in zip(play.pictures(ENV, alike, 96), play.pictures(ENV, some, 96), strict=True):
        assert (image[:48, :48] == image[:48, 48:]).all()
        assert (before[:48, :48] == image[:48, :48]).all()
        assert (before[:48, 48:] != image[:48, 48:]).any()


def test_the_dial_shows_the_tolerance(batch):
    scale, states, _ = batch
    (image,) = play.pictures(ENV, play.first(states, 1), 256)
    y, x = np.nonzero((image == palette.rgb("goal")).all(-1))
    turns = np.degrees(np.arctan2(x - 127.5, 191.5 - y))[192 - y > 20]
    for side in (turns.max(), -turns.min()):
        assert TOLERANCES[scale] - 2 < side <= TOLERANCES[scale]
