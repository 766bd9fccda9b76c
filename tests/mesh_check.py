"""One update and some generation on one device and on a mesh of eight, compared. Run by test_mesh.py in a
process of its own, for the number of devices is fixed when JAX starts; prints a JSON object."""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tiny

from train.agent import Agent, make_agent
from train.batches import Pack
from train.compilation import use_persistent_cache
from train.policy.sharding import fetch
from train.policy.weights import LoadConfig


def updated(agent: Agent, packs: list[Pack]) -> tuple[dict[str, float], list[np.ndarray]]:
    """Metrics of one update, and Adam's first moment: a tenth of the gradient."""
    learner = tiny.make_learner(agent)
    tokens = sum(pack.answer_length for pack in packs)
    state, metrics = learner.update(learner.init(agent.policy.params), packs, tokens)
    return metrics, jax.tree.leaves(fetch(optax.tree.get(state.opt_state, "mu")))


def played(agent: Agent, temperature: float) -> list[list[int]]:
    """The tokens said in the first turns of every slot's episode."""
    turns = jnp.full(len(agent.names), 2, jnp.int32)
    start = agent.mixture.reset(tiny.reset_keys(5), tiny.level())
    rollout = agent.actor.play(agent.policy.params, start, jax.random.key(6), turns, temperature)
    return [turn.tokens.tolist() for turn in rollout.turns]


def spread(agent: Agent) -> float:
    """The largest share of any kernel that one device holds."""
    leaves = jax.tree_util.tree_leaves_with_path(agent.policy.params["decoder"])
    return max(
        leaf.sharding.shard_shape(leaf.shape)[-1] * leaf.sharding.shard_shape(leaf.shape)[-2]
        / (leaf.shape[-1] * leaf.shape[-2])
        for path, leaf in leaves
        if path[-1].key in ("kernel", "rows")
    )  # fmt: skip


def main(model: Path, mesh: str, load: LoadConfig) -> None:
    use_persistent_cache()
    settings = (model, tiny.ENVS, tiny.SLOTS, tiny.CANVAS, tiny.ACTOR, "pixels", 0, load)
    alone, together = make_agent(*settings), make_agent(*settings, mesh)
    packs = tiny.practice(alone, alone.policy.params, seed=3)
    (metrics, gradient), (others, shared) = updated(alone, packs), updated(together, packs)
    differences = [float(np.abs(a - b).max()) for a, b in zip(gradient, shared, strict=True)]
    print(
        json.dumps(
            {
                "devices": jax.device_count(),
                "spread": spread(together),
                "metrics": metrics,
                "mesh_metrics": others,
                "gradient": max(float(np.abs(leaf).max()) for leaf in gradient),
                "difference": max(differences),
                "greedy": played(alone, 0.0) == played(together, 0.0),
                "sampled": played(alone, 1.0) == played(together, 1.0),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], LoadConfig(*json.loads(sys.argv[3])))
