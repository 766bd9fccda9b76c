"""Models of text alone against transformers: the golden files of make_golden.py, float32 on CPU."""

import json
import shutil
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from safetensors.numpy import load_file

from train.policy import decoder
from train.policy.config import FAMILIES, read_config, write_config
from train.policy.decoder import KVCache
from train.policy.errors import PolicyError
from train.policy.generate import Prompt, generate_jit
from train.policy.weights import Policy, load_policy, save_policy

GOLDEN = Path(__file__).parent / "golden"
TEXT_ONLY = ["qwen3", "qwen2", "llama"]


@cache
def policy(family: str) -> Policy:
    return load_policy(GOLDEN / family)


@cache
def golden(family: str) -> dict[str, np.ndarray]:
    with np.load(GOLDEN / f"{family}.npz") as file:
        return {key: file[key] for key in ("tokens", "lengths", "logits")}


def positions(tokens: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.arange(tokens.shape[1], dtype=np.int32), (3, *tokens.shape))


@partial(jax.jit, static_argnums=0)
def forward(
    graphdef: nnx.GraphDef, params: Any, tokens: jax.Array, at: jax.Array, cache: KVCache | None = None
) -> tuple[jax.Array, KVCache]:
    model = nnx.merge(graphdef, params)
    hidden, tail = model(tokens, at, cache=cache)
    counts = jnp.full(len(tokens), tokens.shape[1])
    return model.logits(hidden), KVCache.of(tail, counts) if cache is None else cache.absorb(tail, counts)


@pytest.mark.parametrize("family", TEXT_ONLY)
def test_logits_are_those_of_transformers(family: str) -> None:
    p, wanted = policy(family), golden(family)
    logits, _ = forward(p.graphdef, p.params, wanted["tokens"], positions(wanted["tokens"]))
    for got, row, length in zip(logits, wanted["logits"], wanted["lengths"], strict=True):
        np.testing.assert_allclose(got[:length], row[:length], atol=1e-4)


@pytest.mark.parametrize("family", TEXT_ONLY)
def test_a_cache_changes_nothing(family: str) -> None:
    """Seven tokens at once, the rest one by one."""
    p, wanted = policy(family), golden(family)
    tokens = wanted["tokens"][[0, 2]][:, :9]
    at = positions(tokens)
    logits, kept = forward(p.graphdef, p.params, tokens[:, :7], at[..., :7])
    kept, steps = kept.grow(2), [logits]
    for t in (7, 8):
        logits, kept = forward(p.graphdef, p.params, tokens[:, t : t + 1], at[..., t : t + 1], kept)
        steps.append(logits)
    np.testing.assert_allclose(jnp.concatenate(steps, 1), wanted["logits"][[0, 2], :9], atol=1e-4)


