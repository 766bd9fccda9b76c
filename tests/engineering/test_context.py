"""What the engineer is told: each version has its modules and none of the others'."""

from pathlib import Path

import pytest
from made_rounds import rounds

from train.engineering.config import SIZES, normalised
from train.engineering.context import MODULES, ContextConfig, Loop, render
from train.engineering.records import Cell, Outcome, Round
from train.engineering.reply import parse

LOOP = Loop(rounds=4, hyperparameters={"learning rate": 1e-6, "answers a group": 8})
GOLDEN = Path(__file__).parent / "golden_context.txt"  # V6, the loop alone
REPORT, GUIDELINES, HISTORY = "# Failure report after round 2", "# Guidelines", "# History"
START, TRAINING, ALGORITHM = "Round 0, drawn at random:", "# The training", "GRPO"
SUMMARY = "# What you wrote before round 1\nI move data up."
FULL = {ALGORITHM, "answers a group: 8", "falling to -1"}
ALL = {REPORT, GUIDELINES, HISTORY, START, SUMMARY, TRAINING} | FULL
CONTENTS = {
    ("V1", "loop"): {REPORT},
    ("V2", "loop"): {REPORT, GUIDELINES},
    ("V3", "loop"): {REPORT, GUIDELINES, HISTORY, START},
    ("V4", "loop"): {REPORT, GUIDELINES, HISTORY},
    ("V5", "loop"): {REPORT, GUIDELINES, HISTORY},  # round 2's reply had no summary of a configuration
    ("V6", "loop"): {REPORT, GUIDELINES, HISTORY, TRAINING},
    ("V6", "full"): {REPORT, GUIDELINES, HISTORY, TRAINING} | FULL,
}


def told(version, detail="loop", finished=None):
    return render(ContextConfig(version, detail), LOOP, finished or rounds())


def ratios(config):
    """The configuration as the history shows it."""
    columns = zip(SIZES, config.data, config.hole, config.wait, strict=True)
    return ["{} | {:.3f} | {:.3f} | {:.3f} |".format(*row) for row in columns]


@pytest.mark.parametrize(("version", "detail"), CONTENTS)
def test_a_version_has_its_modules_and_no_other(version, detail):
    text = told(version, detail)
    assert {part for part in ALL if part in text} == CONTENTS[version, detail]
    start, proposed = (ratios(rounds()[i].proposal.config) for i in (0, 1))
    assert all(row in text for row in start) == (version == "V3")
    assert any(row in text for row in start) == (version == "V3")
    assert all(row in text for row in proposed) == (version not in ("V1", "V2"))
    assert any(row in text for row in proposed) == (version not in ("V1", "V2"))
    assert text == told(version, detail)


@pytest.mark.parametrize("version", MODULES)
def test_the_first_engineered_round(version):
    text = told(version, finished=rounds()[:1])
    assert "# Failure report after round 0" in text
    assert (START in text) == (HISTORY in text) == (version == "V3")
    assert "# What you wrote" not in text


def test_the_summary_is_the_last_round_s_and_is_asked_for():
    text = told("V5", finished=rounds()[:2])
    assert SUMMARY in text
    assert "sum up" in text
    assert "I move data up." not in told("V6", finished=rounds()[:2])
    assert "sum up" not in told("V6")
    # A reply that was rejected is also remembered.
    assert "# What you wrote before round 2\nNo idea, sorry." in told("V5")


def test_the_history_says_why_a_configuration_was_kept():
    assert "Round 2, kept from the round before, since your reply was rejected: no YAML block" in told("V4")


@pytest.mark.parametrize("version", MODULES)
def test_the_form_that_is_shown_is_one_that_is_read(version):
    assert parse(told(version)) == normalised([0.125] * 8, [0.2] * 8, [0.3] * 8)


def test_the_failure_report_counts_by_size_and_agents():
    cells = (
        Cell(3, 7, 0.25, 50, 20, 10, {"no_collision": 18, "parses": 3}),
        Cell(3, 7, 0.75, 50, 10, 5, {"no_collision": 2, "no_hole": 20}),
        Cell(4, 7, 0.25, 100, 0, 0, {"parses": 100}),
        Cell(4, 10, 0.25, 8, 8, 8),
    )
    finished = [Round(0, rounds()[0].proposal, Outcome({}, cells))]
    lines = told("V1", finished=finished).splitlines()
    start = lines.index("agents | size | instances | pass | optimal | errors") + 1
    assert lines[start : lines.index("", start)] == [
        "all | 7 | 200 | 15.0 | 7.5 | parses 51.5, no_collision 10.0, no_hole 10.0",
        "all | 10 | 8 | 100.0 | 100.0 | none",
        "3 | 7 | 100 | 30.0 | 15.0 | no_collision 20.0, no_hole 20.0, parses 3.0",
        "4 | 7 | 100 | 0.0 | 0.0 | parses 100.0",
        "4 | 10 | 8 | 100.0 | 100.0 | none",
        "all | all | 208 | 18.3 | 11.1 | parses 49.5, no_collision 9.6, no_hole 9.6",
    ]


def test_golden_context():
    assert told("V6") == GOLDEN.read_text()


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (("V7",), "version: 'V7' must be one of V1, V2, V3, V4, V5, V6"),
        (("V6", "some"), "detail: 'some' must be loop or full"),
        (("V4", "full"), "detail: full is about the training, which V4 does not show; use V6"),
    ],
)
def test_refuses_other_versions(values, line):
    with pytest.raises(ValueError, match=r"version|detail") as raised:
        ContextConfig(*values)
    assert str(raised.value) == line
    with pytest.raises(ValueError, match="one finished round"):
        render(ContextConfig(), LOOP, [])
