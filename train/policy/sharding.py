"""Where arrays live when there is more than one device: one mesh, and rules by a parameter's name.

The mesh has three axes. `data` and `fsdp` share the rows of a batch; `fsdp` also cuts every kernel along the
model's width, and `tensor` along its heads, its inner width or its vocabulary. An axis that does not divide
an array evenly leaves it whole. What is small (tokens, keys, metrics) is on every device.

Every process runs the same program on the same values: environments, prompts and packs are made everywhere
alike, and only the model is shared out. Without a mesh nothing here does anything.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

AXES = ("data", "fsdp", "tensor")
ROWS = ("data", "fsdp")

# The last two axes of a kernel [inputs, outputs] or a table [rows, size], by the name of its module; norms
# and biases are whole everywhere.
_WIDENING, _NARROWING = ("fsdp", "tensor"), ("tensor", "fsdp")
_RULES = {
    **dict.fromkeys(("query", "key", "value", "gate", "up", "qkv", "head", "patch_embed"), _WIDENING),
    **dict.fromkeys(("out", "down", "embed"), _NARROWING),
}
_MATRICES = ("kernel", "rows")


def mesh_sizes(text: str) -> dict[str, int]:
    """Sizes of the axes in `data=2,fsdp=2,tensor=2`; one that is not named has size 1.

    Raises ValueError for another axis, or a size that is no whole number above 0.
    """
    sizes: dict[str, int] = dict.fromkeys(AXES, 1)
    for part in text.split(",") if text else ():
        name, _, size = part.partition("=")
        if name not in AXES or not size.isdigit() or not int(size):
            raise ValueError(f"mesh: {part!r} is not one of {', '.join(f'{axis}=N' for axis in AXES)}")
        sizes[name] = int(size)
    return sizes


def make_mesh(text: str) -> Mesh | None:
    """The mesh of `mesh_sizes(text)`, over all devices of all processes; None for no text.

    Raises ValueError also for sizes that do not take all devices.
    """
    if not text:
        return None
    sizes = tuple(mesh_sizes(text).values())
    if np.prod(sizes) != jax.device_count():
        raise ValueError(f"mesh: {text} takes {np.prod(sizes)} devices, there are {jax.device_count()}")
    return jax.make_mesh(sizes, AXES, axis_types=(AxisType.Auto,) * len(AXES))


def on(mesh: Mesh | None) -> AbstractContextManager[Any]:
    """Inside, compiled functions share their work out over the mesh."""
    return nullcontext() if mesh is None else jax.set_mesh(mesh)


def parameter_sharding(mesh: Mesh | None, path: tuple[Any, ...], shape: tuple[int, ...]) -> Sharding:
    """Where the array of this name is: a parameter, its gradient, or its moment in an optimiser."""
    if mesh is None:
        return SingleDeviceSharding(jax.local_devices()[0])
    return NamedSharding(mesh, _fitting(mesh, _rule(path, len(shape)), shape))


def shard(mesh: Mesh | None, tree: Any) -> Any:
    """The arrays of a tree where `parameter_sharding` wants them."""
    if mesh is None:
        return tree
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: _put(leaf, parameter_sharding(mesh, path, leaf.shape)), tree
    )


def replicate(mesh: Mesh | None, tree: Any) -> Any:
    """The arrays of a tree, the same in every process, on every device."""
    if mesh is None:
        return tree
    whole = NamedSharding(mesh, PartitionSpec())
    return jax.tree.map(lambda leaf: _put(leaf, whole), tree)


def commit(mesh: Mesh | None, tree: Any) -> Any:
    """The arrays of a tree, bound to where they are. What jit makes of nothing but shapes is not, and a
    function that takes first the one and then the other is compiled twice."""
    if mesh is None:
        return tree
    return jax.device_put(tree, jax.tree.map(lambda leaf: leaf.sharding, tree))


def local(tree: Any) -> Any:
    """The inverse of `replicate`: arrays of this process alone."""

    def take(leaf: jax.Array) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(take(jax.random.key_data(leaf)), impl=jax.random.key_impl(leaf))
        return jnp.asarray(np.asarray(leaf))

    return jax.tree.map(take, tree)


def any_process(flag: bool) -> bool:
    """Whether the flag is set in any process. All processes must ask."""
    if jax.process_count() == 1:
        return flag
    return bool(multihost_utils.process_allgather(np.array(flag)).any())


def fetch(tree: Any) -> Any:
    """The arrays of a tree as NumPy arrays in every process. All processes must ask for the same."""
    return jax.tree.map(_fetch, tree)


def constrain_parameters(tree: Any) -> Any:
    """Under jit: a tree of parameters stays where `parameter_sharding` wants it."""
    return jax.tree_util.tree_map_with_path(lambda path, leaf: _constrain(leaf, _rule(path, leaf.ndim)), tree)


def by_rows(x: jax.Array) -> jax.Array:
    """Under jit: the rows of a batch are shared out over the devices."""
    return _constrain(x, (ROWS,))


def everywhere(tree: Any) -> Any:
    """Under jit: the result is whole on every device, so that every process can read it."""
    return jax.tree.map(lambda leaf: _constrain(leaf, ()), tree)


def _rule(path: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    names = [str(getattr(entry, "key", entry)) for entry in path[-2:]]
    if len(names) < 2 or names[1] not in _MATRICES or ndim < 2:
        return ()
    return (None,) * (ndim - 2) + _RULES.get(names[0], ())


def _fitting(mesh: Any, spec: tuple[Any, ...], shape: tuple[int, ...]) -> PartitionSpec:
    """The spec without the axes that do not divide their dimension."""

    def size(axes: Any) -> int:
        return int(np.prod([mesh.shape[axis] for axis in (axes if isinstance(axes, tuple) else (axes,))]))

    fits = (
        axes if axes is not None and length % size(axes) == 0 else None
        for axes, length in zip(spec, shape, strict=False)
    )
    return PartitionSpec(*fits)


def _constrain(x: jax.Array, spec: tuple[Any, ...]) -> jax.Array:
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty:
        return x
    return jax.lax.with_sharding_constraint(x, _fitting(mesh, spec, x.shape))


def _put(leaf: Any, sharding: Sharding) -> jax.Array:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        data = _put(jax.random.key_data(leaf), sharding)
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(leaf))
    host = np.asarray(leaf)
    return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])


def _fetch(leaf: jax.Array) -> np.ndarray:
    if leaf.is_fully_addressable or leaf.is_fully_replicated:
        return np.asarray(leaf)
    return np.asarray(multihost_utils.process_allgather(leaf, tiled=True))
