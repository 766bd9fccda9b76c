"""The commands that the documentation shows are ones that the programs take."""

import importlib
import re
import shlex
import typing
from pathlib import Path

import pytest
import tyro

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("train/policies/*/*.md")),
]


def commands() -> list[str]:
    """Everything after `python -m` in the pages' shell blocks."""
    blocks = [
        block.replace("\\\n", " ")
        for page in PAGES
        for block in re.findall(r"^```bash\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    ]
    found = re.findall(r"python -m ((?:train|benchmarks|jaxenv)\.[^\n&#]*)", "\n".join(blocks))
    return list(dict.fromkeys(" ".join(command.split()) for command in found))


@pytest.mark.parametrize("command", commands())
def test_a_command_is_understood(command: str):
    module, *arguments = shlex.split(command)
    takes = typing.get_type_hints(importlib.import_module(module).main)
    takes.pop("return")
    if config := takes.get("config"):
        assert isinstance(tyro.cli(config, args=arguments), config)
    else:  # positional arguments alone
        assert len(arguments) == len(takes)


def test_there_are_commands():
    modules = {command.split()[0] for command in commands()}
    assert {"train.grpo", "train.sft", "train.engineer", "train.export"} <= modules
