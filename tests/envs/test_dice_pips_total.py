"""dice_pips_total against the pips that are counted in its pictures, and its words."""

import numpy as np
import play
import pytest
from scipy import ndimage

import jaxenv
from jaxenv import answers
from jaxenv.render import palette

ENV = jaxenv.make("dice_pips_total")[0]
SIDES, COUNTS = (2, 3, 4), (3, 7, 14)


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    words = [line.replace("\n", " ").split(" ") for line in play.observations(ENV, states)]
    return request.param, states, [[int(face) for face in faces if face != "."] for faces in words]


def test_faces_places_and_poses_are_of_all_kinds(batch):
    scale, states, faces = batch
    side, count = SIDES[scale], COUNTS[scale]
    assert all(len(dice) == count for dice in faces)
    shares = np.bincount(np.concatenate(faces), minlength=7)[1:] / (count * play.MANY)
    np.testing.assert_allclose(shares, 1 / 6, atol=0.02)
    lies = states.faces > 0
    np.testing.assert_allclose(lies[:, :side, :side].mean(0), count / side**2, atol=0.05)
    assert lies.sum() == lies[:, :side, :side].sum()
    np.testing.assert_allclose(np.bincount(states.poses[lies]) / lies.sum(), 1 / 12, atol=0.02)
    assert play.distinct(states) > 1980


def test_only_the_sum_pays(batch):
    _, states, faces = batch
    totals = np.array([sum(dice) for dice in faces])
    np.testing.assert_array_equal(play.experts(ENV, states)[:, 0], totals)
    for change in (-1, 0, 1, 6):
        legal, reward = play.judge(ENV, states, (totals + change)[:, None])
        assert legal.all()
        assert (reward == (change == 0)).all()
    replies = [str(totals[0]), "0", "100", "six"]
    verdict, reward = play.read(ENV, play.first(states, 4), replies)
    assert verdict.tolist() == [answers.ACCEPTED] * 2 + [answers.NOT_IN_GRAMMAR] * 2
    assert reward.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("canvas", [96, 256])
def test_as_many_pips_are_seen_on_each_die(batch, canvas):
    _, states, faces = batch
    images = play.pictures(ENV, play.first(states, 40), canvas)
    for image, dice in zip(images, faces, strict=False):
        bright = image.astype(int).sum(-1)
        backdrop = (image == palette.rgb("backdrop")).all(-1)
        dark = (bright < 330) & (image[..., 1] < 115) & (image[..., 0] < 115) & ~backdrop
        # Pips are dark spots inside the pale dice; the green cloth is one large piece and no pip.
        die = ndimage.binary_fill_holes(image[..., 0] > 120)
        pieces, count = ndimage.label(die)
        seen = [ndimage.label(dark & (pieces == at))[1] for at in range(1, count + 1)]
        assert sorted(seen) == sorted(dice)


def test_poses_turn_the_dice(batch):
    """A one looks different in each pose, and is the same die: as large, with one pip."""
    scale, states, _ = batch
    images = play.pictures(ENV, play.first(states, 40), 256)
    looks: dict[int, set[bytes]] = {}
    side = SIDES[scale]
    cell, margin = 256 // side, (256 - 256 // side * side) // 2
    for image, faces, poses in zip(images, states.faces, states.poses, strict=False):
        for r, c in np.argwhere(faces == 1).tolist():
            top, left = margin + r * cell, margin + c * cell
            part = image[top : top + cell, left : left + cell]
            looks.setdefault(int(poses[r, c]), set()).add(part.tobytes())
            assert 0.3 < (part[..., 0] > 120).mean() < 0.45
    assert len(looks) >= 6
    assert all(len(look) == 1 for look in looks.values())
    assert len(set.union(*looks.values())) == len(looks)
