"""The shape of a Qwen3-VL policy, read from and written to a plain Hugging Face `config.json`.

Two styles of that file are in use. Up to transformers 4.57 the rotary embedding is `rope_theta` beside
`rope_scaling`; from 5.0 it is one `rope_parameters` (see `Qwen3VLTextConfig` there). Both read to the same
dataclasses. A field that may change what the network computes must be one this package knows: an unknown one
is an error, never a guess.
"""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from train.policy.errors import PolicyError

# Fields that do not change the forward pass of a checkpoint.
_IGNORED = frozenset({
    "attention_dropout", "bos_token_id", "dtype", "eos_token_id", "initializer_range",
    "max_position_embeddings", "pad_token_id", "tie_word_embeddings", "torch_dtype", "use_cache",
})  # fmt: skip
# Fields whose only supported values are these; None means "absent in this file".
_TEXT_FIXED: dict[str, tuple[Any, ...]] = {
    "model_type": ("qwen3_vl_text",),
    "hidden_act": ("silu",),
    "attention_bias": (False, None),
}
_VISION_FIXED: dict[str, tuple[Any, ...]] = {
    "model_type": ("qwen3_vl", "qwen3_vl_vision", None),
    "hidden_act": ("gelu_pytorch_tanh",),
}
_VISION_ROPE: dict[str, tuple[Any, ...]] = {"rope_type": ("axial", None), "rope_theta": (10000, None)}
_TEXT_ROPE: dict[str, tuple[Any, ...]] = {
    "rope_type": ("default", None),
    "type": ("default", None),
    "mrope_interleaved": (True,),
}


@dataclass(frozen=True)
class VisionConfig:
    """The vision tower, in the words of `vision_config`."""

    depth: int
    hidden_size: int
    num_heads: int
    intermediate_size: int
    patch_size: int
    temporal_patch_size: int
    spatial_merge_size: int
    in_channels: int
    num_position_embeddings: int
    out_hidden_size: int
    deepstack_visual_indexes: tuple[int, ...]

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_heads

    @property
    def table_side(self) -> int:
        """Side of the square table of learned positions."""
        return math.isqrt(self.num_position_embeddings)

    @property
    def pixels_per_token(self) -> int:
        """Side in pixels of the square that becomes one visual token; image sides are multiples of it."""
        return self.patch_size * self.spatial_merge_size


