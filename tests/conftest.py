"""The tiny policy of the trainer's tests: made, warmed up and compiled once a session."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest
import tiny

from train import small
from train.agent import Agent, make_agent
from train.compilation import use_persistent_cache
from train.learner import Learner
from train.policy.weights import save_policy
from train.trainer import Trainer

use_persistent_cache()  # before the first compilation: JAX looks for a cache only once

WARM_UP = 40


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is compiled is shared within a file, and within the checks of one environment: workers get whole
    groups of these."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        env_id = callspec.params.get("env_id") if callspec else None
        item.add_marker(pytest.mark.xdist_group(env_id or item.nodeid.split("::")[0]))


@pytest.fixture(autouse=True, scope="module")
def programs_are_forgotten() -> Iterator[None]:
    """After each file. A compiled program takes several maps of memory, and Linux grants a process 65,530
    (vm.max_map_count): a worker that kept all programs of its tests would crash in the compiler."""
    yield
    jax.clear_caches()


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoint directory of random weights."""
    folder = tmp_path_factory.mktemp("random_policy")
    small.create(folder, tiny.environments(), seed=0)
    return folder


@pytest.fixture(scope="session")
def fresh(random_model: Path) -> Agent:
    """The policy of random weights with its environments."""
    return make_agent(random_model, tiny.ENVS, tiny.SLOTS, tiny.CANVAS, tiny.ACTOR)


@pytest.fixture(scope="session")
def agent(fresh: Agent) -> Agent:
    """A policy that has seen a few demonstrations: it answers in the right form, and seldom well."""
    learner = tiny.make_learner(fresh, 3e-3)
    state = learner.init(fresh.policy.params)
    for seed in range(WARM_UP):
        packs = tiny.demonstrations(fresh, seed)
        state, _ = learner.update(state, packs, sum(pack.answer_length for pack in packs), imitate=True)
    return dataclasses.replace(fresh, policy=fresh.policy._replace(params=state.params))


@pytest.fixture(scope="session")
def model(agent: Agent, random_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoint directory of `agent`."""
    folder = tmp_path_factory.mktemp("tiny_policy")
    save_policy(agent.policy, folder, source=random_model)
    return folder


@pytest.fixture(scope="session")
def learner(agent: Agent) -> Learner:
    return tiny.make_learner(agent)


@pytest.fixture(scope="session")
def trainer(agent: Agent, learner: Learner) -> Trainer:
    return tiny.make_trainer(agent, learner)
