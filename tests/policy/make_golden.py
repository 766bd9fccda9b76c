"""Makes the golden files of this folder with torch and transformers; the tests then need neither torch nor
network.

    python3 -m venv /tmp/oracle
    /tmp/oracle/bin/pip install torch==2.13.0 transformers==5.24.0 safetensors==0.8.0 numpy pillow
    /tmp/oracle/bin/python tests/policy/make_golden.py

Writes golden/tied and golden/untied (tiny random checkpoints: config.json in the 5.x and the 4.57 style)
and, beside each, an .npz with batches of tokens, pictures, and what `Qwen3VLForConditionalGeneration`
makes of them in float32 on CPU: position ids and logits. `meta` in each .npz holds the versions. The models
of text alone (golden/qwen3, golden/qwen2, golden/llama) have the padded batch only.

    /tmp/oracle/bin/python tests/policy/make_golden.py DIRECTORY SUMS.npz

instead loads a checkpoint that our code saved and writes the logits of its `tied` batches, to compare by
hand.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    Qwen2VLImageProcessorPil,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

HERE = Path(__file__).parent / "golden"
PATCH, MERGE = 4, 2
IMAGE, VIDEO, START, END, VOCAB = 60, 61, 62, 63, 64
VISION = {
    "depth": 3, "hidden_size": 16, "num_heads": 2, "intermediate_size": 24, "patch_size": PATCH,
    "temporal_patch_size": 2, "spatial_merge_size": MERGE, "in_channels": 3, "num_position_embeddings": 16,
    "out_hidden_size": 32, "deepstack_visual_indexes": [0, 2],
}  # fmt: skip
TEXT = {
    "vocab_size": VOCAB, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "head_dim": 16,
    "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "max_position_embeddings": 1024,
}  # fmt: skip
ROPE = {"rope_type": "default", "mrope_interleaved": True, "mrope_section": [4, 2, 2]}
THETA = 5000.0
# Models of text alone: what differs from TEXT, and whether config.json is in the style of 4.57.
TEXT_ONLY = {
    "qwen3": ({"tie_word_embeddings": True}, False),
    "qwen2": ({"tie_word_embeddings": False, "head_dim": None}, True),
    "llama": ({"tie_word_embeddings": True, "head_dim": None, "num_key_value_heads": 1}, True),
}
TEXT_ROWS = [9, 4, 12, 1]
# A batch is rows; a row is numbers of text tokens and (height, width) of pictures in pixels, in order.
BATCHES = {
    "text": [[9]],
    "one": [[4, (16, 24), 5]],
    "two_sizes": [[2, (24, 24), 3, (32, 16), 2]],
    "picture_first": [[(16, 24), (24, 24), 4]],
    "picture_last": [[3, (32, 16)]],
    "padded": [[7], [2, (32, 16), 3], [1, (24, 24), 1, (16, 24), 6], [(16, 24), 1, (16, 24), 1, (32, 16), 1]],
}


def main() -> None:
    torch.manual_seed(0)
    if len(sys.argv) == 3:
        model = Qwen3VLForConditionalGeneration.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
        np.savez(sys.argv[2], **golden(model))
        return
    for name, tied in (("tied", True), ("untied", False)):
        config = Qwen3VLConfig(
            text_config=TEXT | {"rope_parameters": ROPE | {"rope_theta": THETA}, "tie_word_embeddings": tied},
            vision_config=VISION, tie_word_embeddings=tied, image_token_id=IMAGE, video_token_id=VIDEO,
            vision_start_token_id=START, vision_end_token_id=END,
        )  # fmt: skip
        model = Qwen3VLForConditionalGeneration(config).eval()
        randomise(model)
        model.save_pretrained(HERE / name)
        (HERE / name / "generation_config.json").unlink(missing_ok=True)
        if not tied:
            rewrite_in_old_style(HERE / name / "config.json")
            model = Qwen3VLForConditionalGeneration.from_pretrained(HERE / name).eval()
        np.savez_compressed(HERE / f"{name}.npz", **golden(model))
    for name, (changed, old_style) in TEXT_ONLY.items():
        fields = {key: value for key, value in (TEXT | changed).items() if value is not None}
        rope = {"rope_type": "default", "rope_theta": THETA}
        model = AutoModelForCausalLM.from_config(
            AutoConfig.for_model(name, rope_parameters=rope, **fields)
        ).eval()
        randomise(model)
        model.save_pretrained(HERE / name)
        (HERE / name / "generation_config.json").unlink(missing_ok=True)
        if old_style:
            file = HERE / name / "config.json"
            config = json.loads(file.read_text())
            config |= {"rope_theta": config.pop("rope_parameters")["rope_theta"], "rope_scaling": None}
            config.pop("layer_types", None)
            file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
            model = AutoModelForCausalLM.from_pretrained(HERE / name).eval()
        np.savez_compressed(HERE / f"{name}.npz", **golden_text(model))


def golden_text(model: torch.nn.Module) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    width = max(TEXT_ROWS)
    tokens = np.stack([np.pad(rng.integers(1, IMAGE, n), (0, width - n)) for n in TEXT_ROWS])
    lengths = np.array(TEXT_ROWS)
    mask = torch.from_numpy((np.arange(width) < lengths[:, None]).astype(np.int64))
    with torch.no_grad():
        logits = model(input_ids=torch.from_numpy(tokens), attention_mask=mask).logits.numpy()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    return {
        "meta": np.array(json.dumps(versions)), "tokens": tokens.astype(np.int32),
        "lengths": lengths.astype(np.int32), "logits": logits,
    }  # fmt: skip


def randomise(model: torch.nn.Module) -> None:
    """Weights large enough that attention, rope and deepstack all matter; the usual 0.02 is almost linear."""
    for name, parameter in model.named_parameters():
        is_scale = "norm" in name and name.endswith("weight")
        noise = torch.randn_like(parameter) * (
            0.1 if parameter.ndim == 1 else 1.2 * parameter.shape[-1] ** -0.5
        )
        parameter.data = 1 + noise if is_scale else noise


def rewrite_in_old_style(file: Path) -> None:
    """The fields as transformers 4.57 wrote them, and as the hub has them."""
    config = json.loads(file.read_text())
    text, vision = config["text_config"], config["vision_config"]
    rope = text.pop("rope_parameters")
    text["rope_theta"] = rope.pop("rope_theta")
    text["rope_scaling"] = rope
    vision.pop("rope_parameters", None)
    vision["model_type"] = "qwen3_vl"
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def golden(model: Qwen3VLForConditionalGeneration) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    arrays = {"meta": np.array(json.dumps(versions))}
    for name, rows in BATCHES.items():
        arrays |= {f"{name}/{key}": value for key, value in run(model, rows, rng).items()}
    return arrays


def run(
    model: Qwen3VLForConditionalGeneration, rows: list, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """One batch, its pictures numbered through the batch, and what the model makes of it."""
    pictures = [
        rng.integers(0, 256, (*part, 3), np.uint8) for row in rows for part in row if isinstance(part, tuple)
    ]
    tokens = [np.concatenate([segment(part, rng) for part in row]) for row in rows]
    lengths = np.array([len(row) for row in tokens])
    padded = np.stack([np.pad(row, (0, lengths.max() - len(row))) for row in tokens])
    inputs = {
        "input_ids": torch.from_numpy(padded),
        "attention_mask": torch.from_numpy((np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)),
        "mm_token_type_ids": torch.from_numpy((padded == IMAGE).astype(np.int32)),
    }
    arrays = {
        "tokens": padded.astype(np.int32),
        "lengths": lengths.astype(np.int32),
        "image": padded == IMAGE,
    }
    if pictures:
        processor = Qwen2VLImageProcessorPil(
            patch_size=PATCH, temporal_patch_size=2, merge_size=MERGE, image_mean=[0.5] * 3,
            image_std=[0.5] * 3, size={"shortest_edge": 64, "longest_edge": 1 << 20},
        )  # fmt: skip
        patches = processor(pictures, return_tensors="pt")
        inputs |= {"pixel_values": patches["pixel_values"], "image_grid_thw": patches["image_grid_thw"]}
        arrays |= {f"picture_{i}": picture for i, picture in enumerate(pictures)}
        arrays["patches"] = patches["pixel_values"].numpy()
    rope_inputs = {key: value for key, value in inputs.items() if key != "pixel_values"}
    with torch.no_grad():
        arrays["positions"] = model.model.get_rope_index(**rope_inputs)[0].numpy().astype(np.int32)
        arrays["logits"] = model(**inputs).logits.numpy()
    return arrays


def segment(part: int | tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    if isinstance(part, int):
        return rng.integers(1, IMAGE, part)
    count = part[0] * part[1] // (PATCH * MERGE) ** 2
    return np.array([START] + [IMAGE] * count + [END])


if __name__ == "__main__":
    main()
