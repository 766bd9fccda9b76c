"""Reading an engineer's reply: what is accepted is what YAML says, all else has its reason, in no time."""

import random
import re
import time

import numpy as np
import pytest
import yaml
from made_rounds import rounds
from malformed import MALFORMED, block, fenced

from train.engineering.config import SIZES, random_config
from train.engineering.designers import propose
from train.engineering.reply import MOST_SUMMARY_CHARACTERS, Rejection, parse, read_config, summary

SECONDS = 1.0  # of the processor for one reply; 0.2 in practice


def test_two_hundred_distinct_malformed_replies():
    texts = [text for _, texts in MALFORMED.values() for text in texts]
    assert len(set(texts)) == len(texts) >= 200


@pytest.mark.parametrize("kind", MALFORMED)
def test_rejects_with_its_reason_in_bounded_time_and_executes_nothing(kind, tmp_path):
    reason, texts = MALFORMED[kind]
    mark = tmp_path / "executed"
    run = rounds()
    for text in texts:
        reply = text.replace("{mark}", str(mark))
        start = time.process_time()
        proposal = propose(lambda *_, reply=reply: reply, "", run)
        assert time.process_time() - start < SECONDS
        assert re.search(reason, proposal.reason), (reply[:200], proposal.reason)
        assert proposal.reason.isprintable()  # one line
        assert len(proposal.reason) < 200
        assert proposal.origin == "kept"
        assert proposal.config == run[-1].proposal.config
    assert not mark.exists()


GOOD = block()
ACCEPTED = {
    "bare": GOOD,
    "bare in prose": f"Data moves up.\n\n{GOOD}\nThat is all.",
    "bare, flow style": "sizes: {\n"
    + ",\n".join(f"  {s}: {{data: .125, hole: 2e-1, wait: +3.E-1}}" for s in SIZES)
    + "\n}",
    "fenced": fenced(GOOD),
    "fenced, unmarked": f"```\n{GOOD}```",
    "fenced with tildes": f"~~~~ YAML\n{GOOD}~~~~~",
    "never closed": f"So:\n```yml\n{GOOD}",
    "indented fence": f"1. My answer:\n   ```yaml\n{GOOD}   ```",
    "the last of several": fenced(GOOD.replace("0.3", "0.9")) + fenced(GOOD),
    "other blocks around": "```python\nsizes: 1\n```\n" + fenced(GOOD) + "```\nnothing\n```",
    "after thinking": f"<think>\n{fenced(GOOD.replace('0.3', '0.9'))}</think>\n{fenced(GOOD)}",
    "thinking opened by the prompt": f"Hm. {fenced('sizes: 3')}</think>{fenced(GOOD)}",
    "with comments": fenced("# mine\n" + GOOD.replace("hole: 0.2}", "hole: 0.2} # as before")),
    "line ends of Windows": fenced(GOOD).replace("\n", "\r\n"),
    "one explicit document": fenced(f"---\n{GOOD}...\n"),
    "in another order": fenced("sizes:\n" + "".join(reversed(GOOD.splitlines(keepends=True)[1:]))),
    "one a line": fenced(
        "sizes:\n" + "".join(f"  {s}:\n    wait: 0.3\n    data: 0.125\n    hole: 0.2\n" for s in SIZES)
    ),
}


@pytest.mark.parametrize("how", ACCEPTED)
def test_accepts(how):
    assert parse(ACCEPTED[how]) == read_config(GOOD)


def test_reads_the_numbers_that_yaml_reads():
    draw = np.random.default_rng(0)
    for _ in range(20):
        data = draw.dirichlet(np.ones(8)) * draw.uniform(0.951, 1.049)
        rows = {
            size: f"{{data: {x:.12f}, hole: {draw.uniform(0, 0.5):.3e}, wait: {draw.integers(0, 2)}}}"
            for size, x in zip(SIZES, data, strict=True)
        }
        config, said = read_config(block(rows)), yaml.safe_load(block(rows))["sizes"]
        total = sum(said[size]["data"] for size in SIZES)
        for i, size in enumerate(SIZES):
            assert config.data[i] == pytest.approx(said[size]["data"] / total, abs=1e-4)
            assert config.hole[i] == pytest.approx(float(said[size]["hole"]), abs=1e-4)
            assert config.wait[i] == said[size]["wait"]


def test_damaged_replies_never_raise():
    draw = random.Random(0)
    letters = "{}[]:,&*!|>'\"%@`#?-. \n\t\\0123456789eE\x00\ud800é~"
    good, kept = fenced(random_config(0).to_yaml()), 0
    for _ in range(300):
        damaged = list(good)
        for _ in range(draw.randint(1, 6)):
            damaged[draw.randrange(len(damaged))] = draw.choice(letters)
        read = parse("".join(damaged))
        if isinstance(read, Rejection):
            kept += 1
            assert read.reason.isprintable()
            assert len(read.reason) < 200
    assert kept > 150


def test_summary_is_what_was_said_before_the_configuration():
    assert summary(f"<think>secret\n{GOOD}</think>\nSize 9 fails.\nMore of 7.\n\n{fenced(GOOD)}") == (
        "Size 9 fails.\nMore of 7.\n\nI looked at the failures."
    )
    assert summary(f"Less waiting.\n{GOOD}") == "Less waiting."
    assert summary("Only prose.") == "Only prose."
    assert summary("Well:\n<think>on and on") == "Well:"
    assert summary(GOOD) == ""
    assert len(summary("word " * 10**6)) <= MOST_SUMMARY_CHARACTERS
