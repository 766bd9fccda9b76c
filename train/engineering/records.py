"""What a round of training leaves behind: the configuration and where it came from, numbers, errors."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from jaxenv.mapf.checks import CHECKS
from train.engineering.config import SIZES, GeneratorConfig

Origin = Literal["random", "proposed", "kept"]


@dataclass(frozen=True)
class Cell:
    """How the policy did on the evaluation instances of one number of agents, board size and wait ratio.

    valid: answers that pass all checks; optimal: valid ones of the least cost. errors: answers that failed a
    check, by its name in `jaxenv.mapf.checks`; one answer may fail several, checks nobody failed may be
    left out.

    Raises ValueError for counts that cannot be, a size outside 3..10 or an unknown check.
    """

    agents: int
    size: int
    wait: float
    instances: int
    valid: int
    optimal: int
    errors: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"evaluation of {self.agents} agents, size {self.size}, wait {self.wait}"
        if self.size not in SIZES:
            raise ValueError(f"{where}: the size must be in {SIZES[0]}..{SIZES[-1]}")
        if not 0 <= self.optimal <= self.valid <= self.instances or self.instances == 0:
            counts = f"{self.optimal} optimal, {self.valid} valid, {self.instances} instances"
            raise ValueError(f"{where}: {counts}; needs 0 <= optimal <= valid <= instances > 0")
        for name, count in self.errors.items():
            if name not in CHECKS:
                raise ValueError(f"{where}: unknown check {name!r}; the checks are {', '.join(CHECKS)}")
            if not 0 <= count <= self.instances - self.valid:
                wrong = self.instances - self.valid
                raise ValueError(f"{where}: {count} answers fail {name} of {wrong} that are not valid")


@dataclass(frozen=True)
class Tally:
    """Sums over cells."""

    instances: int
    valid: int
    optimal: int
    errors: Mapping[str, int]  # in the order of CHECKS, without those nobody failed

    @property
    def pass_rate(self) -> float:
        return self.valid / self.instances

    @property
    def optimal_rate(self) -> float:
        return self.optimal / self.instances


def tally(cells: Iterable[Cell]) -> Tally:
    """The counts of several cells together. Raises ValueError for none."""
    cells = list(cells)
    if not cells:
        raise ValueError("no evaluation: nothing to count")
    errors = Counter[str]()
    for cell in cells:
        errors.update(cell.errors)
    return Tally(
        instances=sum(cell.instances for cell in cells),
        valid=sum(cell.valid for cell in cells),
        optimal=sum(cell.optimal for cell in cells),
        errors={name: errors[name] for name in CHECKS if errors[name]},
    )


@dataclass(frozen=True)
class Proposal:
    """How a round came by its configuration.

    origin: "random" (drawn, round 0), "proposed" (by the reply) or "kept" (the previous one, since the reply
    was rejected for `reason`). prompt and reply are empty where nobody was asked.

    Raises ValueError for another origin, or a reason without or with the wrong origin.
    """

    config: GeneratorConfig
    origin: Origin
    reason: str = ""
    prompt: str = ""
    reply: str = ""

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            raise ValueError(f"origin: {self.origin!r} must be one of {', '.join(get_args(Origin))}")
        if bool(self.reason) != (self.origin == "kept"):
            raise ValueError(f"reason: {self.reason!r} does not go with origin {self.origin!r}; kept has one")


@dataclass(frozen=True)
class Outcome:
    """What a round came to.

    training: numbers of the round's training by name, None for what was not finite. evaluation: one cell for
    each group of evaluation instances, at least one.
    """

    training: Mapping[str, float | None]
    evaluation: tuple[Cell, ...]

    def __post_init__(self) -> None:
        if not self.evaluation:
            raise ValueError("evaluation: a round without any evaluated instances tells an engineer nothing")

    def to_json(self) -> dict[str, Any]:
        """Plain data that `json` writes and `from_json` reads back exactly; NaN and infinity become null."""
        training = {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in self.training.items()
        }
        return {"training": training, "evaluation": [asdict(cell) for cell in self.evaluation]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Outcome":
        return Outcome(data["training"], tuple(Cell(**cell) for cell in data["evaluation"]))


@dataclass(frozen=True)
class Round:
    """A finished round; rounds count from 0."""

    number: int
    proposal: Proposal
    outcome: Outcome
