"""symmetry_fill by its own picture: options put in the gap, and the picture flipped and turned."""

import itertools
import re

import numpy as np
import play
import pytest

import jaxenv
from jaxenv.render import palette

ENV = jaxenv.make("symmetry_fill")[0]
CORNERS, LETTERS = (4, 6, 9), "ABCDE"
WINDS = ("ENE", "ESE", "SSE", "SSW", "WSW", "WNW", "NNW", "NNE")  # clockwise, from 22.5 degrees before east
WORDS = {"top left": (0, 0), "top right": (0, 1), "bottom left": (1, 0), "bottom right": (1, 1)}
WORDS |= {letter: (at, 2) if at < 2 else (2, at - 2) for at, letter in enumerate(LETTERS)}


Shape = tuple[int, tuple[int, ...]]  # where the longest corner points, of WINDS; the other lengths, clockwise


def read_text(words: str) -> dict[str, Shape | None]:
    """The shape in each cell, None in the gap."""
    shapes: dict[str, Shape | None] = {}
    for line in words.split("\n"):
        name, wind, lengths = re.fullmatch(r"([\w ]+): (\S+) (.+)", line).groups()
        gap = wind == "?"
        shapes[name] = None if gap else (WINDS.index(wind), tuple(map(int, lengths.split(" "))))
    return shapes


def mirrored(shape: Shape, top_to_bottom: bool) -> Shape:
    wind, lengths = shape
    # The wind at turn t comes to 180 - t, or to -t.
    return ((1 if top_to_bottom else 5) - wind) % 8, lengths[::-1]


def is_symmetric(shapes: dict[str, Shape]) -> str:
    """m for mirrored, t for turned by right angles, or nothing."""
    left, right, below_left, below_right = (
        shapes[name] for name in ("top left", "top right", "bottom left", "bottom right")
    )
    mirrors = [
        *(mirrored(one, False) == other for one, other in ((left, right), (below_left, below_right))),
        *(mirrored(one, True) == other for one, other in ((left, below_left), (right, below_right))),
    ]
    clockwise = (left, right, below_right, below_left)
    turns = [shape == ((left[0] + 2 * at) % 8, left[1]) for at, shape in enumerate(clockwise)]
    return "m" * all(mirrors) + "t" * all(turns)


def solve(shapes: dict[str, Shape | None]) -> tuple[str, str]:
    """The letters of the options that make the picture symmetric, and how."""
    (gap,) = (name for name, shape in shapes.items() if shape is None)
    ways = {letter: is_symmetric(shapes | {gap: shapes[letter]}) for letter in LETTERS}
    return "".join(letter for letter, way in ways.items() if way), "".join(ways.values())


def cells_of(image: np.ndarray, ink: np.ndarray) -> np.ndarray:
    """bool[3, 3, size, size]: the pixels that are all ink."""
    size = len(image) // 3
    margin = (len(image) - 3 * size) // 2
    inked = (image == ink).all(-1)[margin : margin + 3 * size, margin : margin + 3 * size]
    return inked.reshape(3, size, 3, size).swapaxes(1, 2)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_text(words) for words in play.observations(ENV, states)]


@pytest.fixture(scope="module")
def pictures(batch):
    """The cells of some pictures."""
    some = play.first(batch[1], play.SOME)
    images = play.pictures(ENV, some, 96)
    return [cells_of(*pair) for pair in zip(images, palette.INKS[some.ink], strict=True)]


def test_one_option_fits_and_the_expert_names_it(batch):
    scale, states, instances = batch
    solved = [solve(shapes) for shapes in instances]
    answers = [LETTERS[at] for at in play.experts(ENV, states)[:, 0]]
    assert [letters for letters, _ in solved] == answers
    assert {ways for _, ways in solved} == ({"m"} if scale == 0 else {"m", "t"})
    assert min(answers.count(letter) for letter in LETTERS) > 300
    for name in WORDS:
        assert sum(shapes[name] is None for shapes in instances) > 400 or name in LETTERS
    assert play.distinct(states) > 1990


def test_the_right_option_makes_the_picture_symmetric(batch, pictures):
    _, states, instances = batch
    right = play.experts(ENV, states)[:, 0]
    for cells, shapes, answer in zip(pictures, instances, right, strict=False):
        (gap,) = (name for name, shape in shapes.items() if shape is None)
        fits = []
        for letter in LETTERS:
            filled = cells.copy()
            filled[WORDS[gap]] = cells[WORDS[letter]]
            whole = np.concatenate([np.concatenate(list(row), axis=1) for row in filled[:2, :2]])
            mirrored = np.array_equal(whole, whole[::-1]) and np.array_equal(whole, whole[:, ::-1])
            fits.append(mirrored or np.array_equal(whole, np.rot90(whole)))
        assert not cells[WORDS[gap]].any()
        assert np.flatnonzero(fits).tolist() == [answer]


def test_only_the_right_letter_pays(batch):
    _, states, _ = batch
    right = play.experts(ENV, states)[:, 0]
    for at in range(len(LETTERS)):
        legal, reward = play.judge(ENV, states, np.full((play.MANY, 1), at))
        assert legal.all()
        assert (reward == (right == at)).all()
    given = np.arange(50) % 10
    verdict, reward = play.read(
        ENV, play.first(states, 50), [(LETTERS + LETTERS.lower())[at] for at in given]
    )
    assert (verdict == 0).all()
    assert (reward == (right[:50] == given % 5)).all()


def test_options_differ(batch, pictures):
    """At the largest scale one of them is like the right one but for a corner."""
    scale, states, instances = batch
    for shapes, answer in zip(instances, play.experts(ENV, states)[:, 0], strict=True):
        options = [shapes[letter] for letter in LETTERS]
        assert len(set(options)) == 5
        right = options[answer]
        alike = [lengths for wind, lengths in options if wind == right[0] and lengths != right[1]]
        assert len(alike) == (scale == 2)
        for lengths in alike:
            (change,) = (abs(a - b) for a, b in zip(lengths, right[1], strict=True) if a != b)
            assert change == 3
    for cells in pictures:
        options = [cells[WORDS[letter]] for letter in LETTERS]
        assert min((a != b).sum() for a, b in itertools.combinations(options, 2)) >= 4


def test_the_words_show_the_picture(batch):
    scale, states, instances = batch
    n = CORNERS[scale]
    some = play.first(states, 40)
    images = play.pictures(ENV, some, 256)
    for image, ink, shapes in zip(images, palette.INKS[some.ink], instances, strict=False):
        cells = cells_of(image, ink)
        size = cells.shape[-1]
        for name, (wind, lengths) in ((name, shape) for name, shape in shapes.items() if shape):
            cell, middle = cells[WORDS[name]], 45 * wind - 22.5
            y, x = np.nonzero(cell) - np.full((2, 1), (size - 1) / 2)
            tip = np.hypot(x, y).argmax()
            assert abs((np.degrees(np.arctan2(y[tip], x[tip])) - middle + 180) % 360 - 180) < 6
            assert len(lengths) == n - 1
            for k, length in enumerate(lengths, 1):
                way = np.radians(middle + 360 * k / n)
                for share, inside in ((0.8, True), (1.2, False)):
                    reach = share * length * 0.41 * size / 10
                    row, col = (round((size - 1) / 2 + reach * d) for d in (np.sin(way), np.cos(way)))
                    assert cell[row, col] == inside
