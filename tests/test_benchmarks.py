"""The benchmarks run, on tiny batches, and write what they say."""

import json
from pathlib import Path

from PIL import Image

from benchmarks import env_throughput, overview
from benchmarks.env_throughput import Row, ThroughputConfig, slow_rows
from benchmarks.overview import OverviewConfig


def test_throughput_writes_every_row(tmp_path: Path) -> None:
    out, png = tmp_path / "speed.json", tmp_path / "speed.png"
    ids = ("lights_out", "mini_sudoku")
    env_throughput.main(
        ThroughputConfig(
            env_set=ids,
            canvas=(32,),
            num_envs=4,
            steps=3,
            repeats=1,
            seconds=0.0,
            peers=False,
            json=out,
            png=png,
        )
    )
    rows = json.loads(out.read_text())["rows"]
    assert [(row["name"], row["observation"]) for row in rows] == [
        (name, shape) for name in ids for shape in ("symbolic uint8", "32x32 uint8 pixels")
    ]
    for row in rows:
        assert row["median"] > 0
        assert len(row["speeds"]) == 1
        assert 0 < row["state_bytes"] <= 256
        assert 0 < row["fresh"] <= 1
    assert Image.open(png).width > 500


def test_slow_environments_are_found_by_what_is_observed() -> None:
    speeds = {"symbolic": (1.0, 60.0, 100.0, 9000.0), "pixels": (1.0, 2.0, 3.0)}
    rows = [
        Row("environments", f"{observation} {speed}", "", observation, "", 4, (speed,), 0.0, None, None)
        for observation, own in speeds.items()
        for speed in own
    ]
    assert [(row.name, times) for row, times in slow_rows(rows)] == [("symbolic 1.0", 80.0)]


def test_overview_shows_every_environment(tmp_path: Path) -> None:
    out = tmp_path / "one.png"
    overview.main(OverviewConfig(out, env_set="lights_out", canvas=64, columns=1))
    assert Image.open(out).size == (64 + 2 * overview.GAP, 64 + 2 * overview.GAP + overview.CAPTION)
