"""The warm start: from nothing to a checkpoint, on from a checkpoint, and what its losses weigh."""

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
import tiny

from train import sft
from train.agent import Agent
from train.demonstrations import Demonstrator
from train.policy.weights import load_policy
from train.sft import SFTConfig

ROWS = (4, 4)
TINY = SFTConfig(out=Path(), env_set=tiny.ENVS, steps=2, rows=2, canvas=tiny.CANVAS, micro_tokens=1024)


def demonstrator(caption: float, board: bool = False) -> Demonstrator:
    return Demonstrator(tiny.environments(), ROWS, (1.0, 0.0, 0.0), 0.2, caption, board, jax.random.key(0))


def test_emphasis_multiplies_the_rows_of_an_environment() -> None:
    assert sft.rows_of_each(replace(TINY, emphasis={"rotate_matrix": 3})) == [2, 6]
    with pytest.raises(ValueError, match="emphasis: maze_2d is not in frozen_lake,rotate_matrix"):
        sft.rows_of_each(replace(TINY, emphasis={"maze_2d": 2}))


@pytest.mark.slow
def test_from_nothing_and_on_from_there(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    sft.main(replace(TINY, out=tmp_path / "new"))
    assert "step 1/2  loss" in capsys.readouterr().out
    sft.main(replace(TINY, out=tmp_path / "again"))
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("new", "again")]
    assert weights[0] == weights[1]
    sft.main(replace(TINY, out=tmp_path / "read", model=str(tmp_path / "new"), observation="text"))
    before, after = (load_policy(tmp_path / name) for name in ("new", "read"))
    assert before.config == after.config
    leaves = zip(*(jax.tree.leaves(policy.params["decoder"]) for policy in (before, after)), strict=True)
    assert any((a != b).any() for a, b in leaves)


def test_texts_are_learnt_as_captions_and_replies_whole(agent: Agent) -> None:
    packs = demonstrator(0.25).packs(agent.chat, jax.random.key(1))
    assert len(packs) == 4 * 2
    for pack in packs:
        (answer,) = pack.answers
        assert pack.prompt is agent.chat.head
        weights, learnt = np.asarray(answer.advantage), answer.learnt
        assert set(weights[learnt]) == {0.25, 1.0}
        replies = agent.chat.decode(
            answer.tokens[None][:, weights == 1.0], np.array([(weights == 1.0).sum()])
        )
        said = agent.chat.decode(answer.tokens[None], np.array([len(answer.tokens)]))
        assert "</answer>" in replies[0]
        assert said[0].endswith(replies[0])
        assert (~learnt).sum() == len(agent.chat.tail)
        assert answer.tokens[~learnt].tolist() == agent.chat.tail.tolist()


def test_the_board_stays_where_it_is_asked_for(agent: Agent) -> None:
    def boards(board: bool) -> int:
        packs = demonstrator(0.25, board).packs(agent.chat, jax.random.key(1))
        texts = [agent.chat.decode(p.answers[0].tokens[None], np.array([p.answer_length]))[0] for p in packs]
        return sum("Board:" in text for text in texts)

    assert boards(True) == 8
    assert boards(False) < 8
