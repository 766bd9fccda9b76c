"""Checkpoints in and out: nothing is lost, and every fault is one line that names the tensor."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from flax import nnx
from safetensors.numpy import load_file, save_file

from train.policy.config import FAMILIES, PictureTokens, PolicyConfig, TextConfig, VisionConfig, read_config
from train.policy.errors import PolicyError
from train.policy.model import Model
from train.policy.weights import FILE, INDEX, init_policy, load_policy, save_policy

GOLDEN = Path(__file__).parent / "golden"
Tensors = dict[str, np.ndarray]
QUERY = "model.language_model.layers.1.self_attn.q_proj.weight"


@pytest.mark.parametrize("checkpoint", ["tied", "untied"])
def test_load_and_save_change_no_byte(checkpoint: str, tmp_path: Path) -> None:
    source = GOLDEN / checkpoint
    save_policy(load_policy(source), tmp_path, source=source)
    for file in source.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


def test_others_may_read_a_checkpoint_and_its_card_stays_behind(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "tied", tmp_path / "source")
    (tmp_path / "source" / "README.md").write_text("What these weights can do.")
    save_policy(load_policy(tmp_path / "source"), tmp_path / "out", source=tmp_path / "source")
    modes = {file.name: file.stat().st_mode for file in (tmp_path / "out").iterdir()}
    assert modes[FILE] == modes["config.json"]
    assert "README.md" not in modes


def test_bfloat16_in_and_out(tmp_path: Path) -> None:
    half = {
        name: value.astype(ml_dtypes.bfloat16) for name, value in load_file(GOLDEN / "tied" / FILE).items()
    }
    source = _checkpoint(tmp_path / "source", half)
    policy = load_policy(source)
    assert {leaf.dtype for leaf in jax.tree.leaves(policy.params)} == {jnp.dtype("float32")}
    save_policy(policy, tmp_path / "out", source=source, dtype=ml_dtypes.bfloat16)
    again = load_file(tmp_path / "out" / FILE)
    assert {name: value.tobytes() for name, value in again.items()} == {
        name: value.tobytes() for name, value in half.items()
    }


def test_shards_and_their_index(tmp_path: Path) -> None:
    tensors = load_file(GOLDEN / "tied" / FILE)
    directory = _sharded(tmp_path, tensors)
    whole, parts = load_policy(GOLDEN / "tied"), load_policy(directory)
    jax.tree.map(np.testing.assert_array_equal, whole.params, parts.params)
    (directory / "b.safetensors").unlink()
    assert "b.safetensors: no such file" in _line(directory)


def test_a_random_start_saves_and_loads(tmp_path: Path) -> None:
    config = read_config(GOLDEN / "untied")
    policy = init_policy(config, jax.random.key(0))
    save_policy(policy, tmp_path)
    again = load_policy(tmp_path)
    assert again.config == config
    assert again.graphdef == policy.graphdef
    jax.tree.map(np.testing.assert_array_equal, again.params, policy.params)
    kernel = policy.params["decoder"]["layers"]["query"]["kernel"]
    assert 0.018 < float(kernel.std()) < 0.022
    assert float(jnp.abs(kernel[0] - kernel[1]).max()) > 0


def test_parameter_count_of_4b() -> None:
    """4,437,815,808 parameters in 713 tensors, of which 415,347,712 see."""
    text = TextConfig(151936, 2560, 9728, 36, 32, 8, 128, 1e-6, 5e6, (24, 20, 20))
    vision = VisionConfig(24, 1024, 16, 4096, 16, 2, 2, 3, 2304, 2560, (5, 11, 17))
    config = PolicyConfig(
        FAMILIES["qwen3_vl"], text, vision, PictureTokens(151655, 151656, 151652, 151653), True
    )
    _, state = nnx.split(nnx.eval_shape(lambda: Model(config)))
    params = nnx.to_pure_dict(state)
    count = lambda tree: sum(leaf.size for leaf in jax.tree.leaves(tree))  # noqa: E731
    assert count(params) == 4_437_815_808
    assert count(params["vision"]) == 415_347_712


def _without(name: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {key: value for key, value in tensors.items() if key != name}


FAULTS: dict[str, tuple[Callable[[Tensors], Tensors], str]] = {
    "missing": (_without(QUERY), f"misses tensors {QUERY}"),
    "unexpected": (lambda t: t | {"model.extra": np.zeros(1, np.float32)}, "unexpected tensors model.extra"),
    "transposed": (lambda t: t | {QUERY: np.ascontiguousarray(t[QUERY].T)}, f"{QUERY} (32, 64) not (64, 32)"),
    "another head": (lambda t: t | {"lm_head.weight": np.zeros((64, 32), np.float32)}, "lm_head.weight"),
    "none": (lambda t: {"x": np.zeros(1, np.float32)}, "and 87 more"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_naming_the_tensor(fault: str, tmp_path: Path) -> None:
    spoil, message = FAULTS[fault]
    assert message in _line(_checkpoint(tmp_path, spoil(load_file(GOLDEN / "tied" / FILE))))


def test_a_tied_head_stored_twice_is_accepted(tmp_path: Path) -> None:
    tensors = load_file(GOLDEN / "tied" / FILE)
    head = tensors["model.language_model.embed_tokens.weight"]
    load_policy(_checkpoint(tmp_path, tensors | {"lm_head.weight": head}))


def test_an_untied_head_must_be_there(tmp_path: Path) -> None:
    tensors = _without("lm_head.weight")(load_file(GOLDEN / "untied" / FILE))
    directory = _checkpoint(tmp_path, tensors, "untied")
    assert "misses tensors lm_head.weight" in _line(directory)


def test_a_truncated_file_is_one_line(tmp_path: Path) -> None:
    directory = _checkpoint(tmp_path, load_file(GOLDEN / "tied" / FILE))
    file = directory / FILE
    file.write_bytes(file.read_bytes()[:-100])
    assert f"{file}: cannot be read" in _line(directory)


def test_no_weights_is_one_line(tmp_path: Path) -> None:
    directory = _checkpoint(tmp_path, {})
    (directory / FILE).unlink()
    assert f"{FILE}: no such file" in _line(directory)


def _checkpoint(directory: Path, tensors: Tensors, like: str = "tied") -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_bytes((GOLDEN / like / "config.json").read_bytes())
    save_file(tensors, directory / FILE)
    return directory


def _sharded(directory: Path, tensors: Tensors) -> Path:
    _checkpoint(directory, {})
    (directory / FILE).unlink()
    names = sorted(tensors)
    where = {name: f"{'ab'[i % 2]}.safetensors" for i, name in enumerate(names)}
    for file in ("a.safetensors", "b.safetensors"):
        save_file({name: tensors[name] for name in names if where[name] == file}, directory / file)
    (directory / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return directory


def _line(directory: Path) -> str:
    with pytest.raises(PolicyError) as caught:
        load_policy(directory)
    line = str(caught.value)
    assert "\n" not in line
    assert str(directory) in line
    return line
