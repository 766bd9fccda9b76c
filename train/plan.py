"""What a run would need, before any weight is read: `python -m train.grpo ... --plan`.

The programs of the run are compiled for the chosen mesh on abstract arrays, by whatever backend is here (on a
machine without accelerators as many virtual CPU devices as the mesh takes), and the compiler says how much
memory each needs on a device. The CPU's compiler multiplies bfloat16 in float32, so its activations are an
upper bound for accelerators.
"""

import resource
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from rich.console import Console
from rich.table import Table

from train.batches import empty_pictures, packed_batch, prompt_batch
from train.eyes import picture_of
from train.flops import count_flops
from train.learner import Learner, LearnerConfig, LearnerState
from train.policy.config import PolicyConfig
from train.policy.generate import generate_jit
from train.policy.sharding import make_mesh, on, parameter_sharding
from train.policy.weights import LoadConfig, Policy, abstract_parameters
from train.turns import ActorConfig

GIB = 2**30


class Card(NamedTuple):
    """A device: its memory in GiB, and its peak of bfloat16 operations a second (the makers' data sheets,
    without sparsity)."""

    gib: int
    flops: float


CARDS = {
    "A100-80": Card(80, 312e12),
    "H100-80": Card(80, 989e12),
    "H200": Card(140, 989e12),
    "TPU v5e": Card(16, 197e12),
    "TPU v5p": Card(95, 459e12),
}
USABLE = 0.92
"""Share of it that a run can have: the rest is the runtime's, or lost between buffers."""


@dataclass(frozen=True)
class Sizes:
    """How much a run puts through the model."""

    prompt: int  # tokens of the longest prompt, padding included
    canvas: int | None  # of the picture that is shown, None where none is
    answered: int  # turns of a step, at most
    learnt: int  # packs learnt from in a step, at most: one an answer


@dataclass(frozen=True)
class Plan:
    """Bytes on one device, and the arithmetic of a whole step on all devices together."""

    parameters: int  # in number
    learning: int  # of them
    weights: int
    optimiser: int
    gradient: int
    cache: int  # keys and values, a part of `generating`
    generating: int  # beside weights and optimiser, at most
    learning_from: int
    applying: int
    program: int  # Python and its libraries, in the memory of the host
    flops: float

    @property
    def peak(self) -> int:
        return self.weights + self.optimiser + max(self.generating, self.learning_from, self.applying)


