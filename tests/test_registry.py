"""Names, sets, options and packages of environments."""

import sys
import types
from importlib import metadata

import pytest
import toy

import jaxenv
from jaxenv import registry
from jaxenv.abilities import definitions
from jaxenv.environment import Environment


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch):
    """Registers {package name: ENVIRONMENTS} beside what is installed, for one test."""

    def add(found: dict[str, dict[str, str]]) -> None:
        installed = list(metadata.entry_points(group=registry.ENTRY_POINTS))
        for name, environments in found.items():
            module = types.ModuleType(name)
            module.ENVIRONMENTS = environments  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, name, module)
            installed.append(metadata.EntryPoint(name, name, registry.ENTRY_POINTS))
        monkeypatch.setattr(registry.metadata, "entry_points", lambda group: installed)
        registry._locations.cache_clear()

    yield add
    registry._locations.cache_clear()


def test_every_id_makes_the_environment_of_that_name():
    assert len(jaxenv.ids()) >= 12
    assert list(jaxenv.ids()) == sorted(jaxenv.ids())
    for env_id in jaxenv.ids():
        env, params = jaxenv.make(env_id)
        assert env.id == env_id
        assert (int(params.level.harness), int(params.level.scale), int(params.max_turns)) == (0, 0, 0)


def test_a_wrong_id_names_the_nearest():
    with pytest.raises(ValueError, match=r"no environment 'frozen_lak'; did you mean 'frozen_lake'\?"):
        jaxenv.make("frozen_lak")


def test_an_id_like_no_other_says_where_to_look():
    with pytest.raises(ValueError, match=r"no environment 'zzzz'; jaxenv\.ids\(\) names all there are"):
        jaxenv.make("zzzz")


def test_sets():
    assert len(jaxenv.env_set("core12")) == 12
    assert set(jaxenv.env_set("core12")) <= set(jaxenv.ids())
    assert jaxenv.env_set("sokoban") == ("sokoban",)
    assert jaxenv.env_set("all") == jaxenv.ids()
    assert jaxenv.env_set("sokoban, maze_2d,sokoban") == ("sokoban", "maze_2d")
    assert set(jaxenv.env_set("all,-core12")) == set(jaxenv.ids()) - set(jaxenv.env_set("core12"))
    assert jaxenv.env_set("core12,-core12,sokoban") == ("sokoban",)
    with pytest.raises(ValueError, match=r"the environment set 'sokoban,-core12' leaves none"):
        jaxenv.env_set("sokoban,-core12")
    with pytest.raises(
        ValueError, match=r"no environment set 'core13'; did you mean 'core12'\?; sets: all, aes30, core12"
    ):
        jaxenv.env_set("core13")


def test_a_set_in_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('environments = ["maze_2d", "sokoban"]\n')
    assert jaxenv.env_set(str(file)) == ("maze_2d", "sokoban")
    assert jaxenv.env_set(f"sokoban,{file}") == ("sokoban", "maze_2d")
    with pytest.raises(ValueError, match=r"no environment set '.*other\.toml'"):
        jaxenv.env_set(str(tmp_path / "other.toml"))


def test_options_reach_the_environment():
    env, _ = jaxenv.make("frozen_lake", observe=("pixels", "text"), canvas=64)
    assert (env.observe, env.canvas) == (("pixels", "text"), 64)


@pytest.mark.parametrize("observe", [("smell",), (), ("pixels", "smell")])
def test_unknown_observations_are_an_error(observe: tuple[str, ...]):
    with pytest.raises(ValueError, match=r"observe: .* must name some of symbolic, pixels, text"):
        jaxenv.make("frozen_lake", observe=observe)


@pytest.mark.parametrize("canvas", [0, -32, 100, 33])
def test_other_canvases_are_an_error(canvas: int):
    with pytest.raises(ValueError, match=rf"canvas: {canvas} must be a positive multiple of 32"):
        jaxenv.make("frozen_lake", canvas=canvas)


def test_an_unknown_option_is_an_error():
    with pytest.raises(TypeError, match="colour"):
        jaxenv.make("frozen_lake", colour="red")


def test_a_users_package_is_found_beside_ours(packages):
    packages({"my_package": {"toy_countdown": "toy:Countdown"}})
    env, _ = jaxenv.make("toy_countdown")
    assert isinstance(env, toy.Countdown)
    assert {"toy_countdown", "frozen_lake"} <= set(jaxenv.ids())
    assert jaxenv.env_set("toy_countdown") == ("toy_countdown",)


def test_two_classes_of_one_name_are_an_error(packages):
    packages({"first": {"toy_countdown": "toy:Countdown"}, "second": {"toy_countdown": "other:Countdown"}})
    with pytest.raises(ValueError, match="'toy_countdown' is registered twice: toy:Countdown, other"):
        jaxenv.ids()


def test_abilities_are_of_the_vocabulary():
    known = definitions()
    assert len(known) == 72
    named = {ability for env_id in jaxenv.ids() for ability in jaxenv.make(env_id)[0].abilities}
    assert named == set(known)


def test_every_environment_tells_what_an_action_exercises():
    envs = [jaxenv.make(env_id)[0] for env_id in jaxenv.ids()]
    assert not [env.id for env in envs if type(env).exercised is Environment.exercised]
