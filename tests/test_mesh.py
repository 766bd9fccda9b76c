"""The same training on one device and on eight, and in one process and in two."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import SMALL, finish, start

from train.policy.sharding import make_mesh
from train.report import read_metrics

HERE = Path(__file__).parent
EIGHT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}

# The mesh, what learns (`LoadConfig`), and the largest share of a kernel that a device may hold.
MESHES = {
    "all three axes": ("data=2,fsdp=2,tensor=2", ["all"], 1 / 4),
    "adapters": ("fsdp=4,tensor=2", ["adapters", "float32", 4], 1 / 8),
}


@pytest.mark.parametrize("case", ["all three axes", pytest.param("adapters", marks=pytest.mark.exhaustive)])
def test_eight_devices_do_what_one_does(case: str, model: Path) -> None:
    mesh, load, share = MESHES[case]
    found = run(["mesh_check.py", str(model), mesh, json.dumps(load)], EIGHT)
    assert found["devices"] == 8
    assert found["spread"] <= share
    assert found["mesh_metrics"] == pytest.approx(found["metrics"], rel=1e-3, abs=1e-5)
    assert found["difference"] < 1e-3 * found["gradient"]
    assert found["greedy"]
    assert found["sampled"]


@pytest.mark.slow
def test_two_processes_train_as_one_does(model: Path, tmp_path: Path) -> None:
    """And when the last checkpoint is lost, they resume from the one before it to the same end."""
    alone, out = tmp_path / "alone", tmp_path / "two"
    flags = [*SMALL, "--steps", "2", "--save-every", "1", "--eval-episodes", "0", "--model", str(model)]
    finish("--out", alone, *flags)
    two_processes("--out", out, *flags, "--mesh", "data=2")
    (one, both) = ([metrics(record) for record in read_metrics(run)] for run in (alone, out))
    assert len(both) == 2
    for record, other in zip(one, both, strict=True):
        assert other == pytest.approx(record, rel=1e-3, abs=1e-4)
    first = (out / "metrics.jsonl").read_text()
    weights = (out / "policy" / "model.safetensors").read_bytes()
    shutil.rmtree(out / "checkpoints" / "step_00000002")
    two_processes("--resume", out)
    assert (out / "metrics.jsonl").read_text() == first
    assert (out / "policy" / "model.safetensors").read_bytes() == weights


def metrics(record: dict[str, float]) -> dict[str, float]:
    """Without what rounding decides: how many ratios were just beyond a bound."""
    return {name: value for name, value in record.items() if not name.startswith("clipped")}


def two_processes(*arguments: str | Path) -> None:
    """A run of `train.grpo` in two processes, launched as SLURM would."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    slurm = {
        "JAX_COORDINATOR_ADDRESS": address,
        "SLURM_JOB_ID": "1",
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": "2",
    }
    running = [
        start(*arguments, "--distributed", env=slurm | {"SLURM_PROCID": rank, "SLURM_LOCALID": rank})
        for rank in "01"
    ]
    told = [process.communicate(timeout=600) for process in running]
    assert [process.returncode for process in running] == [0, 0], told
    assert [line for line in told[1][0].splitlines() if not line.startswith("[Gloo]")] == []


@pytest.mark.parametrize("text", ["data=2", "model=8", "data=two", "data=0", "data=1,,", "fsdp=-1"])
def test_a_bad_mesh_is_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^mesh: .*") as raised:
        make_mesh(text)
    assert "\n" not in str(raised.value)


def run(command: list[str], env: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=HERE,
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