def make_plan(
    config: PolicyConfig,
    load: LoadConfig,
    mesh: str,
    actor: ActorConfig,
    learner: LearnerConfig,
    sizes: Sizes,
) -> Plan:
    """Compiles generation at the longest prompt, and the update at its pack, for abstract weights.

    Raises ValueError for a mesh that does not fit the devices there are.
    """
    policy = _abstract_policy(config, load, make_mesh(mesh))
    length = sizes.prompt + actor.max_new_tokens
    vocabulary = np.ones(config.text.vocab_size, bool)
    schedule = optax.constant_schedule(0.0)
    update = Learner(policy, learner, vocabulary, actor.temperature, [length], schedule)
    learnt, fixed = policy.split(policy.params)
    state = LearnerState(learnt, _placed(policy.mesh, jax.eval_shape(update.optimiser.init, learnt)))
    picture = None if sizes.canvas is None else picture_of(policy, sizes.canvas)

    prompt = prompt_batch([], empty_pictures(picture), actor.prompts, sizes.prompt)
    keys = jax.random.split(jax.random.key(0), actor.rows)
    asked = (policy.params, *_whole(policy.mesh, (prompt, np.zeros(actor.rows, np.int32), keys)))
    sample = partial(
        generate_jit,
        max_new_tokens=actor.max_new_tokens,
        temperature=np.float32(1),
        allowed=vocabulary,
        stop=vocabulary,
    )
    batch = packed_batch([], update.batch_size(length), length, learner.answer_tokens, picture)
    zero = jax.eval_shape(update.zeros, learnt)
    total = (_placed(policy.mesh, zero[0]), _whole(policy.mesh, zero[1]))
    shown = (learnt, fixed, total, *_whole(policy.mesh, (batch, jnp.float32(1))), False, None)

    with on(policy.mesh):
        generating = _beside(
            generate_jit.lower(policy.graphdef, *asked, **sample.keywords), _bytes(policy.params)
        )
        learning_from = _beside(update.accumulate.lower(*shown), _bytes(policy.params))
        applying = _beside(update.apply.lower(state, total[0], jnp.float32(0)), _bytes(state))
        per_call = count_flops(partial(sample, policy.graphdef), *asked, turns=actor.max_new_tokens - 1)
        per_batch = count_flops(update.accumulate, *shown)
    calls = -(-sizes.answered // actor.rows)
    batches = -(-sizes.learnt // update.batch_size(length))
    return Plan(
        parameters=_count(policy.params),
        learning=_count(learnt),
        weights=_bytes(policy.params),
        optimiser=_bytes(state.opt_state),
        gradient=_bytes(total[0]),
        cache=_cache_bytes(config, load, policy.mesh, actor, length),
        generating=generating,
        learning_from=learning_from,
        applying=applying,
        program=_own_bytes(),
        flops=calls * per_call + batches * per_batch,
    )


def show(plan: Plan, mesh: str) -> None:
    """Prints the plan, and on which cards it fits."""
    devices = f"each of {jax.device_count()} devices ({mesh})" if mesh else "the device"
    needs = Table("", f"GiB on {devices}", title="What the run needs")
    rows = {
        "weights": plan.weights,
        "optimiser": plan.optimiser,
        "while generating, beside them": plan.generating,
        "  of which keys and values": plan.cache,
        "while the gradient is taken": plan.learning_from,
        "  of which the gradient": plan.gradient,
        "while it is applied": plan.applying,
        "most at a time": plan.peak,
    }
    if not mesh:
        rows["the same on a CPU, with Python"] = plan.peak + plan.program
    for name, size in rows.items():
        needs.add_row(name, f"{size / GIB:,.2f}")
    cards = Table("device", "GiB", "fits", "seconds of a step at its peak rate", title="Where it fits")
    for name, card in CARDS.items():
        fits = plan.peak <= USABLE * card.gib * GIB
        seconds = plan.flops / (max(jax.device_count(), 1) * card.flops)
        cards.add_row(name, str(card.gib), "yes" if fits else "no", f"{seconds:,.2f}")
    console = Console()
    console.print(
        f"{plan.parameters:,} parameters, of which {plan.learning:,} learn; "
        f"{plan.flops:.2e} floating point operations a step at most"
    )
    console.print(needs)
    console.print(cards)


def _abstract_policy(config: PolicyConfig, load: LoadConfig, mesh: Mesh | None) -> Policy:
    graphdef, shapes = abstract_parameters(config, load)
    return Policy(config, graphdef, _placed(mesh, shapes), load, mesh)


def _placed(mesh: Mesh | None, tree: Any) -> Any:
    """Abstract arrays where `sharding.shard` would put them."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: jax.ShapeDtypeStruct(
            leaf.shape, leaf.dtype, sharding=parameter_sharding(mesh, path, leaf.shape)
        ),
        tree,
    )


def _whole(mesh: Mesh | None, tree: Any) -> Any:
    """Abstract arrays that are on every device."""
    here = parameter_sharding(mesh, (), ())
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here), tree)


def _beside(lowered: jax.stages.Lowered, resident: int) -> int:
    """Bytes a program needs on a device beside those of its arguments that are there anyway."""
    told = lowered.compile().memory_analysis()
    assert told is not None
    used = told.argument_size_in_bytes + told.output_size_in_bytes + told.temp_size_in_bytes
    return max(used - told.alias_size_in_bytes - resident, 0)


def _bytes(tree: Any) -> int:
    """Bytes of abstract arrays on one device."""
    return sum(
        int(np.prod(leaf.sharding.shard_shape(leaf.shape))) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(tree)
    )


def _count(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def _cache_bytes(
    config: PolicyConfig, load: LoadConfig, mesh: Mesh | None, actor: ActorConfig, slots: int
) -> int:
    text, share = config.text, 1
    if mesh is not None and actor.rows % (mesh.shape["data"] * mesh.shape["fsdp"]) == 0:
        share = mesh.shape["data"] * mesh.shape["fsdp"]
    tokens = text.num_hidden_layers * actor.rows * slots // share
    return 2 * tokens * text.num_key_value_heads * text.head_dim * jnp.dtype(load.compute).itemsize


def _own_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
