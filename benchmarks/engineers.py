"""Do engineers help? `python -m benchmarks.engineers` trains the same policy under each, with the same
compute and several seeds, and compares them with a configuration that stays as it was drawn.

Runs are those of `train.engineer`, each in a directory of its own; what is there already goes on or is read.
"""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.comparison import over_seeds, show_table
from train import engineer
from train.cli import run
from train.engineer import EngineerConfig
from train.engineering import archive
from train.engineering.records import Cell, Outcome, tally

BASELINE = "fixed"
RATES = ("valid", "optimal")
NOTE = """\
Percent of the evaluation's boards, greedy: mean over seeds [95 % interval of Student's t over seeds].
"over fixed": the same, of the difference from `fixed` with the same seed, paired. kept: replies that were
rejected, so that the configuration before stayed. Round 0 is the same under every engineer."""


@dataclass(frozen=True)
class ComparisonConfig:
    """Engineers compared over seeds."""

    engineers: tuple[str, ...] = (BASELINE, "rule", "random", "policy")
    """As --engineer of train.engineer; "fixed" is always measured."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    out: Path = Path("runs/engineers")
    """Directory of the runs and of the table."""
    run: EngineerConfig = field(default_factory=EngineerConfig)
    """Of every run."""


@dataclass(frozen=True)
class Trained:
    """A run: its evaluation before and after every round, rates in percent float[1 + rounds, 2], and how each
    round came by its configuration."""

    rates: np.ndarray
    origins: Counter[str]


def main(config: ComparisonConfig) -> None:
    """Trains under several engineers over seeds and writes the table as comparison.md and comparison.json."""
    names = list(dict.fromkeys((BASELINE, *config.engineers)))
    runs: dict[str, list[Trained]] = {name: [] for name in names}
    for seed in config.seeds:
        for name in names:
            out = config.out / f"{name.replace('/', '_')}_{seed}"
            runs[name].append(trained(replace(config.run, engineer=name, seed=seed, out=out)))
    show_table(HEADS, [row(name, runs[name], runs[BASELINE]) for name in names], NOTE, config.out)
    told = {name: [run.rates.tolist() for run in runs[name]] for name in names}
    (config.out / "comparison.json").write_text(json.dumps(told, indent=1) + "\n")


def trained(config: EngineerConfig) -> Trained:
    """The run of this configuration, made or finished if need be."""
    if len(archive.read_rounds(config.out)) < config.rounds:
        started = (config.out / "config.json").exists()
        print(f"--- {config.out.name}")
        engineer.main(replace(config, resume=config.out) if started else config)
    rounds = archive.read_rounds(config.out)
    before = Outcome.from_json(json.loads((config.out / "before.json").read_text())).evaluation
    evaluations = [before, *(past.outcome.evaluation for past in rounds)]
    return Trained(
        np.array([_rates(cells) for cells in evaluations]), Counter(p.proposal.origin for p in rounds)
    )


def _rates(cells: tuple[Cell, ...]) -> tuple[float, float]:
    counts = tally(cells)
    return 100 * counts.pass_rate, 100 * counts.optimal_rate


HEADS = (
    "engineer",
    *(f"{rate} {what}" for rate in RATES for what in ("before", "after", "over fixed")),
    "kept",
)


def row(name: str, runs: list[Trained], baseline: list[Trained]) -> list[str]:
    """An engineer's line of the table."""
    cells = [name]
    for i in range(len(RATES)):
        after = np.array([run.rates[-1, i] for run in runs])
        fixed = np.array([run.rates[-1, i] for run in baseline])
        before = np.mean([run.rates[0, i] for run in runs])
        cells += [
            f"{before:.1f}",
            over_seeds(after),
            "-" if name == BASELINE else over_seeds(after - fixed, "+"),
        ]
    asked = sum(sum(run.origins.values()) - run.origins["random"] for run in runs)
    return [*cells, f"{sum(run.origins['kept'] for run in runs)} of {asked}"]


if __name__ == "__main__":
    run(main, ComparisonConfig)
