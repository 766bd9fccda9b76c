"""The shape of a policy, read from and written to a plain Hugging Face `config.json`.

One decoder serves Qwen3-VL, Qwen3, Qwen2.5 and Llama: a `Family` says in which of its parts they differ. Two
styles of the file are in use. Up to transformers 4.57 the rotary embedding is `rope_theta` beside
`rope_scaling`; from 5.0 it is one `rope_parameters`. Both read to the same dataclasses. A field that may
change what the network computes must be one this package knows: an unknown one is an error, never a guess.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from train.policy.errors import PolicyError

Values = Mapping[str, tuple[Any, ...]]
"""Fields whose only supported values are these; None means "absent in this file"."""

# Fields that do not change the forward pass of a checkpoint.
_IGNORED = frozenset({
    "_name_or_path", "architectures", "attention_dropout", "bos_token_id", "dtype", "eos_token_id",
    "initializer_range", "is_llama_config", "max_position_embeddings", "model_type", "pad_token_id",
    "tie_word_embeddings", "torch_dtype", "transformers.js_config", "transformers_version", "use_cache",
    "max_window_layers", "sliding_window",  # without a window, which use_sliding_window and layer_types say
})  # fmt: skip
_WINDOWS: Values = {"use_sliding_window": (False, None)}
_VISION_FIXED: Values = {
    "model_type": ("qwen3_vl", "qwen3_vl_vision", None),
    "hidden_act": ("gelu_pytorch_tanh",),
}
_VISION_ROPE: Values = {"rope_type": ("axial", None), "rope_theta": (10000, None)}
_ROPE: Values = {"rope_type": ("default", None), "type": ("default", None)}
_MROPE: Values = {**_ROPE, "mrope_interleaved": (True,)}


@dataclass(frozen=True)
class Family:
    """What one `model_type` has that another has not."""

    model_type: str
    architecture: str
    sees: bool = False
    """It has a vision tower, and its config.json an own part for each half."""
    qk_norm: bool = False
    """Queries and keys are normed before they are rotated."""
    qkv_bias: bool = False
    """The projections to queries, keys and values have biases, that of the output none."""
    fixed: Values = field(default_factory=dict, compare=False)
    """Fields of its text decoder that must not say anything else."""

    @property
    def decoder(self) -> str:
        """Where its tensors of the text decoder are on disk."""
        return "model.language_model" if self.sees else "model"


FAMILIES = {
    family.model_type: family
    for family in (
        Family(
            "qwen3_vl", "Qwen3VLForConditionalGeneration", sees=True, qk_norm=True,
            fixed={"hidden_act": ("silu",), "attention_bias": (False, None)},
        ),
        Family(
            "qwen3", "Qwen3ForCausalLM", qk_norm=True,
            fixed={"hidden_act": ("silu",), "attention_bias": (False, None), **_WINDOWS},
        ),
        Family(
            "qwen2", "Qwen2ForCausalLM", qkv_bias=True,
            fixed={"hidden_act": ("silu",), "use_mrope": (False, None), **_WINDOWS},
        ),
        Family(
            "llama", "LlamaForCausalLM",
            fixed={
                "hidden_act": ("silu",), "attention_bias": (False, None), "mlp_bias": (False, None),
                "pretraining_tp": (1, None), "rope_interleaved": (False, None),
            },
        ),
    )
}  # fmt: skip


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
    """The text decoder, in the words of `text_config`; `mrope_section` is () in a model of text alone."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    mrope_section: tuple[int, ...]


@dataclass(frozen=True)
class PictureTokens:
    """Ids that mark a picture in a prompt; they only describe its format, the network never compares ids."""

    image_token_id: int
    video_token_id: int
    vision_start_token_id: int
    vision_end_token_id: int


@dataclass(frozen=True)
class PolicyConfig:
    """A whole policy; `vision` and `pictures` are None in a family that does not see."""

    family: Family
    text: TextConfig
    vision: VisionConfig | None
    pictures: PictureTokens | None
    tie_word_embeddings: bool


