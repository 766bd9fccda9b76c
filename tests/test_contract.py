"""Every registered environment passes the contract, and draws the pictures it drew before.

`python tests/test_contract.py --update` writes golden_pictures.json anew, after a wanted change.
"""

import functools
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jaxenv
from jaxenv import testing
from jaxenv.testing import ROWS, Subject

GOLDEN = Path(__file__).parent / "golden_pictures.json"


@functools.lru_cache(maxsize=1)
def subject(env_id: str) -> Subject:
    """Kept while the checks of one environment run, and no longer."""
    return Subject(jaxenv.make(env_id)[0])


def pictures(env_id: str) -> dict[str, str]:
    """A hash of the first picture of each scale."""
    tested = subject(env_id)
    images = np.asarray(tested.look(tested.start[1].state)[0]["pixels"])[::ROWS]
    return {
        str(scale): hashlib.sha256(image.tobytes()).hexdigest()[:16] for scale, image in enumerate(images)
    }


def check_golden_pictures(tested: Subject) -> None:
    """The first picture of each scale is what it was."""
    golden = json.loads(GOLDEN.read_text()).get(tested.env.id)
    assert pictures(tested.env.id) == golden, "the pictures changed; see the top of this file"


@pytest.mark.parametrize("check", [*testing.CHECKS, check_golden_pictures], ids=lambda check: check.__name__)
@pytest.mark.parametrize("env_id", jaxenv.ids())
def test_contract(env_id: str, check: Callable[[Subject], None]) -> None:
    check(subject(env_id))


def test_importing_starts_no_backend() -> None:
    modules = {type(jaxenv.make(env_id)[0]).__module__ for env_id in jaxenv.ids()}
    testing.check_imports("jaxenv.vector", "jaxenv.mixture", "jaxenv.testing", *sorted(modules))


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    GOLDEN.write_text(json.dumps({env_id: pictures(env_id) for env_id in jaxenv.ids()}, indent=2) + "\n")
