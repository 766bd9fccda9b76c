"""`train.engineer` end to end on random weights: what a run leaves, and that it goes on where it stopped."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

import jaxenv
from envs_jax.multi_agent.mapf_plan import MapfPlan
from train import checkpoints, engineer, small
from train.engineer import EngineerConfig
from train.engineering import archive
from train.engineering.records import tally
from train.learner import LearnerConfig
from train.report import read_metrics
from train.turns import ActorConfig

CANVAS = 64
TINY = EngineerConfig(
    rounds=2,
    epochs=1,
    samples=8,
    group_size=4,
    groups=4,
    minibatches=1,
    eval_agents=(2,),
    eval_sizes=(3, 4),
    eval_waits=(0.5,),
    eval_boards=8,
    engineer_tokens=16,
    save_every=1,
    canvas=CANVAS,
    actor=ActorConfig(max_new_tokens=12, rows=16, prompts=4, prompt_buckets=(288,)),
    learner=LearnerConfig(micro_tokens=1536, answer_tokens=256),
)


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint of random weights that knows the texts of plans."""
    folder = tmp_path_factory.mktemp("planner")
    small.create(folder, [jaxenv.make(MapfPlan.id, canvas=CANVAS)[0]], seed=0)
    return str(folder)


@pytest.fixture(scope="module")
def whole(planner: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run whose engineer is the policy."""
    out = tmp_path_factory.mktemp("engineer") / "run"
    engineer.main(dataclasses.replace(TINY, model=planner, out=out))
    return out


@pytest.mark.slow
def test_a_run_keeps_all_that_was_said_and_done(whole: Path) -> None:
    rounds = archive.read_rounds(whole)
    assert [past.proposal.origin for past in rounds] == ["random", "kept"]
    assert "YAML" in rounds[1].proposal.reason
    assert "Failure report after round 0" in rounds[1].proposal.prompt
    assert rounds[1].proposal.config == rounds[0].proposal.config
    assert [record["step"] for record in read_metrics(whole)] == [1, 2, 3, 4]
    assert [record["round"] for record in read_metrics(whole)] == [0, 0, 1, 1]
    for past in rounds:
        counts = tally(past.outcome.evaluation)
        assert counts.instances == 16
        assert counts.errors["parses"] == 16
        assert past.outcome.training["failed/parses"] > 0.5
    assert (whole / "distribution.png").stat().st_size > 1000
    assert "after round 1" in (whole / "evaluation.md").read_text()
    assert (whole / "policy" / "model.safetensors").exists()


@pytest.mark.slow
def test_a_run_goes_on_in_the_middle_of_a_round(whole: Path, tmp_path: Path) -> None:
    again = tmp_path / "run"
    shutil.copytree(whole, again)
    metrics = (whole / "metrics.jsonl").read_text()
    (archive._folder(again, 1) / archive.OUTCOME).unlink()
    shutil.rmtree(again / "checkpoints" / "step_00000004")
    engineer.main(EngineerConfig(resume=again))
    assert (again / "metrics.jsonl").read_text() == metrics
    assert archive.read_rounds(again) == archive.read_rounds(whole)
    step, _ = checkpoints.latest_whole(again / "checkpoints")
    assert step is not None
    assert step.name == "step_00000004"


@pytest.mark.exhaustive
def test_the_rule_designs_the_second_round(planner: str, tmp_path: Path) -> None:
    out = tmp_path / "rule"
    engineer.main(dataclasses.replace(TINY, model=planner, out=out, engineer="rule"))
    first, second = archive.read_rounds(out)
    assert second.proposal.origin == "proposed"
    assert second.proposal.config != first.proposal.config
    assert json.loads((out / "config.json").read_text())["engineer"] == "rule"


def test_mistakes_are_told_before_anything_is_done(planner: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="samples: 2 boards are fewer than the 4 of a step"):
        dataclasses.replace(TINY, samples=2)
    with pytest.raises(ValueError, match="rounds: 0 is not at least 1"):
        dataclasses.replace(TINY, rounds=0)
    with pytest.raises(FileNotFoundError, match="holds no run"):
        engineer.main(EngineerConfig(resume=tmp_path))
    full = dataclasses.replace(TINY, model=planner, out=tmp_path / "full", eval_hole=0.5, eval_agents=(3,))
    with pytest.raises(ValueError, match="evaluation: only 0 of 8 boards of size 3 with 3 agents"):
        engineer.main(full)
    assert not (tmp_path / "full").exists()
