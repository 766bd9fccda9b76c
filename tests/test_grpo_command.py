"""`python -m train.grpo` as a user runs it: to the end, killed, stopped, damaged, misused."""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny
from command import SMALL, STEPS, finish, start
from safetensors.numpy import load_file
from transformers import AutoTokenizer

from train import checkpoints, cli, export, grpo
from train.policy.weights import load_policy
from train.report import read_metrics

FLAGS = (
    "env-set", "model", "steps", "out", "resume", "seed", "curriculum", "group-size", "groups",
    "eval-episodes", "learning-rate",
)  # fmt: skip


def start_steps(out: Path, model: Path, steps: int) -> subprocess.Popen:
    """A new run that has done at least so many steps."""
    process = start("--model", model, "--out", out, *SMALL)
    while len(read_metrics(out)) < steps:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


@pytest.fixture(scope="module")
def whole(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Directory and output of an uninterrupted run."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    return out, finish("--model", model, "--out", out, *SMALL)[0]


def same_metrics(out: Path, whole: tuple[Path, str]) -> None:
    assert (out / "metrics.jsonl").read_text() == (whole[0] / "metrics.jsonl").read_text()


@pytest.mark.slow
def test_a_run_leaves_everything_behind(whole: tuple[Path, str], agent) -> None:
    out, told = whole
    records = read_metrics(out)
    assert [record["step"] for record in records] == list(range(1, STEPS + 1))
    assert any(record["grad_norm"] > 0 for record in records)
    assert json.loads((out / "config.json").read_text())["seed"] == 3
    assert list((out / "tensorboard").glob("events.out.tfevents.*"))
    assert (out / "learning_curves.png").stat().st_size > 1000
    assert (out / "results.md").read_text().count("frozen_lake") == 2
    environments = json.loads((out / "results.json").read_text())["environments"]
    assert [row["environment"] for row in environments] == tiny.ENVS.split(",")
    assert environments[0]["counts"]["after"]["greedy"]["total"] == 8
    assert [gif.name for gif in (out / "replays").iterdir()] == ["frozen_lake.gif"]
    timing = [json.loads(line) for line in (out / "timing.jsonl").read_text().splitlines()]
    assert len(timing) == STEPS
    assert not any(row["compiled"] for row in timing[3:])
    trained = load_policy(out / "policy")
    assert trained.config == agent.policy.config
    assert f"run directory: {out}" in told
    assert "rotate_matrix" in told
    path, skipped = checkpoints.latest_whole(out / "checkpoints")
    assert (path.name, skipped) == (f"step_{STEPS:08d}", [])


@pytest.mark.slow
def test_killed_and_resumed_is_uninterrupted(whole, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    process = start_steps(out, model, random.randint(1, STEPS - 1))
    process.kill()
    process.communicate()
    assert not (out / "policy").exists()
    finish("--resume", out)
    same_metrics(out, whole)
    assert (out / "results.json").read_text() == (whole[0] / "results.json").read_text()


@pytest.mark.slow
def test_stopped_and_resumed_is_uninterrupted(whole, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    process = start_steps(out, model, 1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "Stopping after this step" in err
    last = read_metrics(out)[-1]["step"]
    assert checkpoints.latest_whole(out / "checkpoints")[0].name == f"step_{last:08d}"
    assert last < STEPS
    assert load_policy(out / "policy")
    assert not (out / "results.json").exists()
    finish("--resume", out)
    same_metrics(out, whole)


@pytest.mark.slow
def test_a_damaged_checkpoint_is_passed_over(whole, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "damaged"
    process = start_steps(out, model, 5)  # checkpoints of steps 2 and 4
    process.kill()
    process.communicate()
    newest, _ = checkpoints.latest_whole(out / "checkpoints")
    victim = max((file for file in newest.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-10])
    _, err = finish("--resume", out)
    lines = [line for line in err.splitlines() if "checkpoint" in line]
    assert len(lines) == 1
    assert re.match(rf"warning: skipped checkpoint {newest.name}: .* bytes instead of", lines[0])
    same_metrics(out, whole)


def test_help_explains_every_flag() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "train.grpo", "--help"], capture_output=True, text=True, check=True
    ).stdout
    plain = re.sub(r"[│╭╮╰╯─]", " ", re.sub(r"\x1b\[[0-9;]*m", "", shown))
    for flag in FLAGS:
        told = re.search(rf"--{flag} (.*?)(?= --[a-z]|$)", " ".join(plain.split()))
        assert told, flag
        assert len(re.findall(r"[a-z]{2,}", told[1])) >= 3, told[0]


def misuse(
    arguments: list[str | Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> str:
    """The one line on stderr of a command that ends with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["grpo", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.run(grpo.main, grpo.GRPOConfig)
    assert ended.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (["--env-set", "frozen_lke"], "no environment set 'frozen_lke'; did you mean 'frozen_lake'"),
        (["--model", "nowhere"], "nowhere/config.json: no such file"),
        (["--canvas", "50"], "canvas: 50"),
        (["--pack-lengths", "160"], "pack_lengths: the last, 160,"),
        (["--context", "conversation"], "does not hold a conversation of 1720 tokens"),
        (["--context", "conversation", "--memory", "2"], "memory: 2 is not 0"),
        (["--eval-scale", "9"], "scale: 9 is beyond"),
        (["--eval-harness", "5"], "harness: 5 is not"),
        (["--groups", "0"], "groups: 0"),
        (["--horizons", "6", "0"], "horizons must be one or more positive numbers"),
        (["--horizon-steps", "0"], "horizon_steps: 0"),
        (["--hdc.window", "0"], "window must be at least 1"),
    ],
)
def test_a_mistake_is_one_line(
    model: Path, tmp_path: Path, capsys, monkeypatch, changed: list[str], told: str
) -> None:
    out = tmp_path / "run"
    assert told in misuse(["--model", model, "--out", out, *SMALL, *changed], capsys, monkeypatch)
    assert not out.exists()  # so that the corrected command may use it


def test_a_step_of_a_large_set_plays_fewer_groups_of_each() -> None:
    default = grpo.GRPOConfig(env_set="core12")
    assert (default.groups_of_each, default.slots) == (4, 32)
    assert grpo.GRPOConfig(env_set="frozen_lake").groups_of_each == 4
    assert grpo.GRPOConfig(env_set="aes30").groups_of_each == 2
    assert grpo.GRPOConfig(env_set="all").groups_of_each == 1
    assert grpo.GRPOConfig(env_set="all", groups=5).groups_of_each == 5


@pytest.mark.parametrize("config", ['{"stepz": 3}', '{"actor": {"rows": 8}}'])
def test_a_config_of_another_version_is_refused(tmp_path: Path, capsys, monkeypatch, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    told = misuse(["--resume", tmp_path], capsys, monkeypatch)
    assert f"resume: {tmp_path / 'config.json'} does not fit this version" in told


def truncate(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])


def point_elsewhere(folder: Path) -> None:
    """An index whose second shard was not copied."""
    names = load_file(folder / "model.safetensors").keys()
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shards = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(sorted(names))}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))


def widen_tokenizer(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"<word{i}>" for i in range(1000)])
    tokenizer.save_pretrained(folder)


def rename_architecture(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json: no such file"),
        (rename_architecture, "model_type is 'gpt2'"),
        (truncate, "model.safetensors: cannot be read"),
        (point_elsewhere, "model-00002-of-00002.safetensors: no such file"),
        (widen_tokenizer, "the embedding only"),
    ],
)
def test_a_spoilt_checkpoint_is_one_line(
    random_model: Path, tmp_path: Path, capsys, monkeypatch, spoil: Callable[[Path], None], told: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(random_model, folder)
    spoil(folder)
    assert told in misuse(["--model", folder, "--out", tmp_path / "run", *SMALL], capsys, monkeypatch)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_run_is_exported(whole, tmp_path: Path) -> None:
    export.main(export.ExportConfig(whole[0], tmp_path / "policy"))
    wanted, got = (
        load_file(folder / "model.safetensors") for folder in (whole[0] / "policy", tmp_path / "policy")
    )
    assert wanted.keys() == got.keys()
    for name, tensor in wanted.items():
        np.testing.assert_array_equal(got[name], tensor)
    assert load_policy(tmp_path / "policy").config == load_policy(whole[0] / "policy").config
    with pytest.raises(FileExistsError, match="is not empty"):
        export.main(export.ExportConfig(whole[0], tmp_path / "policy"))


def test_a_used_directory_is_refused(model: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    told = misuse(["--model", model, "--out", tmp_path, *SMALL], capsys, monkeypatch)
    assert f"out: {tmp_path} already holds a run; use --resume" in told


def test_resuming_nothing_is_refused(tmp_path: Path, capsys, monkeypatch) -> None:
    assert f"resume: {tmp_path} holds no run" in misuse(["--resume", tmp_path], capsys, monkeypatch)


def test_a_mistake_shows_no_traceback() -> None:
    process = start("--env-set", "frozen_lke")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert [line for line in err.splitlines() if line.startswith("error: ")] == err.splitlines()[-1:]
    assert "Traceback" not in err


@pytest.mark.slow
def test_adapters_train_in_bfloat16_and_are_exported(model: Path, tmp_path: Path) -> None:
    """Only they are in the checkpoint; what comes out is an ordinary policy that has changed."""
    out = tmp_path / "lora"
    precise = ["--lora-rank", "4", "--compute", "bfloat16", "--learner.remat"]
    finish("--model", model, "--out", out, *SMALL, "--steps", "2", "--eval-episodes", "0", *precise)
    assert all(np.isfinite(record["loss"]) for record in read_metrics(out))
    size = lambda path: sum(file.stat().st_size for file in path.rglob("*") if file.is_file())  # noqa: E731
    assert size(out / "checkpoints" / "step_00000002") < size(model)
    export.main(export.ExportConfig(out, tmp_path / "policy"))
    before, merged, ended = (
        load_file(folder / "model.safetensors") for folder in (model, tmp_path / "policy", out / "policy")
    )
    assert merged.keys() == before.keys()
    for name, tensor in merged.items():
        np.testing.assert_array_equal(tensor, ended[name])
        changed = not np.array_equal(tensor, before[name])
        adapted = "language_model" in name and name.endswith("_proj.weight")
        assert adapted or not changed
    query = "model.language_model.layers.0.self_attn.q_proj.weight"
    assert np.abs(merged[query] - before[query]).max() > 0
