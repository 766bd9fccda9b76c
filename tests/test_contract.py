"""Every registered environment passes the contract, and draws the pictures it drew before.

`python tests/test_contract.py --update` writes golden_pictures.json anew, after a wanted change.
"""

import dataclasses
import functools
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy import Count, Countdown

import jaxenv
from jaxenv import testing
from jaxenv.testing import Subject, checks
from jaxenv.testing.subject import scales

GOLDEN = Path(__file__).parent / "golden_pictures.json"


@functools.lru_cache(maxsize=1)
def subject(env_id: str) -> Subject:
    """Kept while the checks of one environment run, and no longer, nor are its programs (see conftest)."""
    jax.clear_caches()
    return Subject(jaxenv.make(env_id)[0])


def cases() -> list[Any]:
    """Every check of every environment. Those that compile all again, alone or without jit, take longer than
    all else together: beyond the main job's twelve they are left to the exhaustive run, and so is what each
    ability takes, which seldom breaks."""
    seldom = (checks.check_eager, checks.check_single, checks.check_abilities)
    main_job = jaxenv.env_set("core12")
    return [
        pytest.param(
            env_id,
            check,
            id=f"{env_id}-{check.__name__}",
            marks=pytest.mark.exhaustive if check in seldom and env_id not in main_job else (),
        )
        for env_id in jaxenv.ids()
        for check in testing.CHECKS
    ]


@pytest.mark.parametrize(("env_id", "check"), cases())
def test_contract(env_id: str, check: Callable[[Subject], None]) -> None:
    check(subject(env_id))


@pytest.mark.exhaustive
@pytest.mark.parametrize("env_id", jaxenv.ids())
def test_the_expert_on_a_thousand_instances_a_scale(env_id: str) -> None:
    jax.clear_caches()
    checks.check_expert(Subject(jaxenv.make(env_id)[0], rows_a_scale=1000))


class Generous(Countdown):
    """Pays for each step down."""

    def transition(self, key: jax.Array, state: Count, action: jax.Array):
        after, _, ended = super().transition(key, state, action)
        return after, jnp.float32(1.0), ended


class Weak(Countdown):
    """A step forgets the dtype of the salt."""

    def transition(self, key: jax.Array, state: Count, action: jax.Array):
        after, reward, ended = super().transition(key, state, action)
        return dataclasses.replace(after, salt=after.salt.astype(jnp.int32)), reward, ended


class Leaky(Countdown):
    """Draws what it says it hides."""

    hidden = ("salt",)


class Blind(Countdown):
    """Draws the same picture of all."""

    def draw(self, state: Count, canvas: int) -> jax.Array:
        return jnp.zeros((canvas, canvas, 3), jnp.uint8).at[1, 1].set(255)


class Lost(Countdown):
    """Its expert stays."""

    def expert(self, key: jax.Array, state: Count) -> jax.Array:
        return jnp.int32(1)


class Boastful(Countdown):
    """Tells of an ability that it does not name."""

    def exercised(self, state: Count, action: jax.Array, after: Count) -> dict[str, jax.Array]:
        return {"count": action == 0, "sing": action == 1}


class Idle(Countdown):
    """Names an ability that nobody exercises."""

    def exercised(self, state: Count, action: jax.Array, after: Count) -> dict[str, jax.Array]:
        return {"count": jnp.bool_(False)}


def test_a_users_own_environment() -> None:
    testing.check_environment(Countdown())


@pytest.mark.parametrize(
    ("broken", "check", "message"),
    [
        (Generous, checks.check_turns, "a return of 2.0 is over 1"),
        (Weak, checks.check_avals, "each call would compile"),
        (Leaky, checks.check_hidden, "what is shown depends on the hidden field salt"),
        (Blind, checks.check_observations_follow, "`pixels` is the same for two different instances"),
        (Lost, checks.check_expert, "scale 0: the expert has full marks in 0% of episodes"),
        (Boastful, checks.check_abilities, "exercised: sing are not among the abilities"),
        (Idle, checks.check_abilities, "neither the expert nor chance exercises count"),
    ],
)
def test_the_contract_finds(broken: type[Countdown], check: Callable[[Subject], None], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(Subject(broken()))


def test_importing_starts_no_backend() -> None:
    modules = {type(jaxenv.make(env_id)[0]).__module__ for env_id in jaxenv.ids()}
    testing.check_imports("jaxenv.vector", "jaxenv.mixture", "jaxenv.testing", *sorted(modules))


def pictures(env_id: str) -> list[str]:
    """A hash of a picture of each scale."""
    found = subject(env_id)
    pixels = np.asarray(found.look(found.start[1].state)[0]["pixels"])
    return [hashlib.sha256(pixels[rows.start].tobytes()).hexdigest()[:16] for _, rows in scales(found)]


@pytest.mark.parametrize("env_id", jaxenv.ids())
def test_golden_pictures(env_id: str) -> None:
    golden = json.loads(GOLDEN.read_text()).get(env_id)
    assert pictures(env_id) == golden, "the pictures changed; see the top of this file"


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    GOLDEN.write_text(json.dumps({env_id: pictures(env_id) for env_id in jaxenv.ids()}, indent=2) + "\n")