@pytest.mark.parametrize("unrolled", [True, False])
def test_a_tail_changes_nothing(unrolled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five tokens in a cache, three more in a tail, then one by one; layers unrolled and in a loop."""
    monkeypatch.setattr(decoder, "CUT_AT_MOST", 2**28 if unrolled else 0)
    p, wanted = policy("qwen3"), golden("qwen3")
    tokens = wanted["tokens"][[0, 2]][:, :9]
    at = positions(tokens)
    _, cache = forward(p.graphdef, p.params, tokens[:, :5], at[..., :5])
    model = nnx.merge(p.graphdef, p.params)
    apart, steps = model.decoder.cut(cache), []
    tail = model.decoder.new_tail(2, 6, cache, apart)
    assert (apart is not None) == isinstance(tail.keys, tuple) == unrolled
    for now in (slice(5, 8), slice(8, 9)):
        hidden, tail = model(
            jnp.asarray(tokens[:, now]), jnp.asarray(at[..., now]), cache=cache, tail=tail, apart=apart
        )
        steps.append(model.logits(hidden))
    assert int(tail.used) == 4
    np.testing.assert_allclose(jnp.concatenate(steps, 1), wanted["logits"][[0, 2], 5:9], atol=1e-4)


@pytest.mark.parametrize("family", TEXT_ONLY)
def test_what_is_sampled_has_the_models_own_probability(family: str) -> None:
    p, given = policy(family), golden(family)
    rows, width = given["tokens"].shape
    lengths = given["lengths"]
    prompt = Prompt(
        jnp.asarray(given["tokens"]), jnp.asarray(positions(given["tokens"])),
        jnp.full((rows, width), -1, jnp.int32), jnp.asarray(lengths), jnp.asarray(lengths),
        jnp.zeros((0, 1, 1, 3), jnp.uint8),
    )  # fmt: skip
    vocabulary = p.config.text.vocab_size
    done = generate_jit(
        p.graphdef, p.params, prompt, jnp.arange(rows), jax.random.split(jax.random.key(0), rows),
        max_new_tokens=4, temperature=1.0, allowed=jnp.ones(vocabulary, bool),
        stop=jnp.zeros(vocabulary, bool),
    )  # fmt: skip
    for row, length in enumerate(lengths):
        whole = np.concatenate([given["tokens"][row, :length], done.tokens[row]])[None]
        logits, _ = forward(p.graphdef, p.params, whole, positions(whole))
        wanted = jax.nn.log_softmax(logits[0])[np.arange(length - 1, length + 3), done.tokens[row]]
        np.testing.assert_allclose(done.logprobs[row], wanted, atol=1e-4)


@pytest.mark.parametrize("family", TEXT_ONLY)
def test_saved_weights_are_the_same_bytes(family: str, tmp_path: Path) -> None:
    save_policy(policy(family), tmp_path, source=GOLDEN / family)
    before, after = (
        load_file(GOLDEN / family / "model.safetensors"),
        load_file(tmp_path / "model.safetensors"),
    )
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert tensor.tobytes() == after[name].tobytes(), name
    assert (tmp_path / "config.json").read_text() == (GOLDEN / family / "config.json").read_text()


@pytest.mark.parametrize("family", TEXT_ONLY)
def test_what_is_written_reads_back_here_and_there(family: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = policy(family).config
    write_config(config, tmp_path, eos_token_id=3, pad_token_id=0)
    assert read_config(tmp_path) == config
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert theirs.model_type == family
    assert theirs.rope_parameters["rope_theta"] == config.text.rope_theta == 5000.0
    assert theirs.num_key_value_heads == config.text.num_key_value_heads
    assert theirs.tie_word_embeddings == config.tie_word_embeddings


def test_both_styles_of_the_rope_read_alike(tmp_path: Path) -> None:
    raw = json.loads((GOLDEN / "qwen3" / "config.json").read_text())
    raw["rope_theta"] = raw.pop("rope_parameters")["rope_theta"]
    raw |= {"rope_scaling": None, "sliding_window": 4096, "max_window_layers": 2}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    assert read_config(tmp_path) == read_config(GOLDEN / "qwen3")


@pytest.mark.parametrize(
    ("family", "change", "told"),
    [
        ("qwen3", {"use_sliding_window": True}, "use_sliding_window is True"),
        ("qwen3", {"layer_types": ["sliding_attention"] * 3}, "layer_types has a layer"),
        ("qwen3", {"attention_bias": True}, "attention_bias is True"),
        ("llama", {"mlp_bias": True}, "mlp_bias is True"),
        (
            "llama",
            {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
            "rope_scaling.rope_type is 'llama3'",
        ),
        ("llama", {"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ("qwen2", {"quantization_config": {}}, "quantization_config is unknown"),
        ("qwen2", {"num_key_value_heads": 3}, "num_attention_heads does not fit"),
        ("qwen2", {"model_type": "gpt2"}, "model_type is 'gpt2', only 'qwen3_vl' or 'qwen3' or"),
    ],
)
def test_what_would_compute_otherwise_is_refused(
    family: str, change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    raw = json.loads((GOLDEN / family / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(raw))
    with pytest.raises(PolicyError) as refused:
        read_config(tmp_path)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_text_model_sees_nothing() -> None:
    p = policy("qwen3")
    model = nnx.merge(p.graphdef, p.params)
    with pytest.raises(ValueError, match="a qwen3 model has no vision tower"):
        model.encode_images(jnp.zeros((1, 16, 16, 3), jnp.uint8))


def test_weights_of_another_family_are_named(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "qwen2", tmp_path, dirs_exist_ok=True)
    raw = json.loads((tmp_path / "config.json").read_text()) | {"model_type": "llama"}
    raw.pop("use_sliding_window", None)
    (tmp_path / "config.json").write_text(json.dumps(raw))
    with pytest.raises(
        PolicyError, match=r"has unexpected tensors model\.layers\.0\.self_attn\.k_proj\.bias"
    ):
        load_policy(tmp_path)


def test_every_family_is_known_by_its_name() -> None:
    assert all(name == family.model_type for name, family in FAMILIES.items())
