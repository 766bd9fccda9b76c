"""Cuts episodes into atomic abilities by asking a model behind an OpenAI-compatible endpoint.

One prompt with two examples for every episode. An answer that is not valid is asked for again with the
reason. Names that mean a known ability are merged with it in a second question about all of them at once;
coarse labels and names that mean nothing known are dropped. What was answered validly is kept on disk, so
that no episode is asked about twice, whatever ends the run.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jaxenv.abilities import definitions
from train.annotation import questions
from train.annotation.kept_answers import KeptAnswers
from train.annotation.transcript import Transcript
from train.endpoint import Endpoint, chat

# Labels that say nothing of what was done.
COARSE = {
    "action",
    "analysis",
    "cognition",
    "decision_making",
    "interaction",
    "memory",
    "observation",
    "perception",
    "planning",
    "problem_solving",
    "reasoning",
    "spatial_reasoning",
    "understanding",
    "vision",
    "visual_perception",
    "world_modelling",
}
Said = TypeVar("Said")


class AnnotationError(ValueError):
    """The model gave no valid annotation: one line that says of what, why, and what is kept."""


@dataclass(frozen=True)
class AnnotatorConfig:
    """Who annotates, and how patiently."""

    endpoint: Endpoint = field(default_factory=lambda: Endpoint(temperature=0.0))
    kept: Path = Path("runs/annotations")
    """Directory of the answers; what is there is not asked again."""
    answers: int = 3
    """Answers to one question before giving up when none is valid."""
    parallel: int = 8
    """Questions under way at a time."""


class Annotated(NamedTuple):
    """For every episode the abilities in the order in which they were exercised; and how often each name that
    was dropped had been given."""

    abilities: list[tuple[str, ...]]
    dropped: Counter[str]


def annotate(
    transcripts: Sequence[Transcript],
    config: AnnotatorConfig,
    tell: Callable[[int], None] = lambda done: None,
) -> Annotated:
    """Asks about every episode, then about the names that are not in the vocabulary. `tell` gets the number
    of episodes done.

    Raises EndpointError or AnnotationError for a question without a valid answer; what was answered is kept.
    """
    kept = KeptAnswers(config.kept)
    named: list[list[str]] = []
    with ThreadPoolExecutor(config.parallel) as pool:
        try:
            for names in pool.map(partial(_names, kept, config), transcripts):
                named.append(names)
                tell(len(named))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    strange = sorted({name for names in named for name in names} - set(definitions()) - COARSE)
    return _in_vocabulary(named, _merged(strange, kept, config) if strange else {})


def _names(kept: KeptAnswers, config: AnnotatorConfig, transcript: Transcript) -> list[str]:
    return _ask(
        questions.about_episode(transcript),
        questions.STEPS_SCHEMA,
        partial(questions.read_steps, transcript=transcript),
        f"an episode of {transcript.env_id}",
        kept,
        config,
    )


def _merged(strange: Sequence[str], kept: KeptAnswers, config: AnnotatorConfig) -> dict[str, str]:
    return _ask(
        questions.about_names(strange),
        questions.names_schema(strange),
        partial(questions.read_meanings, strange=strange),
        "the names to merge",
        kept,
        config,
    )


def _in_vocabulary(named: Sequence[Sequence[str]], meant: Mapping[str, str]) -> Annotated:
    """What comes to the same ability twice in a row is one."""
    dropped: Counter[str] = Counter()
    told = []
    for names in named:
        sequence: list[str] = []
        for name in names:
            ability = meant.get(name, name)
            if ability not in definitions():
                dropped[name] += 1
            elif sequence[-1:] != [ability]:
                sequence.append(ability)
        told.append(tuple(sequence))
    return Annotated(told, dropped)


def _ask(
    messages: questions.Messages,
    schema: Mapping[str, Any],
    read: Callable[[str], Said],
    what: str,
    kept: KeptAnswers,
    config: AnnotatorConfig,
) -> Said:
    """What a valid answer says: a kept one, or the first valid one of at most `answers`."""
    place = kept.place(config.endpoint.model, messages)
    reply = kept.get(place)
    reason, asked = "", messages
    for _ in range(config.answers):
        if reply is None:
            reply = chat(asked, config.endpoint, schema)
        try:
            said = read(reply)
        except ValueError as error:
            reason = str(error)
            again = f"That is not valid: {reason}. Answer again, with the JSON object alone."
            asked = [*messages, {"role": "assistant", "content": reply}, {"role": "user", "content": again}]
            reply = None
        else:
            kept.put(place, reply)
            return said
    raise AnnotationError(
        f"{config.endpoint.url}: no valid annotation of {what} in {config.answers} answers: {reason}; "
        f"what was answered validly is kept in {config.kept}, and the same command goes on from there"
    )
