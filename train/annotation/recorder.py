"""Episodes kept turn by turn while they are played, and the abilities their turns exercised."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import abilities, answers, text
from jaxenv.environment import Environment, Episode
from jaxenv.mixture import Groups, Mixture, Outcome, View
from jaxenv.quick_compile import quick_jit
from jaxenv.text import Text
from train.annotation.transcript import Step, Transcript
from train.compilation import in_threads


class Turn(NamedTuple):
    """What one turn made of all slots."""

    before: Groups
    replies: Text
    after: Groups
    outcome: Outcome


class Recorder(Mixture):
    """A mixture that keeps every turn since its last reset in `turns`."""

    def reset_to(self, episodes: Sequence[Episode]) -> tuple[View, Groups]:
        self.turns: list[Turn] = []
        return super().reset_to(episodes)

    def step(
        self, keys: jax.Array, groups: Groups, replies: Text, max_turns: jax.Array
    ) -> tuple[View, Groups, Outcome]:
        view, after, outcome = super().step(keys, groups, replies, max_turns)
        self.turns.append(Turn(groups, replies, after, outcome))
        return view, after, outcome


def play_experts(recorder: Recorder, start: Groups, key: jax.Array, noise: float) -> None:
    """Plays every episode to its end by the experts; a share `noise` of the answers is random instead."""
    groups, limits = start, jnp.zeros(len(recorder.envs), jnp.int32)
    speak = [
        quick_jit(jax.vmap(partial(_speak, env, noise, recorder.reply_capacity))) for env in recorder.envs
    ]
    for t in range(recorder.longest(limits)):
        say_key, step_key = jax.random.split(jax.random.fold_in(key, t))
        shape = (len(recorder.envs), recorder.slots)
        say_keys, step_keys = jax.random.split(say_key, shape), jax.random.split(step_key, shape)
        said = in_threads(partial(say, say_keys[e], groups[e].episodes) for e, say in enumerate(speak))
        replies = jax.tree.map(lambda *parts: np.concatenate(parts), *said)
        _, groups, outcome = recorder.step(step_keys, groups, replies, limits)
        if outcome.done.all():
            return


def traced(recorder: Recorder) -> list[list[tuple[str, ...]]]:
    """For each environment and slot, the abilities in the order in which the episode exercised them, by the
    environments' own word; within a turn in the order of `Environment.abilities`."""
    return in_threads(partial(_traced, recorder, e) for e in range(len(recorder.envs)))


def _traced(recorder: Recorder, e: int) -> list[tuple[str, ...]]:
    env, rows = recorder.envs[e], slice(e * recorder.slots, (e + 1) * recorder.slots)
    judge = quick_jit(jax.vmap(partial(_exercised, env)))
    sequences: list[list[str]] = [[] for _ in range(recorder.slots)]
    for turn in recorder.turns:
        before = turn.before[e].episodes
        reply, outcome = jax.tree.map(lambda leaf: leaf[rows], (turn.replies, turn.outcome))
        flags = np.asarray(judge(before.state, reply, turn.after[e].episodes.state, outcome))
        for slot in np.flatnonzero(~np.asarray(before.done)):
            sequences[slot] += [name for name, on in zip(env.abilities, flags[slot], strict=True) if on]
    return [tuple(sequence) for sequence in sequences]


def transcripts(recorder: Recorder, strong: bool) -> list[list[Transcript]]:
    """For each environment and slot, the episode in words."""
    return [
        [_transcript(recorder, e, slot, strong) for slot in range(recorder.slots)]
        for e in range(len(recorder.envs))
    ]


def _transcript(recorder: Recorder, e: int, slot: int, strong: bool) -> Transcript:
    row, steps, success = e * recorder.slots + slot, [], False
    for turn in recorder.turns:
        if turn.before[e].episodes.done[slot]:
            break
        prompt, outcome = turn.before[e].view.prompt, turn.outcome
        told = text.decode(Text(prompt.data[slot], prompt.length[slot]))
        reply = text.decode(Text(turn.replies.data[row], turn.replies.length[row]))
        success = bool(outcome.success[row])
        became = answers.VERDICTS[outcome.verdict[row]] + (", and it solves the task" if success else "")
        steps.append(Step(told, reply, became))
    return Transcript(recorder.envs[e].id, strong, success, tuple(steps))


def _speak(env: Environment, noise: float, capacity: int, key: jax.Array, episode: Episode) -> Text:
    astray_key, random_key, expert_key = jax.random.split(key, 3)
    astray = jax.random.bernoulli(astray_key, noise)
    action = jnp.where(astray, env.grammar.sample(random_key), env.expert(expert_key, episode.state))
    return text.resize(answers.wrap(env.grammar.format(action)), capacity)


def _exercised(env: Environment, state: Any, reply: Text, after: Any, outcome: Outcome) -> jax.Array:
    action, _ = env.grammar.parse(answers.extract(reply)[0])
    return abilities.exercised(env, state, action, after, outcome.verdict, outcome.success)
