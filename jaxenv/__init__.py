"""JAX-native environments that draw their own pixels and speak their own texts, inside jit."""

from jaxenv.environment import Environment, Episode, Level, Params, make_params
from jaxenv.registry import env_set, ids, make

__all__ = ["Environment", "Episode", "Level", "Params", "env_set", "ids", "make", "make_params"]
