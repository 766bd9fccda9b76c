"""config.json: both styles read alike, and every fault is one line that names the field."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from train.policy.config import PolicyConfig, read_config, write_config
from train.policy.errors import PolicyError

GOLDEN = Path(__file__).parent / "golden"


def test_both_styles_read_alike() -> None:
    new, old = (json.loads((GOLDEN / name / "config.json").read_text()) for name in ("tied", "untied"))
    assert "rope_parameters" in new["text_config"]
    assert "rope_theta" in old["text_config"]
    tied, untied = read_config(GOLDEN / "tied"), read_config(GOLDEN / "untied")
    assert tied.text == untied.text
    assert tied.vision == untied.vision
    assert tied.text.rope_theta == 5000.0
    assert tied.text.mrope_section == (4, 2, 2)
    assert (tied.tie_word_embeddings, untied.tie_word_embeddings) == (True, False)


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    config = read_config(GOLDEN / "tied")
    write_config(config, tmp_path, eos_token_id=3, pad_token_id=0)
    assert read_config(tmp_path) == config


def test_what_is_written_loads_in_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = read_config(GOLDEN / "untied")
    write_config(config, tmp_path, eos_token_id=3, pad_token_id=0)
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert theirs.model_type == "qwen3_vl"
    assert theirs.text_config.rope_parameters["rope_theta"] == config.text.rope_theta
    assert tuple(theirs.text_config.rope_parameters["mrope_section"]) == config.text.mrope_section
    assert (theirs.text_config.eos_token_id, theirs.text_config.pad_token_id) == (3, 0)
    assert tuple(theirs.vision_config.deepstack_visual_indexes) == config.vision.deepstack_visual_indexes
    assert theirs.tie_word_embeddings is False


FAULTS: dict[str, tuple[Callable[[dict], Any], str]] = {
    "other model": (lambda c: c.update(model_type="gpt2"), "model_type is 'gpt2'"),
    "no text": (lambda c: c.pop("text_config"), "text_config is missing"),
    "no depth": (lambda c: c["vision_config"].pop("depth"), "vision_config.depth is missing"),
    "no theta": (lambda c: c["text_config"].pop("rope_theta"), "text_config.rope_theta is missing"),
    "no sections": (
        lambda c: c["text_config"]["rope_scaling"].pop("mrope_section"),
        "text_config.rope_scaling.mrope_section is missing",
    ),
    "yarn": (
        lambda c: c["text_config"]["rope_scaling"].update(rope_type="yarn"),
        "text_config.rope_scaling.rope_type is 'yarn'",
    ),
    "unknown": (lambda c: c["text_config"].update(window=4), "text_config.window is unknown"),
    "bias": (lambda c: c["text_config"].update(attention_bias=True), "text_config.attention_bias is True"),
    "a word": (lambda c: c["text_config"].update(head_dim="16"), "head_dim is '16', not a whole number"),
    "true is no number": (
        lambda c: c["vision_config"].update(depth=True),
        "depth is True, not a whole number",
    ),
    "no id": (lambda c: c.pop("image_token_id"), "image_token_id is missing"),
    "heads": (lambda c: c["text_config"].update(num_key_value_heads=3), "num_attention_heads does not fit"),
    "level": (
        lambda c: c["vision_config"].update(deepstack_visual_indexes=[9]),
        "deepstack_visual_indexes does not fit",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_naming_the_field(fault: str, tmp_path: Path) -> None:
    spoil, message = FAULTS[fault]
    raw = json.loads((GOLDEN / "untied" / "config.json").read_text())
    spoil(raw)
    (tmp_path / "config.json").write_text(json.dumps(raw))
    assert message in _line(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"), [(None, "no such file"), ("{", "not JSON"), ("[]", "no JSON object")]
)
def test_a_broken_file_is_one_line(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    assert message in _line(tmp_path)


def _line(directory: Path) -> str:
    with pytest.raises(PolicyError) as caught:
        read_config(directory)
    line = str(caught.value)
    assert "\n" not in line
    assert str(directory / "config.json") in line
    return line


def test_the_published_4b_config_reads(tmp_path: Path) -> None:
    """Values of Qwen3-VL-4B-Instruct, whose heads are wider than hidden / heads."""
    config = published()
    write_config(config, tmp_path)
    assert read_config(tmp_path) == config


def published() -> PolicyConfig:
    from train.policy.config import FAMILIES, PictureTokens, TextConfig, VisionConfig

    text = TextConfig(151936, 2560, 9728, 36, 32, 8, 128, 1e-6, 5e6, (24, 20, 20))
    vision = VisionConfig(24, 1024, 16, 4096, 16, 2, 2, 3, 2304, 2560, (5, 11, 17))
    return PolicyConfig(
        FAMILIES["qwen3_vl"], text, vision, PictureTokens(151655, 151656, 151652, 151653), True
    )
