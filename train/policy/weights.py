"""Policies on disk: Hugging Face safetensors in and out, and the random start.

One table names every module here and there. Linear kernels are transposed ([inputs, outputs] here),
stacked layers are cut apart, and the patch convolution is flattened; nothing else differs. Sources for the
names: the state dict of transformers 4.57 and 5 (the same).

Weights stream: one stacked array after another, of each only the parts that this process's devices hold.
"""

import json
import shutil
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from flax.traverse_util import flatten_dict, unflatten_dict
from jax.sharding import Mesh
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from train.policy.config import PolicyConfig, read_config, write_config
from train.policy.errors import PolicyError
from train.policy.layers import adapter_weight
from train.policy.model import Model
from train.policy.sharding import fetch, parameter_sharding, shard

Params = dict[str, Any]  # nested dicts of arrays, `nnx.to_pure_dict` of the model's state

FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
_HEAD = "lm_head.weight"
_DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": jnp.bfloat16}

# Module here -> module there; {} is the layer of a stacked module, DECODER the family's own prefix.
_MODULES = {
    "vision.patch_embed": "model.visual.patch_embed.proj",
    "vision.positions": "model.visual.pos_embed",
    "vision.blocks.attention_norm": "model.visual.blocks.{}.norm1",
    "vision.blocks.qkv": "model.visual.blocks.{}.attn.qkv",
    "vision.blocks.out": "model.visual.blocks.{}.attn.proj",
    "vision.blocks.mlp_norm": "model.visual.blocks.{}.norm2",
    "vision.blocks.up": "model.visual.blocks.{}.mlp.linear_fc1",
    "vision.blocks.down": "model.visual.blocks.{}.mlp.linear_fc2",
    "vision.merger.norm": "model.visual.merger.norm",
    "vision.merger.up": "model.visual.merger.linear_fc1",
    "vision.merger.down": "model.visual.merger.linear_fc2",
    "vision.deepstack.norm": "model.visual.deepstack_merger_list.{}.norm",
    "vision.deepstack.up": "model.visual.deepstack_merger_list.{}.linear_fc1",
    "vision.deepstack.down": "model.visual.deepstack_merger_list.{}.linear_fc2",
    "decoder.embed": "DECODER.embed_tokens",
    "decoder.norm": "DECODER.norm",
    "decoder.layers.attention_norm": "DECODER.layers.{}.input_layernorm",
    "decoder.layers.query": "DECODER.layers.{}.self_attn.q_proj",
    "decoder.layers.key": "DECODER.layers.{}.self_attn.k_proj",
    "decoder.layers.value": "DECODER.layers.{}.self_attn.v_proj",
    "decoder.layers.out": "DECODER.layers.{}.self_attn.o_proj",
    "decoder.layers.query_norm": "DECODER.layers.{}.self_attn.q_norm",
    "decoder.layers.key_norm": "DECODER.layers.{}.self_attn.k_norm",
    "decoder.layers.mlp_norm": "DECODER.layers.{}.post_attention_layernorm",
    "decoder.layers.gate": "DECODER.layers.{}.mlp.gate_proj",
    "decoder.layers.up": "DECODER.layers.{}.mlp.up_proj",
    "decoder.layers.down": "DECODER.layers.{}.mlp.down_proj",
    "head": "lm_head",
}


@dataclass(frozen=True)
class LoadConfig:
    """How a checkpoint is held in memory."""

    learns: Literal["all", "text", "adapters", "nothing"] = "all"
    """Which parameters training changes; text is all but the vision tower. These are float32. Kernels and
    tables that do not learn are kept in the type of `compute`."""
    compute: Literal["float32", "bfloat16"] = "float32"
    """Type of the activations. Sums that need more are taken in float32."""
    lora_rank: int = 0
    """Rank of the adapters; 0 makes none."""


PLAIN = LoadConfig()
PUBLISHED_TOWER = 24  # blocks of the smallest tower of Qwen3-VL


def what_learns(
    directory: Path, lora_rank: int, freeze_vision: bool | None = None
) -> Literal["all", "text", "adapters"]:
    """What training changes by default: a vision tower as large as the published ones stays as it is."""
    if lora_rank:
        return "adapters"
    vision = read_config(directory).vision
    published = vision is not None and vision.depth >= PUBLISHED_TOWER
    return "text" if (published if freeze_vision is None else freeze_vision) else "all"


