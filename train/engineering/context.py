"""What an engineer is told: a prompt of modules, each a view of the run's own records.

The six versions are those of arXiv:2606.17682; the wording is this project's. The newest round always speaks
through the failure report; the others differ in what they add to it:

    V1  nothing                         V4  V2 and the history without round 0
    V2  guidelines                      V5  V4 and the engineer's own last summary
    V3  V2 and the whole history        V6  V4 and how the training works
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from jaxenv.mapf.rewards import DEFAULT, RewardConfig
from train.engineering.config import LIMITS, SIZES, SUM_TOLERANCE, GeneratorConfig
from train.engineering.records import Cell, Round, tally
from train.engineering.reply import summary

Version = Literal["V1", "V2", "V3", "V4", "V5", "V6"]


@dataclass(frozen=True)
class ContextConfig:
    """What the engineer is told."""

    version: Version = "V6"
    """Modules of the context: V1 failure report, V2 + guidelines, V3 + history, V4 history without round 0,
    V5 V4 + its own last summary, V6 V4 + how the training works."""
    detail: Literal["loop", "full"] = "loop"
    """How much V6 tells of the training: the loop alone; or also algorithm, rewards and hyperparameters."""

    def __post_init__(self) -> None:
        if self.version not in MODULES:
            raise ValueError(f"version: {self.version!r} must be one of {', '.join(MODULES)}")
        if self.detail not in ("loop", "full"):
            raise ValueError(f"detail: {self.detail!r} must be loop or full")
        if self.detail == "full" and self.version != "V6":
            raise ValueError(
                f"detail: full is about the training, which {self.version} does not show; use V6"
            )


@dataclass(frozen=True)
class Loop:
    """The facts of the run that a context may tell: `rounds` in all, each of `epochs` over `samples`
    instances with `train_agents` agents; hyperparameters by name, as they are to be read."""

    rounds: int = 3
    epochs: int = 2
    samples: int = 4000
    train_agents: int = 2
    rewards: RewardConfig = DEFAULT
    hyperparameters: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class _View:
    """All that a module may look at."""

    config: ContextConfig
    loop: Loop
    rounds: Sequence[Round]

    @property
    def last(self) -> Round:
        return self.rounds[-1]


def render(config: ContextConfig, loop: Loop, rounds: Sequence[Round]) -> str:
    """The prompt that asks for the configuration of the round after `rounds`, the finished ones from round 0.

    Raises ValueError for no finished round.
    """
    if not rounds:
        raise ValueError("rounds: an engineer needs one finished round to look at")
    view = _View(config, loop, rounds)
    modules = (_task, *MODULES[config.version], _answer_form)
    return "\n\n".join(text for module in modules if (text := module(view))) + "\n"


def _task(view: _View) -> str:
    return f"""\
You design the training data of a policy that plans paths for several agents on square frozen \
lakes of sizes {SIZES[0]} to {SIZES[-1]}. Every agent walks from its start to its goal, one cell a \
step (up, down, left, right) or waits; nobody may step into a hole, leave the board, enter \
another's cell or swap cells with another.
A generator makes the next {view.loop.samples} training instances. You set three ratios for each \
board size:
- data: the size's share of all instances; the shares of all sizes sum to 1.
- hole: holes divided by cells, 0 to {LIMITS["hole"]:g}. More holes leave fewer ways.
- wait: share of the size's instances, 0 to 1, in which in the best plan an agent waits or takes a \
longer way than it would alone.
Choose them so that after the next round the policy solves as many of the evaluation's instances \
as it can. The evaluation is the same after every round."""


def _report(view: _View) -> str:
    cells = view.last.outcome.evaluation
    agents = sorted({cell.agents for cell in cells})
    sizes = sorted({cell.size for cell in cells})
    lines = [_report_line(f"all | {size}", [c for c in cells if c.size == size]) for size in sizes]
    for number in agents if len(agents) > 1 else []:
        for size in sizes:
            part = [cell for cell in cells if (cell.agents, cell.size) == (number, size)]
            lines += [_report_line(f"{number} | {size}", part)] if part else []
    lines.append(_report_line("all | all", cells))
    return (
        f"# Failure report after round {view.last.number}\n"
        "Pass: answers that satisfy all checks. Optimal: those of the least cost. Errors: checks that "
        "answers failed; one answer may fail several. All in percent of the instances.\n"
        "agents | size | instances | pass | optimal | errors\n" + "\n".join(lines)
    )


def _report_line(group: str, cells: Sequence[Cell]) -> str:
    counts = tally(cells)
    # Stable: ties stay as the checks are listed.
    ordered = sorted(counts.errors.items(), key=lambda error: -error[1])
    errors = ", ".join(f"{name} {100 * count / counts.instances:.1f}" for name, count in ordered)
    rates = f"{100 * counts.pass_rate:.1f} | {100 * counts.optimal_rate:.1f}"
    return f"{group} | {counts.instances} | {rates} | {errors or 'none'}"


