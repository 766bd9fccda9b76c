"""What a model is asked about episodes, and how its answers are read.

An answer that is not valid is a ValueError with the reason.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from jaxenv.abilities import definitions
from train.annotation.transcript import Step, Transcript

Messages = list[dict[str, str]]

NONE = "none"  # of the known abilities
MOST_PER_STEP, LONGEST_NAME = 12, 60
STEPS_SCHEMA = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "integer"},
                    "abilities": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["step", "abilities"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["steps"],
    "additionalProperties": False,
}
EXAMPLES = (
    (
        Transcript(
            "frozen_lake",
            True,
            True,
            (
                Step("Walk to the gift and stay out of the holes.", "<answer>right</answer>", "accepted"),
                Step("Walk to the gift and stay out of the holes.", "<answer>down</answer>", "reached it"),
            ),
        ),
        [
            ["locate_agent", "locate_target", "plan_path", "format_move"],
            ["predict_move_effect", "format_move"],
        ],
    ),
    (
        Transcript(
            "rectangle_count",
            False,
            False,
            (Step("How many rectangles?", "There are 3, I think", "no answer tag"),),
        ),
        [["recognise_shape", "count_objects"]],
    ),
)


def about_episode(transcript: Transcript) -> Messages:
    """Asks for the abilities of every step, with two examples."""
    instructions = f"""\
You cut an agent's episode into atomic abilities: units of behaviour that mattered for solving the task.
For every step name those that the answer shows to have been exercised, in the order in which they were
needed, not those that the task would have needed. Prefer these names:

{_vocabulary()}

Where none fits, give a name of your own in the same style. Coarse labels such as perception or planning are
not abilities. Answer one JSON object of this schema and nothing else:
{json.dumps(STEPS_SCHEMA)}"""
    messages = [{"role": "system", "content": instructions}]
    for example, steps in EXAMPLES:
        said = {"steps": [{"step": n, "abilities": names} for n, names in enumerate(steps, 1)]}
        messages.append({"role": "user", "content": str(example)})
        messages.append({"role": "assistant", "content": json.dumps(said)})
    return [*messages, {"role": "user", "content": str(transcript)}]


def about_names(strange: Sequence[str]) -> Messages:
    """Asks which known ability each name means."""
    question = f"""\
{_vocabulary()}

Which of these abilities does each of the following names mean? Answer one JSON object from each name to an
ability of the list, or to "{NONE}" where it means none of them or something coarser.

{json.dumps(list(strange))}"""
    return [{"role": "user", "content": question}]


def names_schema(strange: Sequence[str]) -> dict[str, Any]:
    """The form of an answer to `about_names`."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "enum": [*definitions(), NONE]} for name in strange},
        "required": list(strange),
        "additionalProperties": False,
    }


def read_steps(reply: str, transcript: Transcript) -> list[str]:
    """The names of all steps in order, as given but for their spelling."""
    steps = _object(reply).get("steps")
    if not isinstance(steps, list):
        raise ValueError('there is no list "steps"')
    names: list[str] = []
    last = 0
    for item in steps:
        step, given = (item.get("step"), item.get("abilities")) if isinstance(item, dict) else (None, None)
        if type(step) is not int or not last < step <= len(transcript.steps):
            raise ValueError(
                f"steps must rise from 1 to at most {len(transcript.steps)}, not {str(step)[:40]!r}"
            )
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise ValueError(f"the abilities of step {step} are not a list of strings")
        if len(given) > MOST_PER_STEP:
            raise ValueError(f"step {step} has {len(given)} abilities, more than {MOST_PER_STEP}")
        names += [_spelled(name) for name in given]
        last = step
    if not names:
        raise ValueError("it names no ability")
    return names


def read_meanings(reply: str, strange: Sequence[str]) -> dict[str, str]:
    """The known ability that each strange name means, or NONE."""
    said = _object(reply)
    known = {*definitions(), NONE}
    meant = {name: str(said.get(name)) for name in strange}
    for name, ability in meant.items():
        if ability not in known:
            raise ValueError(f"{name!r} is given as {ability[:40]!r}, which is not of the list")
    return meant


def _object(reply: str) -> dict[str, Any]:
    """The JSON object of a reply, also from inside a fence."""
    fenced = re.search(r"```(?:json)?\s*(.*?)```", reply, re.DOTALL)
    try:
        said = json.loads(fenced.group(1) if fenced else reply)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(said, dict):
        raise ValueError("it is not a JSON object")
    return said


def _spelled(name: str) -> str:
    """A name as the vocabulary spells: "Locate agent" as locate_agent."""
    spelled = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not spelled or len(spelled) > LONGEST_NAME:
        raise ValueError(f"{name[:40]!r} is not the name of an ability")
    return spelled


def _vocabulary() -> str:
    return "\n".join(f"- {name}: {meaning}" for name, meaning in definitions().items())