class Policy(NamedTuple):
    """A model split at the edge: `nnx.merge(graphdef, params)` inside jit, with `graphdef` static. With a
    mesh its parameters are spread over it."""

    config: PolicyConfig
    graphdef: nnx.GraphDef
    params: Params
    load: LoadConfig = PLAIN
    mesh: Mesh | None = None

    @property
    def sees_fixedly(self) -> bool:
        """The vision tower never changes: what it makes of a picture can be kept."""
        return self.config.vision is not None and self.load.learns != "all"

    def split(self, params: Params) -> tuple[Params, Params]:
        """Parameters as (those that learn, the others)."""
        flat = _flat(params)
        learnt = {path: leaf for path, leaf in flat.items() if _learns(self.load, path)}
        fixed = {path: leaf for path, leaf in flat.items() if path not in learnt}
        return unflatten_dict(learnt), unflatten_dict(fixed)


def join(learnt: Params, fixed: Params) -> Params:
    """The inverse of `Policy.split`."""
    return unflatten_dict(_flat(fixed) | _flat(learnt))


class Tensor(NamedTuple):
    """One tensor on disk and its place here."""

    name: str
    shape: tuple[int, ...]  # on disk
    path: tuple[str, ...]  # of the leaf here
    layer: int | None  # of a stacked leaf


def init_policy(config: PolicyConfig, key: jax.Array) -> Policy:
    """A random start as in transformers: kernels and tables normal(0, 0.02), norms one, biases zero."""
    graphdef, shapes = abstract_parameters(config, PLAIN)

    def fill(path: Any, leaf: jax.ShapeDtypeStruct) -> jax.Array:
        kind, name = path[-1].key, jax.tree_util.keystr(path)
        if kind in ("scale", "bias"):
            return jnp.full(leaf.shape, float(kind == "scale"))
        return 0.02 * jax.random.normal(jax.random.fold_in(key, _stable_hash(name)), leaf.shape)

    return Policy(config, graphdef, jax.tree_util.tree_map_with_path(fill, shapes))


def load_policy(directory: str | Path, load: LoadConfig = PLAIN, mesh: Mesh | None = None) -> Policy:
    """Reads config.json and model.safetensors (or its shards) of `directory`, onto the mesh if there is one.

    New adapters add nothing: `down` is normal with variance 1 / inputs, `up` zero.

    Raises:
        PolicyError: one line about the first kind of fault found: an unreadable or absent file or shard,
            missing, unexpected or misshaped tensors.
    """
    directory = Path(directory)
    config = read_config(directory)
    graphdef, shapes = abstract_parameters(config, load)
    wanted, flat = list(_tensors(config, shapes)), _flat(shapes)
    params = {}
    with ExitStack() as stack:
        stored = _open(directory, stack)
        _check(directory, config, wanted, stored)
        for path, tensors in groupby(wanted, key=lambda tensor: tensor.path):
            leaf = flat[path]
            part = _Reader(list(tensors), leaf, stored)
            if mesh is None:
                params[path] = jnp.asarray(part((slice(None),) * len(leaf.shape)))
            else:
                sharding = parameter_sharding(mesh, path, leaf.shape)
                params[path] = jax.make_array_from_callback(leaf.shape, sharding, part)
    fixed = unflatten_dict(params)
    adapters = shard(mesh, _new_adapters(shapes))
    return Policy(config, graphdef, join(adapters, fixed), load, mesh)


class _Reader:
    """Reads the part of an array that a device holds; several devices may hold the same."""

    def __init__(self, tensors: list[Tensor], leaf: jax.ShapeDtypeStruct, stored: dict[str, Any]) -> None:
        self.tensors, self.leaf, self.stored = tensors, leaf, stored
        self.parts: dict[str, np.ndarray] = {}

    def __call__(self, index: Any) -> np.ndarray:
        if str(index) not in self.parts:
            self.parts[str(index)] = self._read(index)
        return self.parts[str(index)]

    def _read(self, index: tuple[slice, ...]) -> np.ndarray:
        if self.tensors[0].layer is None:
            return self._tensor(self.tensors[0], index).astype(self.leaf.dtype)
        layers, rest = self.tensors[index[0]], index[1:]
        shape = [len(range(*cut.indices(n))) for cut, n in zip(rest, self.leaf.shape[1:], strict=True)]
        part = np.empty((len(layers), *shape), self.leaf.dtype)
        for i, tensor in enumerate(layers):
            part[i] = self._tensor(tensor, rest)
        return part

    def _tensor(self, tensor: Tensor, index: tuple[slice, ...]) -> np.ndarray:
        stored = self.stored[tensor.name].get_slice(tensor.name)
        if tensor.path[-1] != "kernel":
            return stored[index]
        if len(tensor.shape) > 2:  # the patch convolution
            return stored[:].reshape(tensor.shape[0], -1).T[index]
        return stored[index[::-1]].T


