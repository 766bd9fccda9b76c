"""Do chosen environments teach more than chance's, or than all? `python -m benchmarks.environment_sets`
trains the same policy on each set with the same compute and several seeds, and compares what it can do there
and elsewhere (the comparison of AES, arXiv:2608.03571).

Runs are those of `train.grpo`, each in a directory of its own; what is there already goes on or is read.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import jaxenv
from benchmarks.comparison import over_seeds, show_table
from train import cli, evaluate, grpo
from train.agent import NOVICE_POLICY
from train.grpo import GRPOConfig
from train.policy.weights import Params, load_policy
from train.report import read_metrics

NOTE = """\
Sampled as in training, mean over seeds [95 % interval of Student's t over seeds]. ST: percent of single-turn
instances that are solved. MT: mean return of multi-turn episodes, in percent of the best. Rel: mean of both
gains relative to the policy before training, in percent. ID: fresh instances of what was trained on; OOD: of
the others."""
HEADS = ("set", "environments", "steps", "ID ST", "ID MT", "ID Rel", "OOD ST", "OOD MT", "OOD Rel")


@dataclass(frozen=True)
class ComparisonConfig:
    """Sets of environments compared over seeds."""

    sets: tuple[str, ...] = ("aes30", "random30", "all,-mapf,-ood30")
    """As --env-set of train.grpo."""
    held_out: str = "ood30"
    """Environments that no set may hold, in the same form."""
    seeds: tuple[int, ...] = (0, 1, 2)
    groups: int = 2400
    """Groups of episodes that a run plays, whatever the set: of a large one in fewer steps."""
    episodes: int = 32
    """Instances of each environment that a policy is scored on."""
    out: Path = Path("runs/environment_sets")
    """Directory of the runs and of the table."""
    run: GRPOConfig = field(default_factory=lambda: GRPOConfig(model=str(NOVICE_POLICY), horizons=(12,)))
    """Of every run, but for what is compared."""

    def __post_init__(self) -> None:
        for name in self.sets:
            both = sorted(set(jaxenv.env_set(name)) & set(jaxenv.env_set(self.held_out)))
            if both:
                raise ValueError(f"held_out: {', '.join(both)} of {self.held_out} are in {name} too")


class Score(NamedTuple):
    """In percent: single-turn instances that are solved, and the mean return of multi-turn episodes; nan
    where there are none."""

    single: float
    multi: float


class Examination:
    """Fresh instances of a set of environments, the same for every policy, and the score before training."""

    def __init__(self, config: ComparisonConfig, env_set: str) -> None:
        run = replace(config.run, env_set=env_set)
        self.seed, self.agent = run.seed, grpo.agent_of(run)
        levels = run.eval_harness, run.eval_scale
        self.instances = evaluate.held_out(self.agent, run.seed, config.episodes, *levels)
        self.before = self.score(self.agent.policy.params)

    def score(self, params: Params) -> Score:
        """Plays all instances, sampling answers as training does: that is what it betters."""
        mixture, instances = self.agent.mixture, self.instances
        success, returns = [], []
        for keys in instances.reset_keys:
            start = mixture.reset(keys, instances.level)
            key, temperature = jax.random.key(self.seed), self.agent.actor.config.temperature
            played = self.agent.actor.play(params, start, key, instances.max_turns, temperature)
            success.append(played.success.reshape(len(mixture.envs), -1))
            returns.append(played.returns.reshape(len(mixture.envs), -1))
        single = np.array([env.single_turn for env in mixture.envs])
        solved = np.concatenate(success, axis=1)[single]
        best = np.concatenate(returns, axis=1)[~single].clip(0, 1)
        return Score(*(100 * float(part.mean()) if part.size else np.nan for part in (solved, best)))


def main(config: ComparisonConfig) -> None:
    """Trains on several sets, over seeds, and writes the table as comparison.md and comparison.json."""
    lines, told, unseen = [], {}, Examination(config, config.held_out)
    for name in config.sets:
        seen, steps = Examination(config, name), steps_of(config, name)
        after = []
        for seed in config.seeds:
            out = config.out / f"{name.replace(',', '')}_{seed}"
            run = replace(config.run, env_set=name, seed=seed, steps=steps, out=out, eval_episodes=0)
            params = trained(run)
            after.append((seen.score(params), unseen.score(params)))
        before = (seen.before, unseen.before)
        told[name] = {"before": before, "after": after}
        lines.append([name, str(len(seen.agent.names)), str(steps), *cells(before, after)])
    (config.out / "comparison.json").write_text(json.dumps(told, indent=1) + "\n")
    show_table(HEADS, lines, NOTE, config.out)


def steps_of(config: ComparisonConfig, env_set: str) -> int:
    """Steps in which a run plays about `config.groups` groups."""
    run = replace(config.run, env_set=env_set)
    single = [jaxenv.make(name)[0].single_turn for name in jaxenv.env_set(env_set)]
    rounds = sum(run.rounds if own else 1 for own in single)
    return max(1, round(config.groups / (rounds * run.groups_of_each)))


def trained(run: GRPOConfig) -> Params:
    """What a run learns: it is made, finished or read. Ends the program where the run was stopped."""
    done = len(read_metrics(run.out))
    if done < run.steps or not (run.out / "policy").is_dir():
        print(f"--- {run.out.name}")
        grpo.main(replace(run, resume=run.out) if (run.out / "config.json").exists() else run)
        if (done := len(read_metrics(run.out))) < run.steps:
            raise SystemExit(f"stopped after step {done} of {run.steps}; the same command goes on")
    return load_policy(run.out / "policy").params


def cells(before: tuple[Score, Score], after: list[tuple[Score, Score]]) -> list[str]:
    """A set's numbers, on the environments trained on and on the others; - where nothing can be said."""
    told = []
    for where in range(2):
        scores, base = np.array([pair[where] for pair in after]), np.array(before[where])
        told += ["-" if np.isnan(own).any() else over_seeds(own) for own in scores.T]
        known = np.nan_to_num(base).all()  # over nothing there is no gain
        told.append(over_seeds(100 * (scores / base - 1).mean(axis=1), "+") if known else "-")
    return told


if __name__ == "__main__":
    cli.run(main, ComparisonConfig)
