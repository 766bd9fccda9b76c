"""What the trainer's tests share: two environments, a tiny policy, demonstrations and plain recomputes."""

import dataclasses
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jaxenv
from jaxenv import text
from jaxenv.curriculum import HDCConfig
from jaxenv.environment import Environment, Level
from train.agent import Agent
from train.batches import Answer, Pack, PackedBatch, packed_batch, prompt_batch
from train.experience import CreditConfig
from train.learner import Learner, LearnerConfig, answer_hidden
from train.losses import token_log_probs
from train.policy.chat import PromptRow
from train.policy.generate import Prompt
from train.policy.weights import Params
from train.trainer import Trainer, TrainerConfig
from train.turns import ActorConfig

ENVS = "frozen_lake,rotate_matrix"
CANVAS, SLOTS, GROUP, GROUPS = 64, 8, 4, 2
PICTURE = jax.ShapeDtypeStruct((CANVAS, CANVAS, 3), np.uint8)
ACTOR = ActorConfig(max_new_tokens=12, rows=8, prompts=4, prompt_buckets=(160,))
LEARNER = LearnerConfig(micro_tokens=1536, answer_tokens=256)
LENGTH = 192  # of a pack
HDC = HDCConfig(p_cur=1.0, window=8)


def environments() -> list[Environment]:
    return [jaxenv.make(name, canvas=CANVAS)[0] for name in jaxenv.env_set(ENVS)]


def make_learner(agent: Agent, learning_rate: float = 1e-3, **config: float) -> Learner:
    return Learner(
        agent.policy,
        dataclasses.replace(LEARNER, **config),
        agent.chat.allowed,
        ACTOR.temperature,
        (LENGTH,),
        optax.constant_schedule(learning_rate),
    )


TRAINER = TrainerConfig(
    target_scale=2,
    group_size=GROUP,
    groups=GROUPS,
    rounds=1,
    most_prompts=64,
    minibatches=2,
    epochs=1,
    credit=CreditConfig(),
)


def make_trainer(agent: Agent, learner: Learner, hdc: HDCConfig = HDC, **config: int) -> Trainer:
    return Trainer(agent, learner, hdc, dataclasses.replace(TRAINER, **config))


def level(harness: int = 0, scale: int = 0) -> Level:
    full = partial(jnp.full, (len(ENVS.split(",")), SLOTS), dtype=jnp.int32)
    return Level(full(harness), full(scale))


def reset_keys(seed: int, copies: int = 1) -> jax.Array:
    """Keys of every slot, equal in runs of `copies`."""
    keys = jax.random.split(jax.random.key(seed), (len(ENVS.split(",")), SLOTS // copies))
    return jnp.repeat(keys, copies, axis=1)


@cache
def _expert(env: Environment):
    return jax.jit(jax.vmap(env.expert_text))


def demonstrations(agent: Agent, seed: int) -> list[Pack]:
    """The expert's reply to the first view of a fresh instance in every slot, with advantage 1."""
    keys = reset_keys(seed)
    view, groups = agent.mixture.reset(keys, level())
    said = [
        _expert(env)(key, group.episodes)
        for env, key, group in zip(agent.mixture.envs, keys, groups, strict=True)
    ]
    replies = agent.chat.replies([line for part in said for line in text.decode_batch(part)])
    prompts = agent.chat.prompts(text.decode_batch(view.prompt))
    pixels = np.asarray(view.pixels)
    return [
        Pack(prompt, picture, [Answer(reply, np.zeros(len(reply), np.float32), 1.0)])
        for prompt, picture, reply in zip(prompts, pixels, replies, strict=True)
    ]


def practice(agent: Agent, params: Params, seed: int) -> list[Pack]:
    """Eight prompts with two answers each, random advantages, and log-probabilities of a policy nearby."""
    rng = np.random.default_rng(seed)
    shown = demonstrations(agent, seed)
    packs = [
        Pack(a.prompt, a.shown, [a.answers[0], b.answers[0]])
        for a, b in zip(shown[::2], shown[1::2], strict=True)
    ]
    known = iter(answer_logprobs(agent, params, packs))

    def sampled(answer: Answer) -> Answer:
        noise = rng.normal(0, 0.2, len(answer.tokens))
        return Answer(answer.tokens, (next(known) + noise).astype(np.float32), float(rng.normal()))

    return [dataclasses.replace(pack, answers=list(map(sampled, pack.answers))) for pack in packs]


def answer_logprobs(
    agent: Agent, params: Params, packs: list[Pack], length: int = LENGTH
) -> list[np.ndarray]:
    """Log-probabilities of every answer of every pack, in order, as the learner computes them."""
    found: list[np.ndarray] = []
    for at in range(0, len(packs), 8):
        chunk = packs[at : at + 8]
        batch = packed_batch(chunk, 8, length, 512, PICTURE if packs[0].prompt.pictured else None)
        flat = np.asarray(_packed_logprobs(agent.policy.graphdef, params, batch, agent.actor.allowed))
        sizes = [len(answer.tokens) for pack in chunk for answer in pack.answers]
        found += np.split(flat[: sum(sizes)], np.cumsum(sizes)[:-1])
    return found


@partial(jax.jit, static_argnums=0)
def _packed_logprobs(
    graphdef: nnx.GraphDef, params: Params, batch: PackedBatch, allowed: jax.Array
) -> jax.Array:
    model = nnx.merge(graphdef, params)
    return token_log_probs(model.logits(answer_hidden(model, batch)), batch.target, allowed)


def alone(packs: list[Pack], length: int = LENGTH) -> Prompt:
    """Every prompt with one answer as a plain row of its own, without packing."""
    rows, pixels = [], []
    for pack in packs:
        for answer in pack.answers:
            prompt, n = pack.prompt, len(answer.tokens)
            after = np.broadcast_to(prompt.next_position + np.arange(n), (3, n))
            rows.append(
                PromptRow(
                    np.concatenate([prompt.tokens, answer.tokens]),
                    np.concatenate([prompt.positions, after], axis=1),
                    np.pad(prompt.image_slots, (0, n), constant_values=-1),
                    prompt.next_position + n,
                )
            )
            pixels.append(pack.shown)
    return prompt_batch(rows, np.stack(pixels), len(rows), length)


def plain_logprobs(graphdef: nnx.GraphDef, params: Params, rows: Prompt, allowed: jax.Array) -> jax.Array:
    """float32[B, P - 1]: log-probability of each token but the first given those before it."""
    model = nnx.merge(graphdef, params)
    hidden, _ = model(
        rows.tokens,
        rows.positions,
        visual=model.encode_images(rows.pictures),
        image_slots=rows.image_slots,
    )
    logprobs = jax.nn.log_softmax(jnp.where(allowed, model.logits(hidden), -1e9))
    return jnp.take_along_axis(logprobs[:, :-1], rows.tokens[:, 1:, None], 2)[..., 0]
