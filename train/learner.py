"""From packs of answers to new parameters: micro-batches, one optimiser step, and a guard.

Imitation is the special case of advantage 1 on the expert's answers with no sampling policy to compare to.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from jaxenv.quick_compile import compile_side_by_side
from train.batches import Dialogue, Pack, PackedBatch, bucket, packed_batch, split_answers
from train.losses import grpo_loss, token_statistics
from train.policy.model import Model
from train.policy.sharding import commit, constrain_parameters, everywhere, on, replicate
from train.policy.weights import Params, Policy, join


@dataclass(frozen=True)
class LearnerConfig:
    """How packs become one update."""

    adam_b2: float = 0.99
    """Decay of Adam's second moment."""
    max_grad_norm: float = 1.0
    """The gradient is scaled down to this norm."""
    clip_low: float = 0.2
    """The probability ratio is clipped below 1 - clip_low."""
    clip_high: float = 0.28
    """The probability ratio is clipped above 1 + clip_high (DAPO's clip-higher)."""
    kl_coefficient: float = 0.0
    """Weight of the k3 estimate of the divergence from the starting policy; 0 computes none."""
    micro_tokens: int = 4096
    """Tokens of one micro-batch, padding included."""
    answer_tokens: int = 1024
    """Answer tokens of one micro-batch at most."""
    logits_at_a_time: int = 2**25
    """Logits that exist at a time; those of more answer tokens are made in chunks."""
    remat: bool = False
    """Each layer is computed again for the gradient instead of being kept: less memory, a third more work."""


class LearnerState(NamedTuple):
    """What an update changes: `params` are those of the policy that learn."""

    params: Params
    opt_state: optax.OptState


