"""Rounds and evaluations made up for the tests."""

import numpy as np

from jaxenv.mapf.checks import CHECKS
from train.engineering.config import random_config
from train.engineering.designers import first_proposal
from train.engineering.records import Cell, Outcome, Proposal, Round

PASS_BY_SIZE = {3: 0.96, 4: 0.9, 5: 0.74, 6: 0.6, 7: 0.44, 8: 0.3, 9: 0.12, 10: 0.04}


def evaluation(shift=0.0, instances=50, seed=0):
    """The published evaluation's cells: 3, 4 and 5 agents, sizes up to 10, three wait ratios."""
    draw = np.random.default_rng(seed)
    cells = []
    for agents in (3, 4, 5):
        for size in range(agents, 11):
            for wait in (0.25, 0.5, 0.75):
                rate = np.clip(PASS_BY_SIZE[size] + shift - 0.1 * (agents - 3) - 0.1 * (wait - 0.5), 0, 1)
                valid = int(draw.binomial(instances, rate))
                wrong = instances - valid
                errors = {name: int(draw.integers(0, wrong + 1)) for name in CHECKS[:4] if wrong}
                cells.append(Cell(agents, size, wait, instances, valid, int(0.6 * valid), errors))
    return tuple(cells)


def rounds():
    """Three finished ones: drawn, proposed, and kept after a rejection."""
    training = {"reward": 0.1 + 0.2, "entropy": 1e-300, "loss": -1 / 3}
    proposed = Proposal(
        random_config(1), "proposed", prompt="told", reply="I move data up.\n" + random_config(1).to_yaml()
    )
    kept = Proposal(proposed.config, "kept", "no YAML block with `sizes:`", "told again", "No idea, sorry.")
    return [
        Round(0, first_proposal(0), Outcome(training, evaluation(-0.1, seed=0))),
        Round(1, proposed, Outcome(training, evaluation(0.0, seed=1))),
        Round(2, kept, Outcome(training, evaluation(0.1, seed=2))),
    ]
