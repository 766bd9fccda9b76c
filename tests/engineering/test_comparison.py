"""The comparison of engineers: paired intervals over seeds, and runs that are read instead of made again."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks import engineers
from benchmarks.engineers import ComparisonConfig, Trained
from train.engineer import EngineerConfig
from train.engineering import archive, designers
from train.engineering.records import Cell, Outcome

VALID = {"fixed": (10.0, 20.0, 30.0), "rule": (15.0, 26.0, 34.0)}


def test_an_engineer_is_compared_with_the_same_seed() -> None:
    runs = {
        name: [Trained(np.array([[5.0, 1.0], [value, 2.0]]), Counter(random=1, kept=1)) for value in values]
        for name, values in VALID.items()
    }
    cells = engineers.row("rule", runs["rule"], runs["fixed"])
    gain = np.subtract(VALID["rule"], VALID["fixed"])
    low, high = stats.ttest_1samp(gain, 0).confidence_interval()
    assert cells[:2] == ["rule", "5.0"]
    assert cells[3] == f"+{gain.mean():.1f} [{low:+.1f}, {high:+.1f}]"
    assert cells[6] == "+0.0 [+0.0, +0.0]"
    assert cells[7] == "3 of 3"
    assert engineers.row("fixed", runs["fixed"], runs["fixed"])[3] == "-"


def finished(out: Path, valid: int) -> None:
    """The records of a run of one round."""
    out.mkdir(parents=True)
    outcome = Outcome({}, (Cell(2, 3, 0.5, 10, valid, 0),))
    (out / "before.json").write_text(archive._json(Outcome({}, (Cell(2, 3, 0.5, 10, 1, 0),)).to_json()))
    archive.write_proposal(out, 0, designers.first_proposal(0))
    archive.write_outcome(out, 0, outcome)


def test_finished_runs_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engineers.engineer, "main", lambda config: pytest.fail(f"{config.out} is made again"))
    for seed in (0, 1):
        finished(tmp_path / f"fixed_{seed}", 3 + seed)
        finished(tmp_path / f"rule_{seed}", 5 + seed)
    engineers.main(ComparisonConfig(("rule",), (0, 1), tmp_path, EngineerConfig(rounds=1)))
    assert "+20.0 [+20.0, +20.0]" in capsys.readouterr().out
    assert "| rule | 10.0 | 55.0 [-8.5, 118.5] |" in (tmp_path / "comparison.md").read_text()
