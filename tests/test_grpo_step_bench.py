"""The benchmark beside TRL: our side really learns, and the table says what was measured. TRL itself is not
here; a small script stands in for its Python."""

import dataclasses
import json
import stat
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from benchmarks import grpo_step
from benchmarks.grpo_step import Ours, StepConfig
from benchmarks.trl_step import Measured, reward
from train.agent import SMALL_POLICY, Agent, make_agent
from train.turns import ActorConfig

CONFIG = StepConfig(prompts=2, group_size=3, new_tokens=5, warm=2, steps=2, learning_rate=1e-2)


@pytest.fixture(scope="module")
def agent() -> Agent:
    """The shipped policy with four times as many boards in words as prompts are wanted."""
    return make_agent(SMALL_POLICY, "frozen_lake", 4 * CONFIG.prompts, 64, ActorConfig(), "text")


def test_reward_counts_different_characters() -> None:
    assert [reward(reply) for reply in ("", "aaa", "abca")] == [0, 1, 3]


def test_our_step_samples_whole_replies_and_learns_from_them(agent: Agent) -> None:
    job = grpo_step._job(agent, CONFIG)
    ours = Ours(agent, job)
    prompts = agent.chat.prompts(job.texts)
    assert len(set(job.texts)) == CONFIG.prompts
    assert [row.tokens.tolist() for row in prompts] == job.prompt_ids

    tokens, logprobs, texts = ours.sample(prompts)
    assert tokens.shape == logprobs.shape == (CONFIG.prompts * CONFIG.group_size, CONFIG.new_tokens)
    assert (logprobs < 0).all()
    assert not agent.chat.stop[tokens].any()
    assert len({reward(reply) for reply in texts}) > 1

    before = jax.tree.leaves(ours.state.params)
    assert len(ours.measure()) == CONFIG.steps
    after = jax.tree.leaves(ours.state.params)
    assert any((np.asarray(old) != np.asarray(new)).any() for old, new in zip(before, after, strict=True))


def test_parts_are_micro_batches_without_waste(agent: Agent) -> None:
    tokens = np.zeros((CONFIG.prompts * CONFIG.group_size, CONFIG.new_tokens), np.int32)
    texts = [str(i) * i for i in range(len(tokens))]
    for parts in (1, 2):
        job = grpo_step._job(agent, dataclasses.replace(CONFIG, parts=parts))
        ours = Ours(agent, job)
        packs = ours.packs(agent.chat.prompts(job.texts), tokens, np.zeros(tokens.shape, np.float32), texts)
        batches = ours.learner.micro_batches(packs)
        assert [batch.mask.shape for batch in batches] == [(tokens.size // parts,)] * parts
        assert all(batch.mask.all() for batch in batches)
        assert all((batch.segment >= 0).any(1).all() for batch in batches)


def test_the_other_side_gets_the_job_and_its_last_line_counts(agent: Agent, tmp_path: Path) -> None:
    python = tmp_path / "python"
    answer = "dict(times=[[len(job['texts']), job['steps']]], versions='none')"
    python.write_text(
        f"#!{sys.executable}\nimport json, sys\njob = json.load(sys.stdin)\n"
        f"print('chatter')\nprint(json.dumps({answer}))\n"
    )
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    job = grpo_step._job(agent, CONFIG)
    measured = grpo_step._trl(str(python), job)
    assert measured == Measured([[CONFIG.prompts, CONFIG.steps]], "none")  # type: ignore[list-item]
    assert json.loads(json.dumps(dataclasses.asdict(job)))["prompt_ids"] == job.prompt_ids


def test_table_compares_medians_with_all_of_ours() -> None:
    table = grpo_step._table([(1.0, 2.0), (9.0, 9.0), (1.0, 2.0)], [(3.0, 4.0)] * 3, [(4.0, 6.0)])
    columns = [list(column.cells) for column in table.columns]
    assert columns == [
        ["sampling", "update", "step"],
        ["1.000", "2.000", "3.000"],
        ["3.000", "4.000", "7.000"],
        ["4.000", "6.000", "10.000"],
        ["1.33", "1.50", "1.43"],
    ]


def test_parts_that_do_not_divide_the_prompts_are_refused() -> None:
    with pytest.raises(SystemExit, match="parts: 3 does not divide 4 prompts"):
        grpo_step.main(StepConfig(parts=3))
