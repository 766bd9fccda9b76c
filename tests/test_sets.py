"""The sets that ship are what the command in their first line makes of what was measured on the pool."""

import shlex
import sys
from pathlib import Path

import pytest

import jaxenv
from train import cli, select
from train.select import SelectConfig

ROOT = Path(__file__).parents[1]
SETS = ROOT / "jaxenv" / "sets"


@pytest.mark.parametrize("name", ["aes30", "random30", "ood30"])
def test_a_set_is_made_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = (SETS / f"{name}.toml").read_text()
    comment, program, flag, module, *flags = shlex.split(shipped.partition("\n")[0])
    assert (comment, program, flag, module) == ("#", "python", "-m", "train.select")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [module, *flags, "--out", str(tmp_path)])
    cli.run(select.main, SelectConfig)
    assert (tmp_path / f"{name}.toml").read_text() == shipped


def test_what_is_held_out_is_in_no_other_set() -> None:
    held_out = set(jaxenv.env_set("ood30"))
    assert len(held_out) == 30
    for name in ("aes30", "random30"):
        assert len(set(jaxenv.env_set(name))) == 30
        assert not held_out & set(jaxenv.env_set(name))
