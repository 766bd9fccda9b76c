"""Both forms of MAPF-FrozenLake against its rules in plain Python."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import play
import pytest
import reference_mapf as plain
import rollouts

import jaxenv
from envs_jax.multi_agent.mapf_plan import MapfPlan
from jaxenv import answers, text
from jaxenv.mapf.checks import CHECKS
from jaxenv.render.tiles import paint

pytestmark = pytest.mark.exhaustive  # several minutes of compiling the exact solver

STEPS = jaxenv.make("mapf_frozen_lake")[0]
PLAN = jaxenv.make("mapf_frozen_lake_plan")[0]
assert isinstance(PLAN, MapfPlan)
COUNT, TURNS = 40, 32
SIDES, AGENTS, HOLES = (3, 5, 8), ((2,), (3,), (4, 5)), (1, 4, 10)


@pytest.fixture(scope="module", params=range(3))
def planned(request):
    """(scale, states, boards in plain Python, the expert's moves) of the plan form."""
    states = play.instances(PLAN, request.param, COUNT)
    boards = [plain.board_of(rollouts.one(states.instance, i)) for i in range(COUNT)]
    return request.param, states, boards, play.experts(PLAN, states)


def spoken(answer: dict[int, list[str]]) -> str:
    return "\n".join(f"A{agent}: {', '.join(words)}" for agent, words in answer.items())


def walked(board: plain.Board, answer: dict[int, list[str]]) -> dict[int, list[plain.Cell]]:
    return {a: plain.walk(board.starts[a], words) for a, words in answer.items()}


def test_every_board_is_of_its_scale(planned):
    scale, states, boards, _ = planned
    for board in boards:
        assert board.side == SIDES[scale]
        assert len(board.starts) in AGENTS[scale]
        assert len(board.holes) == HOLES[scale]
        cells = board.starts + board.goals
        assert len(set(cells)) == len(cells)
        assert all(map(board.free, cells))
    assert {len(board.starts) for board in boards} == set(AGENTS[scale])
    assert play.distinct(states) > COUNT * 0.9


def test_the_expert_is_valid_and_costs_the_optimum(planned):
    _, states, boards, moves = planned
    for board, optimum, plan in zip(boards, states.optimum.tolist(), moves, strict=True):
        paths = walked(board, plain.words_of(plan))
        assert plain.failed(board, paths) == set()
        assert plain.costs(board, paths)[0] == optimum
    legal, reward = play.judge(PLAN, states, moves)
    assert legal.all()
    assert (reward == 1).all()


def test_the_optimum_and_the_wait_flags_of_small_boards(planned):
    scale, states, boards, moves = planned
    if scale:
        pytest.skip("joint search in Python is for small boards")
    for board, optimum, delayed, waits, plan in zip(
        boards, states.optimum, states.delayed, states.waits, moves, strict=True
    ):
        assert optimum == plain.least_cost(board)
        assert delayed == (optimum > sum(plain.lone_costs(board)))
        assert waits == any("WAIT" in words for words in plain.words_of(plan).values())
    assert 0 < states.delayed.sum() < COUNT


def test_rewards_of_changed_plans(planned):
    """Plans with waits put in, detours added and words changed."""
    _, states, boards, moves = planned
    noise, changed, replies = np.random.default_rng(0), [], []
    for plan in moves:
        answer = plain.words_of(plan)
        agent = int(noise.integers(len(answer)))
        words = answer[agent]
        at = int(noise.integers(len(words) + 1))
        extra = (["WAIT"], ["WAIT"] * 3, ["LEFT", "RIGHT"], ["UP"], [])[int(noise.integers(5))]
        answer[agent] = words[:at] + extra + words[at:]
        changed.append(answer)
        replies.append(spoken(answer))
    verdict, reward = play.read(PLAN, states, replies, 1024)
    assert (verdict == answers.ACCEPTED).all()
    paid = []
    for board, optimum, answer, found in zip(boards, states.optimum.tolist(), changed, reward, strict=True):
        paths = walked(board, answer)
        valid = not plain.failed(board, paths)
        wanted = max(0.3, optimum / plain.costs(board, paths)[0]) if valid else 0
        assert found == pytest.approx(wanted)
        paid.append(wanted)
    assert min(paid) == 0 < max(paid)
    assert any(0 < one < 1 for one in paid)


def test_judge_names_what_is_wrong(planned):
    scale, states, boards, moves = planned
    judge = jax.jit(jax.vmap(PLAN.judge))
    good = [spoken(plain.words_of(plan)) for plan in moves]
    fewer = ["\n".join(reply.split("\n")[1:]) for reply in good]
    more = [f"{reply}\nA{len(board.starts)}: WAIT" for reply, board in zip(good, boards, strict=True)]
    for replies, wanted in (
        ([f"<answer>{reply}</answer>" for reply in good], set()),
        ([f"<answer>\n{reply.lower()}\n</answer>" for reply in good], set()),
        (good, {"parses"}),
        ([f"<answer>{reply}, JUMP</answer>" for reply in good], {"parses"}),
        ([f"<answer>{reply}</answer>" for reply in fewer], {"right_agents", "goals_reached"}),
        ([f"<answer>{reply}</answer>" for reply in more], {"right_agents"}),
    ):
        if wanted == {"right_agents"} and scale == 2:
            continue  # five agents are the most there can be
        told = judge(states, text.encode_batch(replies, 1024))
        failed = [
            {name for name, ok in zip(CHECKS, row, strict=True) if not ok} for row in told.passed.tolist()
        ]
        if "goals_reached" in wanted:  # who stands still may be run into
            failed = [names - {"no_collision"} for names in failed]
        assert failed == [wanted] * COUNT
        assert told.valid.tolist() == told.optimal.tolist() == [not wanted] * COUNT


def test_makespan_can_be_the_cost(planned):
    _, states, boards, moves = planned
    env = jaxenv.make("mapf_frozen_lake_plan", cost="makespan")[0]
    _, reward = play.judge(env, dataclasses.replace(states, optimum=np.full(COUNT, 2, np.int32)), moves)
    for board, plan, paid in zip(boards, moves, reward, strict=True):
        last = plain.costs(board, walked(board, plain.words_of(plan)))[1]
        assert paid == pytest.approx(max(0.3, 2 / last))
    assert "last agent" in env.rules
    assert "summed" in PLAN.rules


@pytest.mark.exhaustive
def test_the_least_makespan_of_small_boards():
    env = jaxenv.make("mapf_frozen_lake_plan", cost="makespan")[0]
    states = play.instances(env, 0, COUNT)
    boards = [plain.board_of(rollouts.one(states.instance, i)) for i in range(COUNT)]
    assert states.optimum.tolist() == [plain.least_cost(board, makespan=True) for board in boards]
    assert (play.judge(env, states, play.experts(env, states))[1] == 1).all()


def test_another_cost_is_refused():
    with pytest.raises(ValueError, match="cost: 'moves' must be one of"):
        jaxenv.make("mapf_frozen_lake_plan", cost="moves")


# --- the step form ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=range(3))
def played(request):
    """(scale, an episode of the expert with a random move now and then), on the boards of the plan form."""
    states = play.instances(PLAN, request.param, COUNT).instance
    return request.param, rollouts.roll(STEPS, states, TURNS, 0.8)


def test_moves_follow_the_rules(played):
    _, roll = played
    kinds = set()
    for turn, i in itertools.product(range(len(roll.actions)), range(COUNT)):
        if roll.terminated[:turn, i].any():
            continue
        before, after = (plain.board_of(rollouts.one(roll.states[at], i)) for at in (turn, turn + 1))
        moves = roll.actions[turn, i]
        words = [plain.WORDS[move] for move in moves[moves >= 0]]
        if len(words) != len(before.starts):
            assert roll.verdicts[turn, i] == answers.ILLEGAL
            assert after == before
            continue
        cells = [plain.step(cell, word) for cell, word in zip(before.starts, words, strict=True)]
        lost = plain.collide(before.starts, cells) or not all(map(before.free, cells))
        won = not lost and tuple(cells) == before.goals
        assert roll.rewards[turn, i] == won
        assert roll.terminated[turn, i] == (won or lost)
        if not lost:
            assert after.starts == tuple(cells)
        kinds.add("won" if won else "lost" if lost else "on")
    assert kinds == {"won", "lost", "on"}


def test_the_expert_takes_the_fewest_turns():
    states = play.instances(PLAN, 0, COUNT).instance
    lengths = rollouts.roll(STEPS, states, TURNS, 1.0).length()
    boards = [plain.board_of(rollouts.one(states, i)) for i in range(COUNT)]
    assert lengths.tolist() == [plain.least_cost(board, makespan=True) for board in boards]


def test_answers_in_words():
    states = play.first(play.instances(PLAN, 0, COUNT).instance, 1)
    batch = jax.tree.map(lambda leaf: jnp.repeat(leaf, 5, 0), states)
    replies = ["wait wait", "WAIT,\nwait", "wait", "wait wait wait", "A0: wait"]
    verdict, _ = play.read(STEPS, batch, replies)
    refused = [answers.ILLEGAL, answers.ILLEGAL, answers.NOT_IN_GRAMMAR]
    assert verdict.tolist() == [answers.ACCEPTED, answers.ACCEPTED, *refused]


# --- what is seen -----------------------------------------------------------------------------------------


def test_picture_and_words_show_the_board(played):
    scale, roll = played
    for turn in (0, 2, 4):
        states = roll.states[turn]
        pictures, words = play.tiles(STEPS, states), play.observations(STEPS, states)
        for i in range(COUNT):
            if roll.terminated[:turn, i].any():
                continue
            board = plain.board_of(rollouts.one(states, i))
            lines = [line.split() for line in words[i].split("\n")]
            assert [len(line) for line in lines] == [SIDES[scale]] * SIDES[scale]
            for row, col in itertools.product(range(board.side), repeat=2):
                cell, shown = (row, col), play.layers(pictures[i][row][col])
                agent = [str(a) for a, at in enumerate(board.starts) if at == cell]
                goal = [str(g) for g, at in enumerate(board.goals) if at == cell]
                assert ("hole" in shown) == (cell in board.holes)
                assert [shown[name] for name in ("walker",) if name in shown] == agent
                assert [shown[name] for name in ("base",) if name in shown] == goal
                parts = [*(f"A{a}" for a in agent), *(f"G{g}" for g in goal)]
                empty = "H" if cell in board.holes else "."
                assert lines[row][col] == ("/".join(parts) or empty)


def test_state_and_hint_in_words():
    states = play.instances(PLAN, 1, COUNT).instance
    described = jax.jit(jax.vmap(STEPS.describe))(states)
    for i, (told, hint) in enumerate(
        zip(text.decode_batch(described.state), text.decode_batch(described.hint), strict=True)
    ):
        board = plain.board_of(rollouts.one(states, i))
        pairs = list(zip(board.starts, board.goals, strict=True))
        assert told == "; ".join(
            f"A{a} at row {s[0] + 1} column {s[1] + 1}, goal row {g[0] + 1} column {g[1] + 1}"
            for a, (s, g) in enumerate(pairs)
        )
        ways = [
            f"{abs(g[0] - s[0])} {'down' if g[0] > s[0] else 'up'} and "
            f"{abs(g[1] - s[1])} {'right' if g[1] > s[1] else 'left'}"
            for s, g in pairs
        ]
        assert hint == "; ".join(f"the goal of A{a} is {way}" for a, way in enumerate(ways))


def test_the_small_picture_tells_all_agents_and_goals_apart():
    """On the smallest canvas and the largest board every tile differs from every other by much."""
    seen = [paint(name, 96 // 10).astype(int) for name in PLAN.tileset]
    for first, second in itertools.combinations(seen, 2):
        assert (np.abs(first - second).max(-1) > 60).sum() >= 4