def _guidelines(view: _View) -> str:
    return """\
# Guidelines
- The policy learns most from what it solves sometimes. Give the most data to sizes it passes in \
about 20 to 80 percent of the cases.
- Do not take everything away from what it has mastered, or it forgets; a small share is enough.
- A size that it almost never passes teaches little: lower its hole and wait ratios or its share, \
and raise them again when it begins to pass.
- Look at the errors. Collisions ask for more wait instances, steps into holes for more holes, \
answers that do not parse or stop before the goal for easier instances.
- Change few ratios at a time and by moderate steps; leave alone what works."""


def _history(view: _View) -> str:
    return _history_of(view.rounds)


def _history_without_start(view: _View) -> str:
    return _history_of([past for past in view.rounds if past.number > 0])


def _history_of(rounds: Sequence[Round]) -> str:
    if not rounds:
        return ""
    return "# History\n" + "\n\n".join(map(_history_entry, rounds))


def _history_entry(past: Round) -> str:
    how = {
        "random": "drawn at random",
        "proposed": "as you proposed",
        "kept": f"kept from the round before, since your reply was rejected: {past.proposal.reason}",
    }[past.proposal.origin]
    cells = past.outcome.evaluation
    by_size = {size: [cell for cell in cells if cell.size == size] for size in SIZES}
    rates = [_rates(part) if part else "- | -" for part in by_size.values()]
    lines = [f"{row} | {rate}" for row, rate in zip(_ratios(past.proposal.config), rates, strict=True)]
    return (
        f"Round {past.number}, {how}:\nsize | data | hole | wait | pass after it | optimal after it\n"
        + "\n".join(lines)
        + f"\nall | | | | {_rates(cells)}"
    )


def _rates(cells: Sequence[Cell]) -> str:
    counts = tally(cells)
    return f"{100 * counts.pass_rate:.1f} | {100 * counts.optimal_rate:.1f}"


def _ratios(config: GeneratorConfig) -> list[str]:
    rows = zip(SIZES, config.data, config.hole, config.wait, strict=True)
    return [f"{size} | {data:.3f} | {hole:.3f} | {wait:.3f}" for size, data, hole, wait in rows]


def _own_summary(view: _View) -> str:
    said = summary(view.last.proposal.reply)
    return f"# What you wrote before round {view.last.number}\n{said}" if said else ""


def _training(view: _View) -> str:
    loop = view.loop
    judged = sorted({cell.agents for cell in view.last.outcome.evaluation})
    told = f"""\
# The training
You set the data of round {view.last.number + 1}; rounds count from 0 to {loop.rounds - 1}. Round \
0 had a random configuration. A round trains for {loop.epochs} epochs on {loop.samples} new \
instances with {loop.train_agents} agents each, going on from the policy of the round before. The \
evaluation's instances have {", ".join(map(str, judged))} agents."""
    return told if view.config.detail == "loop" else f"{told}\n{_algorithm(loop)}"


def _algorithm(loop: Loop) -> str:
    rewards = loop.rewards
    told = f"""\
The policy is trained with GRPO: it answers every instance several times, and an answer is made \
more probable by as much as its reward is above the mean of its group. Instances that are always \
or never solved therefore teach nothing.
An answer that fails a check earns 0 for accuracy; one that passes all earns the least cost \
divided by its own, but never less than {rewards.floor:g}. For length an answer of up to \
{rewards.free_tokens} tokens earns 0, falling to -1 at {rewards.full_tokens} tokens. Accuracy \
weighs {rewards.low_weight:g} at first and up to {rewards.high_weight:g} as more answers are \
short; length weighs the rest."""
    values = [f"- {name}: {value}" for name, value in loop.hyperparameters.items()]
    return "\n".join([told, "Hyperparameters:", *values]) if values else told


def _answer_form(view: _View) -> str:
    first = (
        "First sum up in at most five sentences what you saw and what you change; you will read this next "
        "time. Then close"
        if view.config.version == "V5"
        else "Close"
    )
    rows = "\n".join(f"  {size}: {{data: 0.125, hole: 0.2, wait: 0.3}}" for size in SIZES)
    return f"""\
# Your answer
{first} your answer with one YAML block of this form, with your own numbers. All sizes and all \
three ratios must be there, as plain numbers; the data ratios must sum to 1 (within \
{SUM_TOLERANCE:g} they are rescaled). A block with any mistake is rejected as a whole, and the \
last configuration stays.
```yaml
sizes:
{rows}
```"""


MODULES: dict[str, tuple[Callable[[_View], str], ...]] = {
    "V1": (_report,),
    "V2": (_report, _guidelines),
    "V3": (_report, _guidelines, _history),
    "V4": (_report, _guidelines, _history_without_start),
    "V5": (_report, _guidelines, _history_without_start, _own_summary),
    "V6": (_report, _guidelines, _history_without_start, _training),
}