@dataclass(frozen=True)
class TextConfig:
    """The text decoder, in the words of `text_config`."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    mrope_section: tuple[int, int, int]


@dataclass(frozen=True)
class PolicyConfig:
    """A whole policy. The four token ids only describe the prompt format; the network never compares ids."""

    text: TextConfig
    vision: VisionConfig
    image_token_id: int
    video_token_id: int
    vision_start_token_id: int
    vision_end_token_id: int
    tie_word_embeddings: bool


def read_config(directory: str | Path) -> PolicyConfig:
    """Reads `directory/config.json`.

    Raises:
        PolicyError: the file is absent or not JSON, or a field is missing, unknown or unsupported.
    """
    file = Path(directory) / "config.json"
    raw = _read_json(file)
    _check(raw, {"model_type": ("qwen3_vl",)}, file, "")
    text, vision = (dict(_take(raw, part, dict, file, "")) for part in ("text_config", "vision_config"))
    _flatten_text_rope(text, file)
    vision_rope = vision.pop("rope_parameters", None) or {}
    _check(vision_rope, _VISION_ROPE, file, "vision_config.rope_parameters.", closed=True)
    tied = raw.get("tie_word_embeddings", text.get("tie_word_embeddings", False))
    ids = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    config = PolicyConfig(
        text=_read_part(TextConfig, text, _TEXT_FIXED, file, "text_config."),
        vision=_read_part(VisionConfig, vision, _VISION_FIXED, file, "vision_config."),
        tie_word_embeddings=bool(tied),
        **{name: _take(raw, name, int, file, "") for name in ids},
    )
    _check_shapes(config, file)
    return config


def write_config(
    config: PolicyConfig,
    directory: str | Path,
    *,
    eos_token_id: int | None = None,
    pad_token_id: int | None = None,
) -> None:
    """Writes `directory/config.json` in the published style, which transformers 4.57 and 5 both load."""
    text: dict[str, Any] = asdict(config.text)
    section = text.pop("mrope_section")
    text |= {
        "model_type": "qwen3_vl_text",
        "hidden_act": "silu",
        "attention_bias": False,
        "rope_scaling": {"rope_type": "default", "mrope_interleaved": True, "mrope_section": section},
        "tie_word_embeddings": config.tie_word_embeddings,
        "eos_token_id": eos_token_id,
        "pad_token_id": pad_token_id,
    }
    raw = asdict(config) | {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "dtype": "float32",
        "text_config": text,
        "vision_config": asdict(config.vision)
        | {"model_type": "qwen3_vl", "hidden_act": "gelu_pytorch_tanh"},
    }
    del raw["text"], raw["vision"]
    (Path(directory) / "config.json").write_text(json.dumps(raw, indent=2, sort_keys=True) + "\n")


def _read_json(file: Path) -> dict[str, Any]:
    try:
        raw = json.loads(file.read_text())
    except FileNotFoundError:
        raise PolicyError(f"{file}: no such file; give the directory of a Qwen3-VL checkpoint") from None
    except ValueError as error:
        raise PolicyError(f"{file}: not JSON ({error}); copy the file again from its source") from None
    if not isinstance(raw, dict):
        raise PolicyError(f"{file}: holds no JSON object; copy the file again from its source")
    return raw


def _flatten_text_rope(text: dict[str, Any], file: Path) -> None:
    """Moves `rope_theta` and `mrope_section` of either style to the top of `text`, in place."""
    new_style = "rope_parameters" in text
    name = "rope_parameters" if new_style else "rope_scaling"
    where = f"text_config.{name}."
    rope = dict(_take(text, name, dict, file, "text_config."))
    del text[name]
    text["mrope_section"] = _take(rope, "mrope_section", tuple, file, where)
    rest = {key: value for key, value in rope.items() if key != "mrope_section"}
    if new_style:
        text["rope_theta"] = _take(rest, "rope_theta", float, file, where)
        del rest["rope_theta"]
    _check(rest, _TEXT_ROPE, file, where, closed=True)


def _read_part(
    kind: type, raw: dict[str, Any], fixed: dict[str, tuple[Any, ...]], file: Path, where: str
) -> Any:
    values = {field.name: _take(raw, field.name, _plain(field.type), file, where) for field in fields(kind)}
    rest = {name: value for name, value in raw.items() if name not in values and name not in _IGNORED}
    _check(rest, fixed, file, where, closed=True)
    return kind(**values)


def _plain(annotation: Any) -> type:
    return annotation if annotation in (int, float) else tuple


def _take(raw: dict[str, Any], name: str, kind: type, file: Path, where: str) -> Any:
    """The value of a required field, converted to `kind` where JSON has no such type."""
    if name not in raw:
        raise PolicyError(f"{file}: field {where}{name} is missing; use a complete Qwen3-VL config.json")
    value = raw[name]
    if kind is tuple and type(value) in (list, tuple) and all(type(item) is int for item in value):
        return tuple(value)
    if kind is float and type(value) in (int, float):
        return float(value)
    if type(value) is kind:
        return value
    raise PolicyError(f"{file}: field {where}{name} is {value!r}, not {_WORDS[kind]}; correct it")


_WORDS = {int: "a whole number", float: "a number", tuple: "a list of whole numbers", dict: "an object"}


def _check(
    raw: dict[str, Any], fixed: dict[str, tuple[Any, ...]], file: Path, where: str, closed: bool = False
) -> None:
    """Requires each fixed field to have a supported value and, if `closed`, no other field to exist."""
    for name, allowed in fixed.items():
        if raw.get(name) not in allowed:
            wanted = " or ".join(repr(value) for value in allowed if value is not None)
            raise PolicyError(
                f"{file}: field {where}{name} is {raw.get(name)!r}, only {wanted} is supported; "
                "use such a checkpoint"
            )
    unknown = sorted(set(raw) - set(fixed))
    if closed and unknown:
        raise PolicyError(
            f"{file}: field {where}{unknown[0]} is unknown and may change the network; "
            "remove it if it does not, else use a plain Qwen3-VL checkpoint"
        )


def _check_shapes(config: PolicyConfig, file: Path) -> None:
    """Requires sizes that fit together, so that no later reshape fails with a message about arrays."""
    text, vision = config.text, config.vision
    levels = vision.deepstack_visual_indexes
    rules = {
        "text_config.num_attention_heads": text.num_attention_heads % text.num_key_value_heads == 0,
        "text_config.mrope_section": len(text.mrope_section) == 3
        and 2 * sum(text.mrope_section) == text.head_dim,
        "vision_config.num_heads": vision.hidden_size % (4 * vision.num_heads) == 0,
        "vision_config.num_position_embeddings": vision.table_side**2 == vision.num_position_embeddings,
        "vision_config.out_hidden_size": vision.out_hidden_size == text.hidden_size,
        "vision_config.deepstack_visual_indexes": set(levels) <= set(range(vision.depth))
        and len(levels) <= text.num_hidden_layers,
    }
    for name, holds in rules.items():
        if not holds:
            raise PolicyError(f"{file}: field {name} does not fit the other sizes; correct it")
