"""sokoban against plain-Python rules and search.

All 2,000 instances with one box are searched in full. The expert's own way is replayed by the independent
rules: 400 of each number of boxes, and in the exhaustive run all 2,000.
"""

import jax
import jax.numpy as jnp
import numpy as np
import play
import pytest
import rollouts
from reference_sokoban import moves_to_solve, read_board

import jaxenv

ENV = jaxenv.make("sokoban")[0]
SIDES, BOXES = (6, 7, 8), (1, 2, 3)
TURNS, COUNT = 16, 50


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_board(words) for words in play.observations(ENV, states)]


def test_instances_are_whole_unsolved_and_different(batch):
    scale, states, boards = batch
    n = SIDES[scale]
    rim = {(r, c) for r in range(n) for c in range(n) if r in (0, n - 1) or c in (0, n - 1)}
    for board in boards:
        assert rim < board.walls
        assert len(board.walls - rim) == 1 + scale
        assert len(board.boxes) == len(board.targets) == BOXES[scale]
        assert not board.boxes & board.targets or scale > 0
        assert not board.solved()
    assert play.distinct(states) > 1500


def test_a_board_without_room_for_its_last_target_is_drawn_once_more():
    """As this one was: two or three of 10,000 are."""
    key = jax.random.split(jax.random.key(5), 300)[201]
    state = jax.jit(ENV.generate)(key, jnp.int32(2))
    assert (state.targets > 0).all()
    assert len({tuple(target) for target in state.targets.tolist()}) == BOXES[2]


def test_every_single_box_can_be_brought_home(batch):
    scale, _, boards = batch
    if scale > 0:
        pytest.skip("searched in full with one box only")
    lengths = [moves_to_solve(board) for board in boards]
    assert None not in lengths
    assert len(set(lengths)) > 10


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_moves_follow_the_rules(batch, share):
    _, states, boards = batch
    replay(rollouts.roll(ENV, play.first(states, COUNT), TURNS, share), boards[:COUNT])


@pytest.mark.slow
@pytest.mark.parametrize(
    "places", [range(0, 400, COUNT), pytest.param(range(400, play.MANY, COUNT), marks=pytest.mark.exhaustive)]
)
def test_every_instance_is_solved_by_its_expert_and_by_the_rules(batch, places):
    scale, states, boards = batch
    for at in places:
        part = jax.tree.map(lambda leaf, at=at: leaf[at : at + COUNT], states)
        played = rollouts.roll(ENV, part, TURNS, 1.0)
        assert played.length().max() <= ENV.max_turns[scale]
        assert all(board.solved() for board in replay(played, boards[at : at + COUNT]))


def replay(played, boards):
    """Plays the same moves by the independent rules, which must agree at every turn; the last boards."""
    lengths, ends = played.length(), []
    for i, board in enumerate(boards):
        for t in range(min(TURNS, lengths[i])):
            board = board.turn(played.actions[t, i].tolist())
            after = rollouts.one(played.states[t + 1], i)
            assert board.player == tuple(after.player.tolist())
            assert board.boxes == {tuple(box) for box in after.boxes.tolist() if box != [0, 0]}
            assert played.terminated[t, i] == board.solved() == played.rewards[t, i]
        ends.append(board)
    return ends


def test_the_expert_with_one_box_is_optimal_from_anywhere(batch):
    scale, states, _ = batch
    if scale > 0:
        pytest.skip("optimal with one box only")
    wandered = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.0, seed=1).states[5]
    boards = [read_board(words) for words in play.observations(ENV, wandered)]
    played = rollouts.roll(ENV, wandered, TURNS, 1.0)
    moves = np.where(np.arange(TURNS)[:, None] < played.length(), (played.actions >= 0).sum(-1), 0).sum(0)
    ways = [moves_to_solve(board) for board in boards]
    open_ = [i for i, way in enumerate(ways) if way]
    assert len(open_) > 10
    assert [moves[i] for i in open_] == [ways[i] for i in open_]
