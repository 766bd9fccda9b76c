"""The small policy: an ordinary checkpoint directory to transformers, light enough to ship."""

import json
from pathlib import Path

import pytest
import tiny

from train import small
from train.agent import AES30_POLICY, MAPF_POLICY, NOVICE_POLICY, POOL_POLICY, SMALL_POLICY, Agent, policy_for
from train.grpo import GRPOConfig
from train.policy.config import read_config
from train.policy.weights import load_policy

SHIPPED = (SMALL_POLICY, AES30_POLICY, MAPF_POLICY, NOVICE_POLICY, POOL_POLICY)


def loads_with_transformers(folder: Path) -> None:
    from transformers import AutoConfig, AutoTokenizer

    config, ours = AutoConfig.from_pretrained(folder), read_config(folder)
    assert config.model_type == "qwen3_vl"
    assert config.text_config.vocab_size == ours.text.vocab_size
    assert config.vision_config.depth == ours.vision.depth
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert len(tokenizer) <= ours.text.vocab_size
    assert tokenizer.convert_tokens_to_ids("<|image_pad|>") == ours.pictures.image_token_id
    assert tokenizer.eos_token == "<|im_end|>"
    message = [{"type": "image"}, {"type": "text", "text": "Where is the gift?"}]
    rendered = tokenizer.apply_chat_template(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": message}],
        tokenize=False,
        add_generation_prompt=True,
    )
    assert rendered == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Where is the gift?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    ends = json.loads((folder / "generation_config.json").read_text())
    assert ends["eos_token_id"] == tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    processor = json.loads((folder / "preprocessor_config.json").read_text())
    assert processor["patch_size"] * processor["merge_size"] == ours.vision.pixels_per_token


def test_a_new_policy_loads_like_any_other(random_model: Path) -> None:
    loads_with_transformers(random_model)


def test_a_trained_policy_keeps_its_side_files(model: Path, agent: Agent) -> None:
    loads_with_transformers(model)
    loaded = load_policy(model)
    assert loaded.config == agent.policy.config


def test_the_tokenizer_knows_tags_and_digits(random_model: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(random_model)
    assert tokenizer.tokenize("<answer>up</answer>") == ["<answer>", "up", "</answer>"]
    assert tokenizer.tokenize("120") == ["1", "2", "0"]
    for line in ("naïve 漢字 \t\n", "  <answer>1 2\n3</answer> .", ""):
        assert tokenizer.decode(tokenizer(line, add_special_tokens=False)["input_ids"]) == line


def test_a_seed_makes_the_same_policy(random_model: Path, tmp_path: Path) -> None:
    small.create(tmp_path, tiny.environments(), seed=0)
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in random_model.iterdir()}
    for file in random_model.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_the_shipped_policies_are_small_and_described(folder: Path) -> None:
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 10e6
    assert len((folder / "README.md").read_text()) > 300
    loads_with_transformers(folder)
    load_policy(folder)


def test_a_set_is_trained_from_a_policy_that_has_seen_it() -> None:
    for env_set in ("core12", "maze_2d", "core12,-sokoban"):
        assert policy_for(env_set) == SMALL_POLICY
    for env_set in ("aes30", "wordle", "addition_table,wordle"):
        assert policy_for(env_set) == AES30_POLICY
    for env_set in ("tsp", "core12,tsp", "all,-mapf"):
        assert policy_for(env_set) == NOVICE_POLICY
    assert policy_for("mapf_frozen_lake_plan") == MAPF_POLICY
    assert GRPOConfig(env_set="core12").start == str(SMALL_POLICY)
    assert GRPOConfig(env_set="core12", model="mine").start == "mine"
