"""Every registered environment passes the contract, and draws the pictures it drew before.

`python tests/test_contract.py --update` writes golden_pictures.json anew, after a wanted change.
"""

import functools
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxenv
from jaxenv import testing
from jaxenv.testing import Subject

GOLDEN = Path(__file__).parent / "golden_pictures.json"


@functools.lru_cache(maxsize=1)
def subject(env_id: str) -> Subject:
    """Kept while the checks of one environment run, and no longer."""
    return Subject(jaxenv.make(env_id)[0])


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("env_id", jaxenv.ids())
def test_contract(env_id: str, check: Callable[[Subject], None]) -> None:
    check(subject(env_id))


def test_importing_starts_no_backend() -> None:
    modules = {type(jaxenv.make(env_id)[0]).__module__ for env_id in jaxenv.ids()}
    testing.check_imports("jaxenv.vector", "jaxenv.mixture", "jaxenv.testing", *sorted(modules))


def pictures(env_id: str) -> list[str]:
    """A hash of a picture of each scale."""
    env, _ = jaxenv.make(env_id)
    draw = jax.jit(lambda scale: env.draw(env.generate(jax.random.key(0), scale), 96))
    images = [np.asarray(draw(jnp.int32(scale))) for scale in range(env.num_scales)]
    return [hashlib.sha256(image.tobytes()).hexdigest()[:16] for image in images]


@pytest.mark.parametrize("env_id", jaxenv.ids())
def test_golden_pictures(env_id: str) -> None:
    golden = json.loads(GOLDEN.read_text()).get(env_id)
    assert pictures(env_id) == golden, "the pictures changed; see the top of this file"


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    GOLDEN.write_text(json.dumps({env_id: pictures(env_id) for env_id in jaxenv.ids()}, indent=2) + "\n")
