"""The small policy before any training: a Qwen3-VL of one million parameters with its own tokenizer.

Everything is in the layout of a Hugging Face checkpoint: transformers loads the directory like any other.
"""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import jax
import jax.numpy as jnp
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from jaxenv import text
from jaxenv.environment import Environment, make_params
from jaxenv.quick_compile import quick_jit
from jaxenv.text import Text
from train.compilation import in_threads
from train.policy.config import (
    FAMILIES,
    PictureTokens,
    PolicyConfig,
    TextConfig,
    VisionConfig,
    write_config,
)
from train.policy.weights import Policy, init_policy, save_policy

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
TAGS = ("<answer>", "</answer>")
VOCABULARY = 872  # tokens beside the whole sentences
# Words with the space before them, and the one after where a digit follows; titles of a paragraph; every
# digit, mark and line break is a token of its own.
WORDS = Regex(r"\n\p{Lu}\p{Ll}+:\s| ?\p{L}+(?: (?=\p{N}))?|\p{N}| ?[^\s\p{L}\p{N}]|\s")
PATCH, MERGE = 8, 2
TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.content is string -%}
{{ message.content }}
{%- else -%}
{%- for part in message.content -%}
{%- if part.type == 'image' -%}
<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type == 'text' -%}
{{ part.text }}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""


def create(directory: str | Path, envs: Sequence[Environment], seed: int) -> Policy:
    """Writes a randomly initialised policy with a tokenizer trained on the texts of `envs`."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = train_tokenizer(corpus(envs, seed), sentences(envs))
    tokenizer.save_pretrained(directory)
    policy = init_policy(_config(tokenizer), jax.random.key(seed))
    save_policy(policy, directory)
    end, pad = (_token_id(tokenizer, name) for name in ("<|im_end|>", "<|endoftext|>"))
    write_config(policy.config, directory, eos_token_id=end, pad_token_id=pad)
    _write_json(directory / "generation_config.json", {"eos_token_id": [end, pad], "pad_token_id": pad})
    _write_json(directory / "preprocessor_config.json", _processor(envs[0].canvas))
    return policy


def corpus(envs: Iterable[Environment], seed: int, samples: int = 64) -> list[str]:
    """Prompts and expert replies of every environment, scale and harness level."""
    keys = jax.random.split(jax.random.key(seed), samples)

    def written(env: Environment) -> list[str]:
        write = quick_jit(jax.vmap(partial(_texts, env), in_axes=(0, None)))
        batches = [texts for scale in range(env.num_scales) for texts in write(keys, jnp.int32(scale))]
        return [line for texts in batches for line in text.decode_batch(texts)]

    roles = ["system", "user", "assistant"] * samples
    return [*roles, *chain.from_iterable(in_threads(partial(written, env) for env in envs))]


def sentences(envs: Iterable[Environment]) -> list[str]:
    """What every prompt of an environment repeats: its task and its rules, one token each."""
    return [sentence for env in envs for sentence in (env.task, env.rules)]


def train_tokenizer(lines: Iterable[str], whole: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer whose merges never leave a word; the strings `whole` are tokens too."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(WORDS, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = [AddedToken(string, normalized=False, special=False) for string in (*TAGS, *whole)]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(SPECIAL) - len(TAGS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.add_tokens(added)
    tokenizer.add_special_tokens(list(SPECIAL))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=[
            token for token in SPECIAL if token not in ("<|im_end|>", "<|endoftext|>")
        ],
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast


def _texts(env: Environment, key: jax.Array, scale: jax.Array) -> tuple[Text, Text]:
    make, solve = jax.random.split(key)
    episode = env.sample_level(make, make_params(0, scale))
    return env.prompt(episode), env.expert_text(solve, episode)


def _token_id(tokenizer: PreTrainedTokenizerFast, name: str) -> int:
    return tokenizer.get_vocab()[name]


def _config(tokenizer: PreTrainedTokenizerFast) -> PolicyConfig:
    ids = {name: _token_id(tokenizer, name) for name in SPECIAL}
    return PolicyConfig(
        family=FAMILIES["qwen3_vl"],
        text=TextConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=32,
            rms_norm_eps=1e-6,
            rope_theta=10_000.0,
            mrope_section=(6, 5, 5),
        ),
        vision=VisionConfig(
            depth=2,
            hidden_size=64,
            num_heads=2,
            intermediate_size=192,
            patch_size=PATCH,
            temporal_patch_size=2,
            spatial_merge_size=MERGE,
            in_channels=3,
            num_position_embeddings=144,
            out_hidden_size=128,
            deepstack_visual_indexes=(0,),
        ),
        pictures=PictureTokens(
            image_token_id=ids["<|image_pad|>"],
            video_token_id=ids["<|video_pad|>"],
            vision_start_token_id=ids["<|vision_start|>"],
            vision_end_token_id=ids["<|vision_end|>"],
        ),
        tie_word_embeddings=True,
    )


def _processor(canvas: int) -> dict[str, object]:
    """Tells transformers to take our canvas as it is, without resizing."""
    return {
        "image_processor_type": "Qwen2VLImageProcessor",
        "patch_size": PATCH,
        "temporal_patch_size": 2,
        "merge_size": MERGE,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "size": {"shortest_edge": canvas * canvas, "longest_edge": canvas * canvas},
    }


def _write_json(file: Path, content: dict[str, object]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")