def save_policy(
    policy: Policy, directory: str | Path, *, source: str | Path | None = None, dtype: Any = None
) -> None:
    """Writes `directory` as a checkpoint `from_pretrained` of transformers loads. Of several processes all
    must call it; the first one writes.

    Args:
        source: a checkpoint directory whose other files (config, tokenizer, processor, template) are
            copied as they are, but for README.md, which tells of its weights. None: only config.json is
            written, from `policy.config`.
        dtype: of the tensors on disk. None: of each tensor as in `source`, float32 without one.

    What did not learn is taken from `source` as it was, and adapters are added to its kernels in float32.
    Raises ValueError for adapters without a source.
    """
    if source is None and policy.load.lora_rank:
        raise ValueError("source: adapters are merged into the checkpoint that they were made for; name it")
    directory = Path(directory)
    params = _flat(fetch(policy.params if source is None else policy.split(policy.params)[0]))
    if jax.process_index():
        return
    directory.mkdir(parents=True, exist_ok=True)
    if source is None:
        write_config(policy.config, directory)
    else:
        _copy_side_files(Path(source), directory)
    _, shapes = abstract_parameters(policy.config, PLAIN)
    with ExitStack() as stack:
        stored = {} if source is None else _open(Path(source), stack)
        tensors = {}
        for tensor in _tensors(policy.config, shapes):
            as_before = np.float32 if source is None else _dtype_of(tensor.name, stored)
            tensors[tensor.name] = _on_disk(params, tensor, stored).astype(dtype or as_before)
    save_file(tensors, directory / FILE, metadata={"format": "pt"})
    shutil.copymode(directory / "config.json", directory / FILE)  # safetensors lets nobody else read it


def abstract_parameters(config: PolicyConfig, load: LoadConfig) -> tuple[nnx.GraphDef, Params]:
    """The model's structure and `jax.ShapeDtypeStruct`s of its parameters; nothing is allocated."""
    graphdef, state = nnx.split(nnx.eval_shape(lambda: Model(config, load.compute, load.lora_rank)))
    flat = _flat(nnx.to_pure_dict(state))
    return graphdef, unflatten_dict(
        {path: jax.ShapeDtypeStruct(leaf.shape, _dtype(load, path)) for path, leaf in flat.items()}
    )


def _dtype(load: LoadConfig, path: tuple[str, ...]) -> Any:
    large = path[-1] in ("kernel", "rows")
    return jnp.dtype(load.compute if large and not _learns(load, path) else "float32")


def _learns(load: LoadConfig, path: tuple[str, ...]) -> bool:
    return {
        "all": True,
        "text": path[0] != "vision",
        "adapters": "adapter" in path,
        "nothing": False,
    }[load.learns]


def _new_adapters(shapes: Params) -> Params:
    """`down` from the names of the modules alone, so that a resumed or a distributed run makes the same."""

    def fill(path: tuple[str, ...], leaf: jax.ShapeDtypeStruct) -> jax.Array:
        if path[-1] == "up":
            return jnp.zeros(leaf.shape)
        key = jax.random.key(_stable_hash(".".join(path)))
        return jax.random.normal(key, leaf.shape) * leaf.shape[-2] ** -0.5

    flat = _flat(shapes)
    return unflatten_dict({path: fill(path, leaf) for path, leaf in flat.items() if "adapter" in path})


