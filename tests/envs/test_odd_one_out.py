"""odd_one_out against its words, read and turned in plain Python."""

from collections import Counter

import numpy as np
import play
import pytest

import jaxenv
from jaxenv import answers
from jaxenv.render import palette

ENV = jaxenv.make("odd_one_out")[0]
ROWS, COLS = (2, 2, 3), (2, 3, 3)
Figure = frozenset[tuple[int, int]]


def read_panels(words: str) -> dict[str, Figure]:
    """The cells of the figure right below each letter."""
    lines = words.split("\n")
    letters = [(r, c, mark) for r, line in enumerate(lines) for c, mark in enumerate(line) if mark.isalpha()]
    panels = {}
    for top, left, letter in letters:
        marks = {(r, c): lines[top + 1 + r][left + 1 + c] for r in range(4) for c in range(4)}
        assert set(marks.values()) == {"#", "."}
        panels[letter] = frozenset(cell for cell, mark in marks.items() if mark == "#")
    return panels


def turns(figure: Figure) -> list[Figure]:
    found = [figure]
    for _ in range(3):
        found.append(frozenset((c, 3 - r) for r, c in found[-1]))
    return found


def kind(figure: Figure) -> tuple:
    """The same for all turns of a figure."""
    return min(tuple(sorted(turned)) for turned in turns(figure))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, list(map(read_panels, play.observations(ENV, states)))


def test_one_panel_alone_differs_as_much_as_the_scale_says(batch):
    scale, states, instances = batch
    experts = play.experts(ENV, states)[:, 0]
    for panels, answer in zip(instances, experts.tolist(), strict=True):
        assert "".join(panels) == "ABCDEFGHI"[: ROWS[scale] * COLS[scale]]
        kinds = {letter: kind(figure) for letter, figure in panels.items()}
        ((_, many), (rare, one)) = Counter(kinds.values()).most_common()
        assert (many, one) == (len(panels) - 1, 1)
        odd = next(letter for letter, found in kinds.items() if found == rare)
        assert odd == "ABCDEFGHI"[answer]
        common = panels["A" if odd != "A" else "B"]
        assert 5 <= len(common) == len(panels[odd]) <= 7
        if scale == 0:
            assert len(set(panels.values())) == 2
            assert not common & panels[odd]
        elif scale == 1:
            assert max(len(common & turned) for turned in turns(panels[odd])) == len(common) - 1
        else:
            mirrored = frozenset((r, 3 - c) for r, c in panels[odd])
            assert mirrored in turns(common)


def test_instances_differ_and_no_panel_is_favoured(batch):
    scale, states, instances = batch
    assert play.distinct(states) > 1980
    panels = len(instances[0])
    np.testing.assert_allclose(np.bincount(states.odd) / len(states.odd), 1 / panels, atol=0.05)
    if scale > 0:
        shown = [len(set(found.values())) for found in instances]
        assert np.mean(shown) > 3.5


def test_only_the_odd_letter_pays(batch):
    scale, states, instances = batch
    panels = len(instances[0])
    for change in range(panels):
        legal, reward = play.judge(ENV, states, ((states.odd + change) % panels)[:, None])
        assert legal.all()
        assert (reward == (change == 0)).all()
    some = play.first(states, 2)
    verdict, reward = play.read(ENV, some, ["ABCDEFGHI"[odd].lower() for odd in some.odd])
    assert (verdict == answers.ACCEPTED).all()
    assert (reward == 1).all()
    verdict, _ = play.read(ENV, some, ["I", "AB"])
    assert verdict.tolist() == [answers.ILLEGAL if scale < 2 else answers.ACCEPTED, answers.NOT_IN_GRAMMAR]


@pytest.mark.parametrize("canvas", [96, 256])
def test_the_picture_shows_the_figures(batch, canvas):
    scale, states, instances = batch
    rows, cols = ROWS[scale] * 5, COLS[scale] * 5
    cell = canvas // cols
    top, left = (canvas - rows * cell) // 2, (canvas - cols * cell) // 2
    images = play.pictures(ENV, play.first(states, 20), canvas)
    for image, panels in zip(images, instances, strict=False):
        inked = (image == palette.rgb("alive")).all(-1)
        for at, letter in enumerate(panels):
            row, col = 5 * (at // COLS[scale]), 5 * (at % COLS[scale])
            seen = {
                (r, c)
                for r in range(4)
                for c in range(4)
                if inked[top + (row + 1 + r) * cell + cell // 2, left + (col + 1 + c) * cell + cell // 2]
            }
            assert seen == panels[letter]
            name = image[top + row * cell :, left + col * cell :][:cell, :cell]
            assert (name == palette.rgb("white")).all(-1).sum() >= 7
