"""`train.select` end to end on random weights: a set with its provenance, and what it refuses."""

import dataclasses
import hashlib
import json
import tomllib
from pathlib import Path

import pytest
import tiny
from fake_endpoint import answer, serve
from PIL import Image
from toy import Countdown

import jaxenv
from jaxenv.selection import SelectionConfig
from train import select
from train.annotation.chat_annotator import AnnotatorConfig
from train.conflict import GradientConfig
from train.select import SelectConfig

CONFIG = SelectConfig(
    name="mine",
    pool=tiny.ENVS,
    trajectories=tiny.SLOTS,
    canvas=tiny.CANVAS,
    gradients=GradientConfig(group_size=tiny.GROUP, rounds=1, dimensions=256),
    actor=tiny.ACTOR,
    learner=tiny.LEARNER,
)


@pytest.fixture(scope="module")
def made(random_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("select")
    select.main(dataclasses.replace(CONFIG, model=str(random_model), out=out, k=2))
    return out


def test_the_set_can_be_trained_on_and_says_where_it_comes_from(made: Path) -> None:
    written = tomllib.loads((made / "mine.toml").read_text())
    assert sorted(jaxenv.env_set(str(made / "mine.toml"))) == sorted(tiny.ENVS.split(","))
    told = written["provenance"]
    content = b"".join((made / file).read_bytes() for file in ("profiles.json", "gradients.json"))
    assert told["measured_sha256"] == hashlib.sha256(content).hexdigest()
    assert told["covered"][-1] == 1
    assert len(told["gains"]) == 2
    assert told["redundancy"] == SelectionConfig().redundancy
    assert f"--pool {tiny.ENVS} --k 2 --how aes --name mine" in (made / "mine.toml").read_text()


def test_what_was_measured_serves_again(made: Path, tmp_path: Path) -> None:
    again = dataclasses.replace(CONFIG, model="nothing is played", measured=made, out=tmp_path, k=2)
    select.main(again)
    first, second = (tomllib.loads((folder / "mine.toml").read_text()) for folder in (made, tmp_path))
    assert first == second
    one = tiny.ENVS.split(",")[0]
    select.main(dataclasses.replace(again, pool=f"{tiny.ENVS},-{one}", k=None))
    assert one not in jaxenv.env_set(str(tmp_path / "mine.toml"))


def test_a_random_choice_is_spread_over_families(tmp_path: Path) -> None:
    config = SelectConfig("some", pool="all,-core12", k=30, how="random", out=tmp_path)
    select.main(config)
    some = jaxenv.env_set(str(tmp_path / "some.toml"))
    assert len(some) == 30
    assert not set(some) & set(jaxenv.env_set("core12"))
    select.main(config)
    assert jaxenv.env_set(str(tmp_path / "some.toml")) == some
    select.main(dataclasses.replace(config, seed=1))
    assert jaxenv.env_set(str(tmp_path / "some.toml")) != some


def test_profiles_are_of_what_was_done(made: Path) -> None:
    profiles = json.loads((made / "profiles.json").read_text())
    for name in tiny.ENVS.split(","):
        one, own = profiles[name], set(jaxenv.make(name)[0].abilities)
        assert set(one["core"]) | set(one["soft"]) == set(one["frequencies"]) <= own
        assert sum(one["frequencies"].values()) == pytest.approx(1, abs=1e-4)
        for following in one["transitions"].values():
            assert sum(following.values()) == pytest.approx(1, abs=1e-4)
    assert "plan_path" in profiles["frozen_lake"]["core"]


def test_pictures_are_drawn(made: Path) -> None:
    for name in ("gradients", "similarity", "coverage", *(f"graphs/{name}" for name in tiny.ENVS.split(","))):
        with Image.open(made / f"{name}.png") as picture:
            assert min(picture.size) > 200


def test_a_model_behind_an_endpoint_may_annotate(random_model: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    said = {"steps": [{"step": 1, "abilities": ["locate_agent", "humming"]}]}
    with serve() as server:

        def annotate(handler):
            asked = server.requests[-1][2]["messages"][-1]["content"]
            about_names = "does each of the following names mean" in asked
            handler.send(200, answer(json.dumps({"humming": "none"} if about_names else said)))

        server.script = [annotate]
        llm = AnnotatorConfig(server.endpoint(), tmp_path / "kept", parallel=1)
        config = dataclasses.replace(CONFIG, model=str(random_model), out=tmp_path, annotator="llm", llm=llm)
        select.main(config)
    profiles = json.loads((tmp_path / "profiles.json").read_text())
    assert all(one["frequencies"] == {"locate_agent": 1} for one in profiles.values())
    assert len(jaxenv.env_set(str(tmp_path / "mine.toml"))) == 1  # one of them covers all


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"k": 3}, "k: 3 is not in 1..2, the number of environments"),
        ({"trajectories": 3}, "trajectories: 3 are not a multiple of gradients.group_size, 4"),
        ({"how": "random"}, "k: a random choice covers nothing in particular"),
        ({"measured": Path("nowhere")}, "measured: nowhere has no profiles.json"),
        ({"pool": "maze"}, "no environment set 'maze'; did you mean"),
    ],
)
def test_what_cannot_be_is_one_line(change: dict, line: str, random_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=line):
        select.main(dataclasses.replace(CONFIG, model=str(random_model), out=tmp_path / "out", **change))
    assert not (tmp_path / "out").exists()


def test_environments_that_do_not_tell_are_named() -> None:
    with pytest.raises(ValueError, match="annotator: toy_countdown of the pool do not tell"):
        select.check_told([*tiny.environments(), Countdown()])
