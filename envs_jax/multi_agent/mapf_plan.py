"""Plan the paths of several agents over a frozen lake; the whole plan is one answer.

MAPF-FrozenLake (arXiv:2606.17682): eight checks, and then the less the plan costs, the better.
"""

from dataclasses import dataclass
from typing import ClassVar, get_args

import jax
import jax.numpy as jnp

from envs_jax.multi_agent import engine
from jaxenv import answers
from jaxenv.answers import LabelledMoves
from jaxenv.environment import TileEnvironment
from jaxenv.harness import Texts
from jaxenv.mapf import checks, generator, rewards, rules
from jaxenv.mapf.checks import Judgement
from jaxenv.mapf.generator import Board
from jaxenv.mapf.instance import HORIZON, MOVES, SIDE, Plan
from jaxenv.mapf.rules import Measure
from jaxenv.mapf.search import solve
from jaxenv.text import Text

MEASURES = {
    "sum_of_costs": "Full marks for the fewest moves, summed over the agents until each is there to stay.",
    "makespan": "Full marks for the fewest moves until the last agent is there.",
}


@dataclass(frozen=True)
class MapfPlan(TileEnvironment):
    """The state is a board. `cost` is what an optimal plan has the least of: the sum of the agents' moves
    or the time of the last arrival."""

    id = "mapf_frozen_lake_plan"
    family = "multi_agent"
    abilities = (
        "locate_agent",
        "locate_target",
        "plan_path",
        "predict_collision",
        "coordinate_agents",
        "schedule_order",
        "format_structured",
    )
    grammar = LabelledMoves(engine.AGENTS, tuple(map(str.upper, MOVES)), HORIZON)
    task = (
        "Plan how each agent gets to the square of its number; all move at once. Answer a line an agent of "
        "UP, DOWN, LEFT, RIGHT, WAIT, such as <answer>A0: RIGHT, WAIT</answer>."
    )
    max_turns: ClassVar[tuple[int, ...]] = (1, 1, 1)
    hidden = ("optimum", "delayed", "waits")
    tileset = engine.TILESET
    compile_seconds = 60.0  # an exact search, in reset and in the expert

    cost: Measure = "sum_of_costs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost not in get_args(Measure):
            raise ValueError(f"cost: {self.cost!r} must be one of {', '.join(get_args(Measure))}")

    @property
    def rules(self) -> str:
        return f"{engine.COLLISIONS} Keep out of holes and on the board. {MEASURES[self.cost]}"

    def generate(self, key: jax.Array, scale: jax.Array) -> Board:
        def draw(key: jax.Array) -> tuple[Board, jax.Array]:
            instance, placed = engine.random_instance(key, scale)
            board, found = generator.make_board(instance, self.cost, engine.TREE)
            return board, placed & found

        return generator.first_good(key, draw)[0]

    def transition(
        self, key: jax.Array, state: Board, action: jax.Array
    ) -> tuple[Board, jax.Array, jax.Array]:
        told = self._judge(state, action, jnp.bool_(True))
        return state, rewards.accuracy(told.valid, told.cost, state.optimum), jnp.bool_(True)

    def judge(self, state: Board, reply: Text) -> Judgement:
        """What is right and wrong with a reply in words; one without a well-formed answer does not parse."""
        answer, tagged = answers.extract(reply)
        action, valid = self.grammar.parse(answer)
        return self._judge(state, action, tagged & valid)

    def _judge(self, state: Board, action: jax.Array, parsed: jax.Array) -> Judgement:
        paths = checks.paths(state.instance, Plan(action.astype(jnp.int8)))
        return checks.judge(state.instance, paths, parsed, state.optimum, self.cost)

    def symbolic(self, state: Board) -> jax.Array:
        return engine.tiles(state.instance)

    def extent(self, state: Board) -> tuple[jax.Array, jax.Array]:
        return state.instance.side, state.instance.side

    def describe(self, state: Board) -> Texts:
        return engine.texts(state.instance)

    def exercised(self, state: Board, action: jax.Array, after: Board) -> dict[str, jax.Array]:
        told = self._judge(state, action, jnp.bool_(True))
        passed = dict(zip(checks.CHECKS, told.passed, strict=True))
        instance, there = state.instance, rules.present(state.instance)
        cells = checks.paths(instance, Plan(action.astype(jnp.int8))).cells
        arrived = there & (cells[-1] == instance.goals).all(-1)
        visits = (cells[..., 0] * SIDE + cells[..., 1])[..., None] == jnp.arange(SIDE * SIDE)
        crossed = ((visits.any(0) & there[:, None]).sum(0) > 1).any()
        stays = passed["no_hole"] & passed["on_board"]
        return {
            "locate_agent": passed["right_agents"] & passed["on_board"],
            "locate_target": 2 * arrived.sum() >= instance.agents,
            "plan_path": passed["goals_reached"] & stays,
            "predict_collision": passed["no_collision"] & stays & crossed,
            "coordinate_agents": told.valid,
            "schedule_order": told.optimal & state.needs_wait,
        }

    def expert(self, key: jax.Array, state: Board) -> jax.Array:
        """An optimal plan."""
        plan = solve(state.instance, self.cost, engine.TREE, generator.JOINT).plan
        return plan.moves.astype(jnp.int32)
