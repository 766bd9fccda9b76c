"""The tiny policy of the trainer's tests: made, warmed up and compiled once a session."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest
import tiny
from xdist.scheduler import LoadScopeScheduling

from train import small
from train.agent import Agent, make_agent
from train.compilation import use_persistent_cache
from train.learner import Learner
from train.policy.weights import save_policy
from train.trainer import Trainer

use_persistent_cache()  # before the first compilation: JAX looks for a cache only once

WARM_UP = 40


class Groups(LoadScopeScheduling):
    """What is compiled is shared within a file, and within the checks of one environment: processes get
    whole groups of these. (Not by marks: pytest-xdist 3.8 loses them under pytest 9.)"""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        parameters = test.partition("[")[2].rstrip("]")
        return parameters.split("-")[0] if file.endswith("test_contract.py") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """A report carries the peer that its test compares with, to the summary in the main process."""
    report = yield
    report.user_properties += [("peer", mark.args) for mark in item.iter_markers("peer")]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Which types agree with which independent implementation."""
    passed = terminalreporter.stats.get("passed", ())
    told = {args for report in passed for name, args in report.user_properties if name == "peer"}
    peers: dict[str, set[str]] = {}
    for library, *names in told:
        peers.setdefault(library, set()).update(names)
    for library, names in sorted(peers.items()):
        terminalreporter.write_line(f"agree with {library} ({len(names)}): {', '.join(sorted(names))}")
    if peers:
        terminalreporter.write_line(f"types that agree with a peer: {len(set.union(*peers.values()))}")


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
