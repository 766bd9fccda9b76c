"""Who designs the next round: nobody, chance, a rule or a model. All answer in words, all are read alike."""

from collections.abc import Callable, Sequence

import numpy as np

from train.endpoint import Endpoint, chat
from train.engineering.config import LIMITS, SIZES, GeneratorConfig, normalised, random_config
from train.engineering.records import Proposal, Round, tally
from train.engineering.reply import Rejection, parse

# (what it is told, the finished rounds, the last configuration) -> a reply that `reply.parse` reads
Design = Callable[[str, Sequence[Round], GeneratorConfig], str]

FRONTIER = (0.2, 0.8)  # pass rates between which the policy learns most
WEIGHT_BELOW, WEIGHT_ABOVE = 0.5, 0.25  # of data for sizes it fails and sizes it has mastered; 1 between
EASE, HARDEN = 0.8, 1.2  # factors of hole and wait ratios for the same two


def propose(design: Design, context: str, rounds: Sequence[Round]) -> Proposal:
    """Ask a designer for the round after `rounds`, the finished ones, at least one.

    A reply that is rejected keeps the last configuration, with the reason. Raises what the designer raises.
    """
    previous = rounds[-1].proposal.config
    reply = design(context, rounds, previous)
    read = parse(reply)
    if isinstance(read, Rejection):
        return Proposal(previous, "kept", read.reason, context, reply)
    return Proposal(read, "proposed", prompt=context, reply=reply)


def first_proposal(seed: int) -> Proposal:
    """Round 0's random configuration, for which nobody is asked."""
    return Proposal(random_config(seed), "random")


def fixed(context: str, rounds: Sequence[Round], previous: GeneratorConfig) -> str:
    """Changes nothing: the baseline of one configuration for all rounds."""
    return previous.to_yaml()


def random(seed: int) -> Design:
    """Draws every round's configuration anew: the baseline that does not look."""

    def design(context: str, rounds: Sequence[Round], previous: GeneratorConfig) -> str:
        return random_config(seed, number=len(rounds)).to_yaml()

    return design


def rule(context: str, rounds: Sequence[Round], previous: GeneratorConfig) -> str:
    """Moves half of the way to a distribution around the capability frontier.

    By the pass rate p of each size in the last evaluation: 0.2 <= p <= 0.8 weighs 1 and keeps its hole and
    wait ratios; p < 0.2 weighs 0.5 and has both lowered by a fifth; p > 0.8 weighs 0.25 and has both raised
    by a fifth. The new data share is the mean of the old one and the weight's. Sizes that are not evaluated
    keep all their ratios. The numbers are this project's choice.
    """
    cells = rounds[-1].outcome.evaluation
    data, hole, wait = (np.array(getattr(previous, name)) for name in LIMITS)
    weight = np.zeros(len(SIZES))
    for i, size in enumerate(SIZES):
        part = [cell for cell in cells if cell.size == size]
        if not part:
            continue
        passed = tally(part).pass_rate
        below, above = passed < FRONTIER[0], passed > FRONTIER[1]
        weight[i] = WEIGHT_BELOW if below else WEIGHT_ABOVE if above else 1.0
        factor = EASE if below else HARDEN if above else 1.0
        hole[i] = min(LIMITS["hole"], factor * hole[i])
        wait[i] = min(LIMITS["wait"], factor * wait[i])
    judged = weight > 0
    goal = np.where(judged, weight / weight.sum() * data[judged].sum(), data)
    return normalised(((data + goal) / 2).tolist(), hole.tolist(), wait.tolist()).to_yaml()


def model(generate: Callable[[str], str]) -> Design:
    """A model that `generate` asks: the prompt's text to the reply's, as with the policy that is trained."""

    def design(context: str, rounds: Sequence[Round], previous: GeneratorConfig) -> str:
        return generate(context)

    return design


def endpoint_model(endpoint: Endpoint) -> Design:
    """A model behind an OpenAI-compatible endpoint. Asking it may raise EndpointError."""
    return model(lambda context: chat([{"role": "user", "content": context}], endpoint))