def read_config(directory: str | Path) -> PolicyConfig:
    """Reads `directory/config.json`.

    Raises:
        PolicyError: the file is absent or not JSON, the architecture is none of `FAMILIES`, or a field is
            missing, unknown or unsupported.
    """
    file = Path(directory) / "config.json"
    raw = _read_json(file)
    _check(raw, {"model_type": tuple(FAMILIES)}, file, "")
    family = FAMILIES[raw["model_type"]]
    where = "text_config." if family.sees else ""
    text = dict(_take(raw, "text_config", dict, file, "")) if family.sees else dict(raw)
    _check(text, {"model_type": (f"{family.model_type}_text",)} if family.sees else {}, file, where)
    _flatten_rope(text, family, file, where)
    if "head_dim" not in text or text["head_dim"] is None:
        heads = _take(text, "num_attention_heads", int, file, where)
        text["head_dim"] = _take(text, "hidden_size", int, file, where) // heads
    if set(text.pop("layer_types", None) or ()) - {"full_attention"}:
        raise PolicyError(
            f"{file}: field {where}layer_types has a layer that is not full_attention; use another model"
        )
    config = PolicyConfig(
        family=family,
        text=_read_part(TextConfig, text, family.fixed, file, where),
        vision=_read_vision(raw, file) if family.sees else None,
        pictures=_read_pictures(raw, file) if family.sees else None,
        tie_word_embeddings=bool(raw.get("tie_word_embeddings", text.get("tie_word_embeddings", False))),
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
    family = config.family
    text: dict[str, Any] = asdict(config.text)
    section = text.pop("mrope_section")
    text |= {
        "hidden_act": "silu",
        "attention_bias": False,
        "tie_word_embeddings": config.tie_word_embeddings,
        "eos_token_id": eos_token_id,
        "pad_token_id": pad_token_id,
    }
    raw: dict[str, Any] = {
        "architectures": [family.architecture],
        "model_type": family.model_type,
        "dtype": "float32",
    }
    if config.vision is None or config.pictures is None:
        raw = text | raw
    else:
        rope = {"rope_type": "default", "mrope_interleaved": True, "mrope_section": section}
        raw |= asdict(config.pictures) | {
            "tie_word_embeddings": config.tie_word_embeddings,
            "text_config": text | {"model_type": f"{family.model_type}_text", "rope_scaling": rope},
            "vision_config": asdict(config.vision)
            | {"model_type": family.model_type, "hidden_act": "gelu_pytorch_tanh"},
        }
    if "attention_bias" not in family.fixed:
        del raw["attention_bias"]
    (Path(directory) / "config.json").write_text(json.dumps(raw, indent=2, sort_keys=True) + "\n")


def _read_vision(raw: dict[str, Any], file: Path) -> VisionConfig:
    vision = dict(_take(raw, "vision_config", dict, file, ""))
    rope = vision.pop("rope_parameters", None) or {}
    _check(rope, _VISION_ROPE, file, "vision_config.rope_parameters.", closed=True)
    return _read_part(VisionConfig, vision, _VISION_FIXED, file, "vision_config.")


def _read_pictures(raw: dict[str, Any], file: Path) -> PictureTokens:
    return PictureTokens(**{f.name: _take(raw, f.name, int, file, "") for f in fields(PictureTokens)})


def _read_json(file: Path) -> dict[str, Any]:
    try:
        raw = json.loads(file.read_text())
    except FileNotFoundError:
        raise PolicyError(f"{file}: no such file; give the directory of a checkpoint") from None
    except ValueError as error:
        raise PolicyError(f"{file}: not JSON ({error}); copy the file again from its source") from None
    if not isinstance(raw, dict):
        raise PolicyError(f"{file}: holds no JSON object; copy the file again from its source")
    return raw


def _flatten_rope(text: dict[str, Any], family: Family, file: Path, where: str) -> None:
    """Moves `rope_theta` and `mrope_section` of either style to the top of `text`, in place."""
    new_style = "rope_parameters" in text
    name = "rope_parameters" if new_style else "rope_scaling"
    inside = f"{where}{name}."
    rope = dict(_take(text, name, dict, file, where)) if family.sees or text.get(name) else {}
    text.pop(name, None)
    text["mrope_section"] = _take(rope, "mrope_section", tuple, file, inside) if family.sees else ()
    rest = {key: value for key, value in rope.items() if key != "mrope_section"}
    if new_style:
        text["rope_theta"] = _take(rest, "rope_theta", float, file, inside)
        del rest["rope_theta"]
    _check(rest, _MROPE if family.sees else _ROPE, file, inside, closed=True)


def _read_part(kind: type, raw: dict[str, Any], fixed: Values, file: Path, where: str) -> Any:
    values = {field.name: _take(raw, field.name, _plain(field.type), file, where) for field in fields(kind)}
    rest = {name: value for name, value in raw.items() if name not in values and name not in _IGNORED}
    _check(rest, fixed, file, where, closed=True)
    return kind(**values)


def _plain(annotation: Any) -> type:
    return annotation if annotation in (int, float) else tuple


def _take(raw: dict[str, Any], name: str, kind: type, file: Path, where: str) -> Any:
    """The value of a required field, converted to `kind` where JSON has no such type."""
    if name not in raw:
        raise PolicyError(f"{file}: field {where}{name} is missing; use a complete config.json")
    value = raw[name]
    if kind is tuple and type(value) in (list, tuple) and all(type(item) is int for item in value):
        return tuple(value)
    if kind is float and type(value) in (int, float):
        return float(value)
    if type(value) is kind:
        return value
    raise PolicyError(f"{file}: field {where}{name} is {value!r}, not {_WORDS[kind]}; correct it")


_WORDS = {int: "a whole number", float: "a number", tuple: "a list of whole numbers", dict: "an object"}


def _check(raw: dict[str, Any], fixed: Values, file: Path, where: str, closed: bool = False) -> None:
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
            "remove it if it does not, else use a plain checkpoint"
        )


def _check_shapes(config: PolicyConfig, file: Path) -> None:
    """Requires sizes that fit together, so that no later reshape fails with a message about arrays."""
    text, vision = config.text, config.vision
    where = "text_config." if config.family.sees else ""
    rules = {
        f"{where}num_attention_heads": text.num_attention_heads % text.num_key_value_heads == 0,
        f"{where}head_dim": text.head_dim > 0 and text.head_dim % 2 == 0,
    }
    if vision is not None:
        levels = vision.deepstack_visual_indexes
        rules |= {
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
