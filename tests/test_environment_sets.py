"""The comparison of environment sets: equal numbers of groups, runs that are read, intervals over seeds."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
from scipy import stats

from benchmarks import environment_sets
from benchmarks.environment_sets import ComparisonConfig, Score
from train.grpo import GRPOConfig

SEEN, UNSEEN = tiny.ENVS, "maze_2d,spiral_matrix"


@pytest.fixture
def config(model: Path, tmp_path: Path) -> ComparisonConfig:
    run = GRPOConfig(model=str(model), canvas=tiny.CANVAS, group_size=4, groups=2, rounds=2, actor=tiny.ACTOR)
    return ComparisonConfig((SEEN,), UNSEEN, (0, 1), groups=12, episodes=8, out=tmp_path, run=run)


def test_every_set_plays_as_many_groups() -> None:
    config = ComparisonConfig(("core12", "frozen_lake", "sokoban,rotate_matrix"), "tsp", groups=240)
    assert environment_sets.steps_of(config, "frozen_lake") == 60  # 4 groups, one round
    assert environment_sets.steps_of(config, "sokoban,rotate_matrix") == 20  # 4 groups and twice 4
    assert environment_sets.steps_of(config, "core12") == 240 // 4 // 18  # six of a single turn


def test_finished_runs_are_read_and_scored(
    config: ComparisonConfig, model: Path, monkeypatch, capsys
) -> None:
    """Two runs that learnt nothing."""
    monkeypatch.setattr(environment_sets.grpo, "main", lambda run: pytest.fail(f"{run.out} is made again"))
    for seed in config.seeds:
        out = config.out / f"{SEEN.replace(',', '')}_{seed}"
        shutil.copytree(model, out / "policy")
        (out / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2}\n')
    environment_sets.main(config)
    told = json.loads((config.out / "comparison.json").read_text())[SEEN]
    assert told["after"] == [told["before"], told["before"]]
    seen, unseen = (np.array(score) for score in told["before"])
    for score in (*seen, *unseen):
        assert 0 <= score <= 100
    gain = "+0.0 [+0.0, +0.0]" if seen.all() else "-"
    same = [f"{score:.1f} [{score:.1f}, {score:.1f}]" for score in seen]
    line = " | ".join([SEEN, "2", "2", *same, gain])
    assert line in (config.out / "comparison.md").read_text()
    assert same[1] in capsys.readouterr().out


def test_a_run_is_made_or_goes_on(config: ComparisonConfig, model: Path, monkeypatch) -> None:
    """A step a call: the first is as if a SIGTERM had come."""
    asked: list[GRPOConfig] = []

    def one_step(run: GRPOConfig) -> None:
        asked.append(run)
        (run.out / "config.json").write_text("{}")
        with (run.out / "metrics.jsonl").open("a") as log:
            log.write(f'{{"step": {len(asked)}}}\n')

    monkeypatch.setattr(environment_sets.grpo, "main", one_step)
    run = GRPOConfig(out=config.out / "some", steps=2)
    shutil.copytree(model, run.out / "policy")
    with pytest.raises(SystemExit, match="after step 1 of 2"):
        environment_sets.trained(run)
    environment_sets.trained(run)
    assert [each.resume for each in asked] == [None, run.out]


def test_gains_are_relative_to_the_policy_before() -> None:
    before = (Score(20.0, 50.0), Score(10.0, 40.0))
    after = [(Score(30.0, 50.0), Score(10.0, 30.0)), (Score(40.0, 75.0), Score(15.0, 40.0))]
    cells = environment_sets.cells(before, after)
    low, high = stats.ttest_1samp([25.0, 75.0], 0).confidence_interval()
    assert cells[2] == f"+50.0 [{low:+.1f}, {high:+.1f}]"
    assert cells[5].startswith("+6.2 [")  # of -12.5 and +25
    assert cells[0].startswith("35.0 [")
    nothing = (Score(0.0, 50.0), Score(10.0, 40.0))
    assert environment_sets.cells(nothing, after)[2] == "-"
    one_turn = Score(20.0, np.nan)
    assert environment_sets.cells((one_turn,) * 2, [(one_turn,) * 2] * 2)[:3] == [
        "20.0 [20.0, 20.0]",
        "-",
        "-",
    ]


def test_held_out_is_held_out() -> None:
    with pytest.raises(ValueError, match="held_out: jugs, tsp of tsp,jugs are in all,-core12 too"):
        ComparisonConfig(("core12", "all,-core12"), "tsp,jugs")
