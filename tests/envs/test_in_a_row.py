"""tic_tac_toe and connect_four against plain-Python rules, search two moves deep, and pgx."""

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import play
import pytest
import rollouts
from reference_in_a_row import Game, sides

import jaxenv

GAMES = {
    "tic_tac_toe": ((3, 3, 3), (3, 3, 3), (5, 5, 4)),
    "connect_four": ((4, 5, 4), (6, 7, 4), (6, 7, 4)),
}
SIGHT = {"tic_tac_toe": (0, 3, 2), "connect_four": (0, 1, 3)}
FORCED = {"tic_tac_toe": (False, True, True), "connect_four": (False, False, True)}
LETTERS = {"tic_tac_toe": ".XO", "connect_four": ".YR"}
TURNS, COUNT = 22, 60


@pytest.fixture(scope="module", params=[(name, scale) for name in GAMES for scale in range(3)], ids=str)
def batch(request):
    name, scale = request.param
    env = jaxenv.make(name)[0]
    states = play.instances(env, scale)
    return name, scale, env, Game(*GAMES[name][scale], falls=name == "connect_four"), states


def chosen(name: str, game: Game, board: list[list[int]], action: np.ndarray) -> tuple[int, int] | None:
    """The cell that an action fills; None when there is none."""
    taken = set().union(*sides(board))
    cells = game.moves(taken)
    wanted = [
        cell for cell in cells if (cell == tuple(action) if name == "tic_tac_toe" else cell[1] == action)
    ]
    return wanted[0] if wanted else None


def test_instances_are_fair_or_can_be_forced(batch):
    name, scale, env, game, states = batch
    forced, at_once = FORCED[name][scale], 0
    actions = play.experts(env, states)
    for board, action in zip(states.board.tolist(), actions, strict=True):
        yours, theirs = sides(board)
        assert len(theirs) - len(yours) in (0, 1)
        assert all(r < game.rows and c < game.cols for r, c in yours | theirs)
        assert not game.has_line(yours)
        assert not game.has_line(theirs)
        if game.falls:
            assert all(r == game.rows - 1 or (r + 1, c) in yours | theirs for r, c in yours | theirs)
        assert not forced or game.forces(yours, theirs, chosen(name, game, board, action))
        at_once += bool(game.wins(yours, theirs))
    assert at_once < 0.4 * len(actions) if forced else at_once == 0
    assert play.distinct(states) > (
        100 if scale == 0 else 250 if name == "tic_tac_toe" and scale == 1 else 700
    )


def test_the_words_show_the_board(batch):
    name, _, env, game, states = batch
    some = play.first(states, COUNT)
    for board, words in zip(some.board, play.observations(env, some), strict=True):
        rows = [[LETTERS[name].index(word) for word in line.split(" ")] for line in words.split("\n")]
        assert rows == board[: game.rows, : game.cols].tolist()


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_games_follow_the_rules(batch, share):
    """Every move and reply; and the reply is as good as the opponent's sight promises."""
    name, scale, env, game, states = batch
    sight = SIGHT[name][scale]
    played = rollouts.roll(env, play.first(states, COUNT), TURNS, share)
    boards = [state.board.tolist() for state in played.states]
    lengths = played.length()
    for i in range(COUNT):
        for t in range(min(TURNS, lengths[i])):
            before, after = boards[t][i], boards[t + 1][i]
            cell = chosen(name, game, before, played.actions[t, i])
            assert (played.verdicts[t, i] == 3) == (cell is None)
            if cell is None:
                assert after == before
                continue
            (yours, theirs), (mine, others) = sides(before), sides(after)
            yours = yours | {cell}
            assert mine == yours
            won, lost = game.has_line(mine), game.has_line(others)
            full = not game.moves(mine | others)
            assert played.terminated[t, i] == (won or lost or full)
            assert played.rewards[t, i] == (1 if won else 0.5 if full and not lost else 0)
            if won or not game.moves(yours | theirs):
                assert others == theirs
                continue
            (reply,) = others - theirs
            assert reply in game.moves(yours | theirs)
            wins = game.wins(theirs, yours)
            if sight >= 1 and wins:
                assert reply in wins
            elif sight >= 2 and len(game.wins(yours, theirs)) == 1 and not game.falls:
                assert not game.wins(mine, others)
    wins = (played.rewards == 1).any(0)
    if share == 1.0:
        assert wins.mean() >= env.expert_success[scale]


@pytest.mark.peer("pgx", "tic_tac_toe", "connect_four")
@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "scale"), [("tic_tac_toe", 0), ("connect_four", 1)])
def test_agrees_with_pgx(name, scale):
    """The boards of whole games, put stone by stone, end where and as pgx says."""
    env, peer, count = jaxenv.make(name)[0], pgx.make(name), 200

    def put(state, action, acts):
        return jax.tree.map(lambda new, old: jnp.where(acts, new, old), peer.step(state, action), state)

    step = jax.jit(jax.vmap(put))
    start = jax.vmap(peer.init)(jax.random.split(jax.random.key(0), count))
    states = play.instances(env, scale, count)
    cleared = states.replace(board=np.zeros_like(states.board))
    played = rollouts.roll(env, cleared, TURNS, 0.5)
    lengths, theirs_now = played.length(), start
    done = np.zeros(count, bool)
    for t in range(TURNS):
        boards = [state.board for state in played.states[t : t + 2]]
        for side in (1, 2):
            new = (boards[1] == side) & (boards[0] != side)
            acts = new.any((1, 2)) & ~done
            flat = new[:, :3, :3] if name == "tic_tac_toe" else new.any(1)
            action = jnp.asarray(flat.reshape(count, -1).argmax(1), jnp.int32)
            theirs_now = step(theirs_now, action, jnp.asarray(acts))
        over = np.asarray(theirs_now.terminated)
        np.testing.assert_array_equal(over & ~done, played.terminated[t])
        done |= over
    assert (lengths <= TURNS).mean() > 0.9
    drawn = done & ~np.asarray(theirs_now.rewards).any(1)
    np.testing.assert_array_equal(drawn, (played.rewards == 0.5).any(0))
