"""rubiks_cube against the cube of the package magiccube."""

import magiccube
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("rubiks_cube")[0]
SHORTEST, LONGEST = (1, 2, 4), (2, 3, 5)
TURNS, COUNT = 10, 60
FACES = [magiccube.cube_base.Face[name] for name in "ULFRBD"]


def stickers(cube: magiccube.Cube) -> list[int]:
    """The number of the face whose colour is shown, sticker by sticker."""
    solved = magiccube.Cube(2)
    number = {solved.get_face_flat(face)[0]: at for at, face in enumerate(FACES)}
    return [number[colour] for face in FACES for colour in cube.get_face_flat(face)]


def turned(cube: magiccube.Cube, word: str) -> magiccube.Cube:
    cube.rotate(word.upper())
    return cube


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def test_every_instance_is_undone_by_its_way_back_and_not_solved(batch):
    scale, states = batch
    faces = states.stickers.reshape(-1, 6, 4)
    assert not (faces == faces[:, :, :1]).all((1, 2)).any()
    assert set(states.depth.tolist()) == set(range(SHORTEST[scale], LONGEST[scale] + 1))
    assert play.distinct(states) > (50, 300, 1000)[scale]
    for shown, way, depth in zip(states.stickers[:300], states.way[:300], states.depth[:300], strict=True):
        cube = magiccube.Cube(2)
        # Forward: the way back, backwards, each turn undone.
        for move in way[:depth].tolist():
            turned(cube, ENV.grammar.words[move // 3 * 3 + 2 - move % 3])
        assert stickers(cube) == shown.tolist()


@pytest.mark.peer("magiccube", "rubiks_cube")
@pytest.mark.parametrize("share", [0.0, 0.7, 1.0])
def test_turns_are_those_of_magiccube(batch, share):
    _, states = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths = played.length()
    for i in range(COUNT):
        cube = magiccube.Cube(2)
        for move in some.way[i, : some.depth[i]].tolist():
            turned(cube, ENV.grammar.words[move // 3 * 3 + 2 - move % 3])
        for t in range(min(TURNS, lengths[i])):
            turned(cube, ENV.grammar.words[played.actions[t, i]])
            assert played.states[t + 1].stickers[i].tolist() == stickers(cube)
            assert played.terminated[t, i] == cube.is_done() == played.rewards[t, i]
    if share == 1.0:
        assert (lengths == some.depth).all()


def test_the_expert_works_from_anywhere(batch):
    _, states = batch
    wandered = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.0, seed=1).states[5]
    away = wandered.depth > 0
    assert (rollouts.roll(ENV, wandered, TURNS, 1.0).length() == wandered.depth)[away].all()


def test_words_and_picture_show_the_cube(batch):
    _, states = batch
    some = play.first(states, COUNT)
    for shown, words, picture in zip(
        some.stickers, play.observations(ENV, some), play.tiles(ENV, some), strict=True
    ):
        assert ["WOGRBY".index(letter) for letter in words.replace("\n", "")] == shown.tolist()
        rows = [[play.layers(name).get("sticker", "") for name in row] for row in picture]
        net = [
            "".join(colour[:1] for row in rows[top : top + 2] for colour in row[left : left + 2]).upper()
            for top, left in ((0, 2), (2, 0), (2, 2), (2, 4), (2, 6), (4, 2))
        ]
        assert net == words.split("\n")
