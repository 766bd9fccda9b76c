"""Games of rows that two players shorten in turn; who cannot move has lost. You move, the opponent replies.

By theory a position is lost for the one to move or not, and a good move leaves a lost one. Every game starts
where there is a good move; the opponent makes a good one when there is one and it is not careless.
"""

import abc
from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import struct

from jaxenv.environment import TileEnvironment


@struct.dataclass
class Rows:
    lengths: jax.Array  # int8[R]
    scale: jax.Array  # int32[]


class LastMove(TileEnvironment):
    """The game; a subclass says what the moves are and which positions are lost."""

    shape: ClassVar[tuple[int, int]]  # the most rows, and the longest
    careless: ClassVar[tuple[float, ...]]  # by scale, the share of the opponent's moves that are random

    @abc.abstractmethod
    def moves(self, lengths: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The lengths int8[R * C, R] after the move of each cell, and whether it may be made, bool[R * C]."""

    @abc.abstractmethod
    def lost(self, lengths: jax.Array) -> jax.Array:
        """bool[...]: who is to move with lengths int8[..., R] loses against good play."""

    def legal(self, state: Rows, action: jax.Array) -> jax.Array:
        return self.moves(state.lengths)[1][self._index(action)]

    def transition(self, key: jax.Array, state: Rows, action: jax.Array) -> tuple[Rows, jax.Array, jax.Array]:
        slip, choice = jax.random.split(key)
        mine = self.moves(state.lengths)[0][self._index(action)]
        replies, allowed = self.moves(mine)
        careless = jax.random.uniform(slip) < jnp.asarray(self.careless)[state.scale]
        won = ~allowed.any()
        reply = replies[self._choose(choice, mine, careless)]
        after = jnp.where(won, mine, reply)
        return replace(state, lengths=after), won.astype(jnp.float32), ~self.moves(after)[1].any()

    def expert(self, key: jax.Array, state: Rows) -> jax.Array:
        best = self._choose(key, state.lengths, jnp.bool_(False))
        return jnp.stack(jnp.divmod(best, self.shape[1])).astype(jnp.int32)

    def good_moves(self, lengths: jax.Array) -> jax.Array:
        """int32[]: how many moves win."""
        after, allowed = self.moves(lengths)
        return (allowed & self.lost(after)).sum(dtype=jnp.int32)

    def _choose(self, key: jax.Array, lengths: jax.Array, careless: jax.Array) -> jax.Array:
        """A random one of the good moves; of all when there are none or the mover is careless."""
        after, allowed = self.moves(lengths)
        noise = jax.random.uniform(key, allowed.shape)
        return jnp.where(allowed, noise + (self.lost(after) & ~careless), -1.0).argmax()

    def _index(self, action: jax.Array) -> jax.Array:
        return action[0] * self.shape[1] + action[1]
