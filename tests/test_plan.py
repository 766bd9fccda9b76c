"""What a run would need: arithmetic counted right, memory shared out by the mesh, one line for mistakes."""

import functools
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from train.flops import count_flops
from train.learner import LearnerConfig
from train.plan import Plan, Sizes, make_plan
from train.policy.config import read_config
from train.policy.weights import LoadConfig, load_policy
from train.turns import ActorConfig

GOLDEN = Path(__file__).parent / "policy" / "golden"
SIZES = Sizes(prompt=64, canvas=32, answered=100, learnt=50)


@functools.cache
def plan(
    checkpoint: str = "tied", load: LoadConfig | None = None, sizes: Sizes = SIZES, rows: int = 4
) -> Plan:
    actor = ActorConfig(max_new_tokens=16, rows=rows, prompts=2)
    learner = LearnerConfig(micro_tokens=320, answer_tokens=64)
    return make_plan(read_config(GOLDEN / checkpoint), load or LoadConfig(), "", actor, learner, sizes)


def test_products_are_counted_in_loops_too() -> None:
    a, b = jax.ShapeDtypeStruct((3, 5), jnp.float32), jax.ShapeDtypeStruct((5, 5), jnp.float32)
    once = 2 * 3 * 5 * 5
    assert count_flops(lambda a, b: a @ b, a, b) == once
    assert (
        count_flops(lambda a, b: jax.lax.scan(lambda x, _: (x @ b, None), a, length=7)[0], a, b) == 7 * once
    )

    def until(a: jax.Array, b: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda x: x.sum() < 9, lambda x: jax.jit(jnp.dot)(x, b), a)

    assert count_flops(until, a, b, turns=4) == 4 * once


def test_weights_optimiser_and_gradient_are_those_of_the_model() -> None:
    told = plan()
    leaves = jax.tree.leaves(load_policy(GOLDEN / "tied").params)
    assert told.parameters == told.learning == sum(leaf.size for leaf in leaves)
    assert told.weights == told.gradient == 4 * told.parameters
    assert told.optimiser == pytest.approx(2 * told.weights, rel=1e-3)
    config = read_config(GOLDEN / "tied").text
    per_token = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    assert told.cache == per_token * 4 * (64 + 16)
    assert told.generating > told.cache
    assert told.learning_from > told.gradient
    assert told.peak > told.weights + told.optimiser + told.gradient


def test_adapters_need_less() -> None:
    whole, small = plan(), plan(load=LoadConfig("adapters", "bfloat16", 2))
    assert small.learning < whole.learning / 5
    assert small.weights < 0.7 * whole.weights
    assert small.optimiser < whole.optimiser / 5


@pytest.mark.exhaustive
def test_more_rows_and_longer_prompts_need_more() -> None:
    base = plan()
    assert plan(rows=16).generating > 1.5 * base.generating
    longer = plan(sizes=Sizes(128, 32, 100, 50))
    assert longer.flops > base.flops
    assert longer.learning_from > base.learning_from


@pytest.mark.slow
def test_the_command_plans_for_a_mesh() -> None:
    """On a machine without such devices, from config.json alone."""
    command = [sys.executable, "-m", "train.grpo", "--plan", "--env-set", "frozen_lake"]
    command += ["--model", str(GOLDEN / "qwen3"), "--observation", "text"]
    flags = ["--actor.prompt-buckets", "64", "--actor.rows", "8", "--mesh", "fsdp=2,tensor=2"]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, check=True)
    assert "GiB on each of 4 devices (fsdp=2,tensor=2)" in done.stdout
    assert "H200" in done.stdout
    bad = subprocess.run([*command, "--mesh", "rows=2"], capture_output=True, text=True)
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
    assert "mesh: 'rows=2' is not one of data=N, fsdp=N, tensor=N" in bad.stderr
