"""Names of environments and of sets of them."""

import pytest

import jaxenv


def test_a_set_an_id_and_a_list_of_both() -> None:
    core = jaxenv.env_set("core12")
    assert len(core) == 12
    assert jaxenv.env_set("frozen_lake") == ("frozen_lake",)
    assert jaxenv.env_set("rotate_matrix,frozen_lake") == ("rotate_matrix", "frozen_lake")
    rest = tuple(name for name in core if name != "sokoban")
    assert jaxenv.env_set("sokoban, core12") == ("sokoban", *rest)


@pytest.mark.parametrize("name", ["frozen_lke", "core12,frozen_lke", "frozen_lke,core12"])
def test_an_unknown_name_gets_the_nearest_one(name: str) -> None:
    with pytest.raises(ValueError, match="no environment set 'frozen_lke'; did you mean 'frozen_lake'"):
        jaxenv.env_set(name)


@pytest.mark.parametrize("name", ["", "core12,", ","])
def test_an_empty_name_is_unknown(name: str) -> None:
    with pytest.raises(ValueError, match=r"no environment set ''; known: .*sets: .*core12"):
        jaxenv.env_set(name)


def test_every_id_of_every_set_can_be_made() -> None:
    for name in jaxenv.env_set("core12"):
        env, _ = jaxenv.make(name, canvas=64)
        assert (env.id, env.canvas) == (name, 64)