def _tensors(config: PolicyConfig, shapes: Params) -> Iterator[Tensor]:
    """Every tensor of a checkpoint, from the abstract parameters."""
    for path, leaf in _flat(shapes).items():
        if "adapter" in path:
            continue
        module = _module(config, ".".join(path[:-1]))
        name = f"{module}.{'bias' if path[-1] == 'bias' else 'weight'}"
        stacked = "{}" in module
        shape = leaf.shape[stacked:]
        if path[-1] == "kernel":
            shape = shape[::-1]
        if config.vision is not None and path == ("vision", "patch_embed", "kernel"):
            v = config.vision
            shape = (v.hidden_size, v.in_channels, v.temporal_patch_size, v.patch_size, v.patch_size)
        if stacked:
            yield from (Tensor(name.format(layer), shape, path, layer) for layer in range(leaf.shape[0]))
        else:
            yield Tensor(name, shape, path, None)


def _module(config: PolicyConfig, name: str) -> str:
    return _MODULES[name].replace("DECODER", config.family.decoder)


def _on_disk(params: dict[tuple[str, ...], np.ndarray], tensor: Tensor, stored: dict[str, Any]) -> np.ndarray:
    """One tensor as it is on disk; contiguous, as safetensors writes the bytes of a view in memory order."""

    def held(*path: str) -> np.ndarray:
        return params[path] if tensor.layer is None else params[path][tensor.layer]

    is_kernel = tensor.path[-1] == "kernel"
    if tensor.path in params:
        leaf = held(*tensor.path)
        return np.ascontiguousarray((leaf.T if is_kernel else leaf).reshape(tensor.shape))
    value = stored[tensor.name].get_tensor(tensor.name)
    adapter = (*tensor.path[:-1], "adapter")
    if not is_kernel or (*adapter, "down") not in params:
        return value
    down, up = held(*adapter, "down"), held(*adapter, "up")
    return np.ascontiguousarray(value.astype(np.float32) + adapter_weight(down) * (down @ up).T)


def _dtype_of(name: str, stored: dict[str, Any]) -> Any:
    return _DTYPES[stored[name].get_slice(name).get_dtype()]


def _flat(params: Params) -> dict[tuple[str, ...], Any]:
    return flatten_dict(params)  # type: ignore[return-value]


def _open(directory: Path, stack: ExitStack) -> dict[str, Any]:
    """Every tensor name of the checkpoint -> the open file that holds it."""
    index = directory / INDEX
    if (directory / FILE).exists() or not index.exists():
        files = [directory / FILE]
    else:
        shards = json.loads(index.read_text())["weight_map"].values()
        files = [directory / shard for shard in sorted(set(shards))]
    stored: dict[str, Any] = {}
    for file in files:
        if not file.exists():
            raise PolicyError(f"{file}: no such file; copy the whole checkpoint again from its source")
        try:
            handle = stack.enter_context(safe_open(file, "np"))
        except (SafetensorError, OSError) as error:
            raise PolicyError(f"{file}: cannot be read ({error}); copy it again from its source") from None
        stored |= dict.fromkeys(handle.keys(), handle)
    return stored


def _check(directory: Path, config: PolicyConfig, wanted: list[Tensor], stored: dict[str, Any]) -> None:
    names = {tensor.name for tensor in wanted}
    extra = set(stored) - names
    if config.tie_word_embeddings and _HEAD in extra:
        embed = _module(config, "decoder.embed") + ".weight"
        if embed in stored and np.array_equal(*(stored[n].get_tensor(n) for n in (_HEAD, embed))):
            extra.remove(_HEAD)  # some writers store the tied head a second time
    shapes = {t.name: tuple(stored[t.name].get_slice(t.name).get_shape()) for t in wanted if t.name in stored}
    misshaped = [t for t in wanted if shapes.get(t.name, t.shape) != t.shape]
    faults = {
        "misses": sorted(names - set(stored)),
        "has unexpected": sorted(extra),
        "has misshaped": [f"{t.name} {shapes[t.name]} not {t.shape}" for t in misshaped],
    }
    for fault, found in faults.items():
        if found:
            raise PolicyError(
                f"{directory}: {fault} tensors {_some(found)}; use the weights that belong to its config.json"
            )


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _copy_side_files(source: Path, directory: Path) -> None:
    for file in sorted(source.iterdir()):
        of_weights = file.suffix in (".safetensors", ".bin") or file.name in (INDEX, "README.md")
        if file.is_file() and not of_weights and source.resolve() != directory.resolve():
            shutil.copyfile(file, directory / file.name)


def _stable_hash(name: str) -> int:
    """A number that names a leaf, the same in every process (`hash` is not)."""
    return zlib.crc32(name.encode())