class Learner:
    """Compiled update functions of one policy. `lengths` are the pack lengths that may be compiled, and
    `most_pictures` says how many pictures a pack of a length may show."""

    def __init__(
        self,
        policy: Policy,
        config: LearnerConfig,
        allowed: np.ndarray,
        temperature: float,
        lengths: Sequence[int],
        schedule: optax.Schedule,
        most_pictures: Callable[[int], int] = lambda length: 1,
    ) -> None:
        self.config = config
        self.lengths, self.most_pictures = tuple(lengths), most_pictures
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm),
            optax.scale_by_adam(b1=0.9, b2=config.adam_b2),
            optax.scale_by_learning_rate(schedule),
        )
        self.mesh, self._split = policy.mesh, policy.split
        self._fixed = policy.split(policy.params)[1]
        self._reference = policy.params if config.kl_coefficient else None
        self.accumulate = jax.jit(
            partial(_accumulate, policy.graphdef, config, np.asarray(allowed), temperature),
            donate_argnums=2,
        )
        self.apply = jax.jit(partial(_apply, self.optimiser), donate_argnums=1)
        self._init = jax.jit(lambda learnt: constrain_parameters(self.optimiser.init(learnt)))
        self.zeros = jax.jit(_nothing)

    def init(self, params: Params) -> LearnerState:
        """The state before the first update of a policy with these parameters."""
        learnt = self._split(params)[0]
        with on(self.mesh):
            return LearnerState(learnt, commit(self.mesh, self._init(learnt)))

    def policy_params(self, state: LearnerState) -> Params:
        """All parameters of the policy: those that learn and those that do not."""
        return join(state.params, self._fixed)

    def update(
        self,
        state: LearnerState,
        packs: Sequence[Pack | Dialogue],
        tokens: float,
        imitate: bool = False,
    ) -> tuple[LearnerState, dict[str, float]]:
        """One optimiser step on packs; `tokens` answer tokens is what the loss is divided by (those of
        answers with advantage 0 count although they need not be given).

        Returns the new state and metrics as means over the given tokens; `skipped` is 1 when the loss or
        the gradient was not finite and nothing was changed.
        """
        if not packs:
            return state, {"skipped": 0.0, "grad_norm": 0.0}
        gradient, added = self.gradient(state, packs, tokens, imitate)
        with on(self.mesh):
            after, norm, skipped = self.apply(state, gradient, added["loss"])
        sums = {name: float(value) for name, value in added.items()}
        count = max(sums.pop("tokens"), 1.0)
        loss = sums.pop("loss")
        means = {name: value / count for name, value in sums.items()}
        return after, {"loss": loss, "grad_norm": float(norm), "skipped": float(skipped), **means}

    def gradient(
        self, state: LearnerState, packs: Sequence[Pack | Dialogue], tokens: float, imitate: bool = False
    ) -> "_Total":
        """The gradient that `update` would apply, of the parameters that learn, and the sums of metrics."""
        total = self._nothing(state)
        for batch in self.micro_batches(packs):
            total = self._add(state, total, batch, tokens, imitate)
        return total

    def micro_batches(self, packs: Sequence[Pack | Dialogue]) -> list[PackedBatch]:
        """Packs from the longest down, as many in a batch as fit: only the last batch is not full."""
        most = self.config.answer_tokens
        parts = [part for pack in packs for part in split_answers(pack, self.lengths[-1], most)]
        batches: list[PackedBatch] = []
        chosen: list[Pack | Dialogue] = []
        for pack in sorted(parts, key=lambda part: -part.length):
            length = bucket(chosen[0].length, self.lengths) if chosen else 0
            answers = sum(other.answer_length for other in chosen) + pack.answer_length
            if chosen and (len(chosen) == self.batch_size(length) or answers > most):
                batches.append(self._batch(chosen, length, chosen[0].picture))
                chosen = []
            chosen.append(pack)
        batches.append(self._batch(chosen, bucket(chosen[0].length, self.lengths), chosen[0].picture))
        return batches

    def _batch(
        self, packs: Sequence[Pack | Dialogue], length: int, picture: jax.ShapeDtypeStruct | None
    ) -> PackedBatch:
        answers, pictures = self.config.answer_tokens, self.most_pictures(length)
        return packed_batch(packs, self.batch_size(length), length, answers, picture, pictures)

    def batch_size(self, length: int) -> int:
        return max(1, self.config.micro_tokens // length)

    def compile(self, state: LearnerState, picture: jax.ShapeDtypeStruct | None) -> None:
        """Compiles the update for packs of every length, side by side; `picture` is the shape and type of
        what is shown of a picture, None where none is."""
        with on(self.mesh):
            compile_side_by_side(self._lowered(state, picture))

    def _lowered(
        self, state: LearnerState, picture: jax.ShapeDtypeStruct | None
    ) -> Iterator[jax.stages.Lowered]:
        total = self._nothing(state)
        for length in self.lengths:
            batch = self._batch([], length, picture)
            yield self.accumulate.lower(*self._arguments(state, total, batch, 1.0, False))
        yield self.apply.lower(state, total[0], total[1]["loss"])

    def _nothing(self, state: LearnerState) -> "_Total":
        with on(self.mesh):
            return commit(self.mesh, self.zeros(state.params))

    def _add(
        self, state: LearnerState, total: "_Total", batch: PackedBatch, tokens: float, imitate: bool
    ) -> "_Total":
        with on(self.mesh):
            return self.accumulate(*self._arguments(state, total, batch, tokens, imitate))

    def _arguments(
        self, state: LearnerState, total: "_Total", batch: PackedBatch, tokens: float, imitate: bool
    ) -> tuple[Any, ...]:
        """Those of `accumulate`."""
        given = replicate(self.mesh, (batch, jnp.float32(tokens)))
        return state.params, self._fixed, total, *given, imitate, self._reference


_Total = tuple[Params, dict[str, jax.Array]]
"""The gradient so far, and the sums of metrics."""


def answer_hidden(model: Model, batch: PackedBatch, remat: bool = False) -> jax.Array:
    """Hidden states float[N, D] from which each answer token is predicted."""
    segment = batch.segment
    same = (segment[:, None, :] == segment[:, :, None]) | (segment[:, None, :] == 0)
    length = segment.shape[1]
    causal = jnp.arange(length)[None, :] <= jnp.arange(length)[:, None]
    hidden, _ = model(
        batch.tokens,
        batch.positions,
        visual=model.see(batch.pictures),
        image_slots=batch.image_slots,
        mask=same & causal,
        remat=remat,
    )
    return hidden.reshape(-1, hidden.shape[-1])[batch.source]


_SUMS = (
    "loss",
    "tokens",
    "clipped_low",
    "clipped_high",
    "old_kl",
    "log_ratio",
    "ref_kl",
    "entropy",
    "logprob",
)


def _nothing(learnt: Params) -> _Total:
    """The total before the first micro-batch."""
    gradient = constrain_parameters(jax.tree.map(jnp.zeros_like, learnt))
    return gradient, everywhere({name: jnp.float32(0) for name in _SUMS})


def _accumulate(
    graphdef: nnx.GraphDef,
    config: LearnerConfig,
    allowed: np.ndarray,
    temperature: float,
    learnt: Params,
    fixed: Params,
    total: _Total,
    batch: PackedBatch,
    normaliser: jax.Array,
    imitate: bool | jax.Array,
    reference: Params | None,
) -> _Total:
    """Adds the gradient and metric sums of one micro-batch to `total`."""

    def statistics(weights: Params) -> tuple[jax.Array, jax.Array]:
        model: Model = nnx.merge(graphdef, weights)
        chunk = max(1, config.logits_at_a_time // model.config.text.vocab_size)
        hidden = answer_hidden(model, batch, config.remat)
        return token_statistics(model.logits, hidden, batch.target, allowed, temperature, chunk)

    def loss(weights: Params) -> tuple[jax.Array, dict[str, jax.Array]]:
        chosen, entropies = statistics(join(weights, fixed))
        old = jnp.where(imitate, jax.lax.stop_gradient(chosen), batch.logprobs)
        anchor = None if reference is None else jax.lax.stop_gradient(statistics(reference)[0])
        value, sums = grpo_loss(
            chosen,
            old,
            batch.advantages,
            batch.mask,
            normaliser,
            config.clip_low,
            config.clip_high,
            config.kl_coefficient if reference is not None else 0.0,
            anchor,
            entropies,
        )
        known = jnp.where(batch.mask, jax.lax.stop_gradient(chosen), 0.0).sum()
        return value, {**sums, "loss": value, "logprob": known}

    gradient, sums = jax.grad(loss, has_aux=True)(learnt)
    grads, metrics = total
    added = {name: metrics[name] + sums.get(name, 0.0) for name in _SUMS}
    return constrain_parameters(jax.tree.map(jnp.add, grads, gradient)), everywhere(added)


def _apply(
    optimiser: optax.GradientTransformation, state: LearnerState, grads: Params, loss: jax.Array
) -> tuple[LearnerState, jax.Array, jax.Array]:
    """(state after one step, gradient norm, skipped): the same state where anything is not finite."""
    norm = optax.tree.norm(grads)
    finite = jnp.isfinite(norm) & jnp.isfinite(loss)
    updates, opt_state = optimiser.update(grads, state.opt_state, state.params)
    stepped: Any = optax.apply_updates(state.params, updates)
    moved = LearnerState(stepped, opt_state)
    kept: Any = jax.tree.map(lambda new, old: jnp.where(finite, new, old), moved, state)
    return constrain_parameters(kept), *everywhere((norm, ~finite))
