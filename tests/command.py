"""How the tests run `python -m train.grpo` as a user would, on the tiny policy."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import tiny

STEPS = 6
SMALL = f"""
    --env-set {tiny.ENVS} --steps {STEPS} --seed 3 --group-size {tiny.GROUP} --groups {tiny.GROUPS}
    --eval-episodes 8 --learning-rate 1e-3 --save-every 2 --canvas {tiny.CANVAS} --pack-lengths {tiny.LENGTH}
    --actor.rows 8 --actor.prompts 4 --actor.prompt-buckets 160 --actor.max-new-tokens 12
    --learner.micro-tokens 1536 --learner.answer-tokens 256
""".split()


def start(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen:
    command = [sys.executable, "-m", "train.grpo", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=os.environ | (env or {}), **pipes)


def finish(*arguments: str | Path) -> tuple[str, str]:
    """Output and errors of a run that must end well."""
    process = start(*arguments)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    return out, err
