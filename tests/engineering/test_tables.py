"""The table beside the published one, and the picture of the rounds."""

import io

import numpy as np
import pytest
from made_rounds import evaluation, rounds
from PIL import Image
from rich.console import Console

from train.engineering.figure import distribution_figure
from train.engineering.records import Cell
from train.engineering.tables import evaluation_tables, own_rows, published_rows

# (policy, agents) whose published mean of the valid rates is not that of the published cells.
INCONSISTENT = {("Gemini-3.1-Pro †", 4), ("Kimi-K2.5 †", 5)}


def show(results, folder):
    terminal = io.StringIO()
    evaluation_tables(results, folder, Console(file=terminal, width=100))
    return terminal.getvalue(), (folder / "evaluation.md").read_text("utf-8")


def test_published_rows_are_whole():
    rows = published_rows()
    assert len(rows) == 21
    for row in rows:
        assert list(row.by_size) == list(range(row.agents, 11))
        cells = np.array(list(row.by_size.values()))
        assert (cells[:, 1] <= cells[:, 0]).all()
        # 150 instances a cell: every rate is a multiple of 1/150, but for the one printed error.
        odd = np.abs(cells * 1.5 - np.round(cells * 1.5)) > 0.01
        assert odd.sum() == (row.policy == "GPT-5.4 †" and row.agents == 3)
        valid, optimal = np.abs(cells.mean(0) - row.mean)
        assert optimal < 0.01
        assert (valid > 0.01) == ((row.policy, row.agents) in INCONSISTENT)


def test_own_rows_pool_counts_and_average_sizes():
    cells = evaluation()
    pooled, *by_wait = own_rows("ours", 4, cells)
    assert [row.policy for row in by_wait] == ["ours, wait 0.25", "ours, wait 0.50", "ours, wait 0.75"]
    for size in range(4, 11):
        mine = [cell for cell in cells if (cell.agents, cell.size) == (4, size)]
        rates = 100 * np.array([[c.valid, c.optimal] for c in mine]).sum(0) / sum(c.instances for c in mine)
        np.testing.assert_allclose(pooled.by_size[size], rates)
        # The sets are equally large, so the pooled rate is the mean of the wait ratios'.
        np.testing.assert_allclose(np.mean([row.by_size[size] for row in by_wait], axis=0), rates)
    np.testing.assert_allclose(pooled.mean, np.mean(list(pooled.by_size.values()), axis=0))
    assert own_rows("ours", 2, cells) == []


def test_a_mean_needs_all_published_sizes():
    cells = [Cell(3, size, 0.5, 10, 5, 1) for size in range(3, 10)]
    [row] = own_rows("ours", 3, cells)
    assert row.mean is None
    [row] = own_rows("ours", 3, [*cells, Cell(3, 10, 0.5, 10, 1, 1)])
    assert row.mean == pytest.approx((45.0, 10.0))


def test_tables_show_ours_below_the_published(tmp_path):
    terminal, markdown = show({"round 0": evaluation(), "round 1": evaluation(0.1)}, tmp_path)
    assert "…" not in terminal
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(lines) == 3 * (2 + 7 + 2 * 4)
    assert {line.count(" \\| ") for line in lines[2:17]} == {9}
    designed = r"| Qwen3-4B GRPO, designed † | 68.67 \| 48.00 | 64.67 \| 41.33 |"
    assert next(line for line in lines if "designed" in line).startswith(designed)
    assert r"| 51.67 \| 31.67 |" in next(line for line in lines if "designed" in line)
    [pooled, *_] = own_rows("round 0", 3, evaluation())
    valid, optimal = pooled.by_size[3]
    assert rf"| round 0 | {valid:.2f} \| {optimal:.2f} |" in markdown
    assert markdown.index("designed †") < markdown.index("| round 0 |") < markdown.index("| round 1 |")
    for text in (terminal, markdown):
        assert "† published (arXiv:2606.17682)" in text
        assert "Ours: 150 instances a cell or more" in text
        assert "interval of ±7.9." in " ".join(text.split())  # 1.96 sqrt(1/4 / (150 + 1.96^2))


def test_tables_of_a_small_evaluation(tmp_path):
    cells = [Cell(2, 3, 0.5, 4, 3, 1), Cell(3, 4, 0.5, 4, 1, 0)]
    terminal, markdown = show({"tiny": cells}, tmp_path)
    assert "2 agents" in terminal
    assert r"| tiny | 75.00 \| 25.00 | - |" in markdown
    assert r"| tiny | - | 25.00 \| 0.00 | - |" in markdown
    assert "Ours: 4 instances a cell or more" in markdown


@pytest.mark.parametrize("results", [{}, {"ours": ()}])
def test_nothing_to_show(results, tmp_path):
    with pytest.raises(ValueError, match="results"):
        evaluation_tables(results, tmp_path)


def test_figure_has_a_line_a_round(tmp_path):
    proposals = [done.proposal for done in rounds()]
    pictures = []
    for n in (1, 3):
        path = tmp_path / "made" / f"{n}.png"
        distribution_figure(proposals[:n], path)
        pictures.append(np.asarray(Image.open(path).convert("RGB"), int))
    assert len({picture.shape for picture in pictures}) == 1
    colors = [len(np.unique(picture.reshape(-1, 3), axis=0)) for picture in pictures]
    assert colors[0] < colors[1]  # every round has a colour of its own
    with pytest.raises(ValueError, match="no round to draw"):
        distribution_figure([], tmp_path / "none.png")
