"""What a run reports: statistics against scipy, files read back, pictures opened."""

import io
import json

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from scipy import stats

from jaxenv.replay import animate
from train.plots import learning_curves
from train.report import Count, MetricsLog, ResultRow, Scores, StepProgress, read_metrics, results_table
from train.statistics import Estimate, mean_estimate, paired_difference, wilson_interval

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 40), (7, 40), (40, 40), (1, 1), (500, 1000)])
def test_wilson_matches_scipy(k, n):
    expected = stats.binomtest(k, n).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson_interval(k, n), [k / n, *expected], atol=1e-12)


@pytest.mark.parametrize(("k", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_wilson_refuses_nonsense(k, n):
    with pytest.raises(ValueError, match="successes of"):
        wilson_interval(k, n)


def test_paired_difference_matches_scipy():
    before, after = RNG.random((1, 80)) < 0.4, RNG.random((1, 80)) < 0.6
    d = after[0].astype(float) - before[0]
    low, high = stats.norm.interval(0.95, d.mean(), stats.sem(d))
    np.testing.assert_allclose(paired_difference(before, after), [d.mean(), low, high], rtol=1e-9)
    # Strata of the same variance: the error falls with the square root of their number.
    wide = paired_difference(before, after)
    narrow = paired_difference(np.repeat(before, 4, 0), np.repeat(after, 4, 0))
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(2.0)


def test_intervals_cover_the_truth_in_about_95_percent():
    p, q = np.array([0.1, 0.5, 0.9]), np.array([0.3, 0.6, 0.95])
    hits_mean = hits_difference = 0
    for _ in range(400):
        before, after = RNG.random((3, 40)) < p[:, None], RNG.random((3, 40)) < q[:, None]
        mean = mean_estimate([wilson_interval(int(row.sum()), 40) for row in before])
        difference = paired_difference(before, after)
        hits_mean += mean.low <= p.mean() <= mean.high
        hits_difference += difference.low <= (q - p).mean() <= difference.high
    assert 365 <= hits_mean <= 395
    assert 365 <= hits_difference <= 395


def test_paired_difference_refuses_other_instances():
    with pytest.raises(ValueError, match="arrays"):
        paired_difference(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="no estimates"):
        mean_estimate([])


def test_metrics_of_a_resumed_run_equal_an_uninterrupted_run(tmp_path):
    def write(run_dir, steps, resumed):
        with MetricsLog(run_dir, resumed) as log:
            for step in steps:
                log.write(step, {"reward": np.float32(step / 7), "harness/maze": step, "bad": float("nan")})

    write(tmp_path / "whole", range(1, 7), 0)
    write(tmp_path / "broken", range(1, 6), 0)
    with (tmp_path / "broken" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 6, "rew')  # killed in mid-write
    write(tmp_path / "broken", range(4, 7), 3)
    whole, broken = ((tmp_path / d / "metrics.jsonl").read_text() for d in ("whole", "broken"))
    assert broken == whole
    assert json.loads(whole.splitlines()[0]) == {
        "step": 1, "reward": float(np.float32(1 / 7)), "harness/maze": 1, "bad": None,
    }  # fmt: skip
    assert list((tmp_path / "broken" / "tensorboard").glob("events*"))


def test_each_step_is_on_the_disk_at_once(tmp_path):
    with MetricsLog(tmp_path) as log:
        log.write(1, {"reward": 0.5})
        assert read_metrics(tmp_path) == [{"step": 1, "reward": 0.5}]


def test_progress_without_a_terminal_is_a_few_plain_lines():
    text = io.StringIO()
    with StepProgress(50, seconds=60, console=Console(file=text)) as progress:
        for step in range(1, 51):
            progress.show(step, {"reward": 0.25, "success": 1.0})
    assert text.getvalue().splitlines() == [f"step {s}/50  reward 0.25  success 1" for s in (1, 50)]


def test_progress_in_a_terminal_shows_the_bar_and_the_numbers():
    text = io.StringIO()
    with StepProgress(4, done=2, console=Console(file=text, force_terminal=True, width=120)) as progress:
        progress.show(3, {"reward": 0.25})
        progress.show(4, {"reward": 0.75})
    assert "4/4" in text.getvalue()
    assert "reward 0.75" in text.getvalue()


def rows():
    def scores(greedy):
        return Scores(Count(greedy, 50), Count(greedy // 2, 50), Count(9, 50), Count(5, 50))

    return [
        ResultRow("maze", scores(5), scores(40), Estimate(0.7, 0.5, 0.9)),
        ResultRow("bandit", scores(20), scores(50), Estimate(0.6, 0.4, 0.8)),
    ]


def test_results_table_tells_the_same_three_times(tmp_path):
    text = io.StringIO()
    change = Estimate(0.65, 0.6, 0.7)
    results_table(rows(), tmp_path, change, Console(file=text, width=120))
    narrow = io.StringIO()
    results_table(rows(), tmp_path, change, Console(file=narrow, width=80))
    assert "bandit" in narrow.getvalue()
    assert "+65 [+60, +70]" in narrow.getvalue()
    markdown = (tmp_path / "results.md").read_text()
    expected = wilson_interval(40, 50)
    cell = f"80 [{100 * expected.low:.0f}, {100 * expected.high:.0f}]"
    assert cell in text.getvalue()
    assert cell in markdown
    names = [line.split("|")[1:3] for line in markdown.splitlines()[2:8]]
    assert [(a.strip(), b.strip()) for a, b in names] == [
        (name, when) for name in ("maze", "bandit", "mean") for when in ("before", "after")
    ]
    for told in ("+65.0 [+60.0, +70.0]", "+70.0 [+50.0, +90.0]"):
        assert told in markdown
        assert told in text.getvalue()
    stored = json.loads((tmp_path / "results.json").read_text())
    maze = stored["environments"][0]
    assert maze["counts"]["after"]["greedy"] == {"successes": 40, "total": 50}
    assert maze["after"]["greedy"] == pytest.approx(expected._asdict())
    assert stored["mean"]["after"]["greedy"]["value"] == pytest.approx(0.9)
    assert stored["change"]["value"] == 0.65
    assert maze["change"]["value"] == 0.7


def test_learning_curves_draw_what_there_is(tmp_path):
    with MetricsLog(tmp_path) as log:
        for step in range(1, 30):
            metrics = {
                "reward": step / 30,
                "success": step / 30,
                "entropy": 2 - step / 30,
                "mixed_groups": 0.5,
            }
            if step % 2:  # an environment that was not drawn in a step has no success there
                metrics["success/maze"] = min(1, step / 20)
            metrics |= {"harness/maze": step // 8, "scale/maze": step % 8 // 4, "success/bare": 0.5}
            log.write(step, metrics)
    with Image.open(learning_curves(tmp_path)) as image:
        assert image.format == "PNG"
        assert np.asarray(image).std() > 10
    with pytest.raises(ValueError, match="no metrics"):
        learning_curves(tmp_path / "absent")


def test_animation_shows_every_frame_enlarged_with_its_caption(tmp_path):
    frames = np.zeros((3, 20, 30, 3), np.uint8)
    frames[np.arange(3), 5, 5 * np.arange(3)] = [255, 0, 0]
    captions = ["first", "a long caption that has to be wrapped into more than one line of text", "last"]
    with Image.open(animate(frames, captions, tmp_path / "replay.gif")) as gif:
        assert (gif.format, gif.n_frames, gif.info["loop"]) == ("GIF", 3, 0)
        durations = []
        for i in range(3):
            gif.seek(i)
            durations.append(gif.info["duration"])
            page = np.asarray(gif.convert("RGB"))
            assert page.shape[1] == 360
            np.testing.assert_array_equal(page[:240:12, ::12], frames[i])  # exact colours, no smoothing
            assert (page[240:].min(-1) < 100).any()
        assert durations == [600, 600, 2500]


@pytest.mark.parametrize("shape", [(0, 2, 2, 3), (2, 2, 3), (1, 2, 2, 4)])
def test_animation_refuses_other_shapes(tmp_path, shape):
    with pytest.raises(ValueError, match="frames must be"):
        animate(np.zeros(shape, np.uint8), ["x"] * shape[0], tmp_path / "x.gif")
    with pytest.raises(ValueError, match="captions"):
        animate(np.zeros((1, 2, 2, 3), np.uint8), [], tmp_path / "x.gif")
