"""AES against a direct reading of its definition."""

import numpy as np
import pytest

from jaxenv.selection import SelectionConfig, Trajectory, cosines, profile, select, similarity, spread

CONFIG = SelectionConfig()


def gain(e, taken, core, alike, agree, config) -> float:
    """Of the definition, with sets."""
    everything = {a for row in core for a in np.flatnonzero(row)}
    covered = {a for s in taken for a in np.flatnonzero(core[s])}
    new = set(np.flatnonzero(core[e])) - covered
    worth = config.coverage * len(new) / len(everything)
    worth -= config.redundancy * max((alike[e, s] for s in taken), default=0)
    return worth - config.conflict * max((max(0, -agree[e, s]) for s in taken), default=0)


def pool(seed: int, envs: int = 14, abilities: int = 20):
    rng = np.random.default_rng(seed)
    core = rng.random((envs, abilities)) < 0.2
    return core, np.abs(cosines(rng.normal(size=(envs, 6)))), cosines(rng.normal(size=(envs, 3)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("config", [CONFIG, SelectionConfig(redundancy=0), SelectionConfig(conflict=0)])
def test_each_pick_has_the_greatest_gain(seed, config):
    core, alike, agree = pool(seed)
    chosen = select(core, alike, agree, config, k=10)
    assert len(chosen.picks) == len(set(chosen.picks)) == 10
    for n, pick in enumerate(chosen.picks):
        taken = chosen.picks[:n]
        gains = {e: gain(e, taken, core, alike, agree, config) for e in range(len(core)) if e not in taken}
        assert chosen.gains[n] == pytest.approx(gains[pick]) == pytest.approx(max(gains.values()))
        covered = core[chosen.picks[: n + 1]].any(0).sum() / core.any(0).sum()
        assert chosen.covered[n] == pytest.approx(covered)


@pytest.mark.parametrize("seed", range(5))
def test_without_k_it_stops_when_all_is_covered(seed):
    core, alike, agree = pool(seed)
    chosen = select(core, alike, agree, CONFIG)
    assert chosen.covered[-1] == 1
    assert all(share < 1 for share in chosen.covered[:-1])
    more = select(core, alike, agree, CONFIG, k=len(core))
    assert more.picks[: len(chosen.picks)] == chosen.picks


def test_of_equals_the_first_is_taken():
    core = np.array([[1, 0], [1, 0], [0, 1]], bool)
    chosen = select(core, np.zeros((3, 3)), np.zeros((3, 3)), CONFIG, k=3)
    assert chosen.picks == [0, 2, 1]


def test_likeness_and_conflict_put_an_environment_off():
    core = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], bool)
    alike, agree = np.eye(3), np.eye(3)
    assert select(core, alike, agree, CONFIG).picks == [0, 1, 2]
    alike[0, 1] = alike[1, 0] = 0.5
    assert select(core, alike, agree, CONFIG).picks == [0, 2, 1]
    agree[0, 2] = agree[2, 0] = -0.6
    assert select(core, alike, agree, CONFIG).picks == [0, 1, 2]
    assert select(core, alike, agree, SelectionConfig(conflict=0)).picks == [0, 2, 1]
    agree[0, 2] = agree[2, 0] = 0.9  # agreement is no merit
    assert select(core, alike, agree, CONFIG).gains[1] == pytest.approx(1 / 4)


def test_a_profile_by_hand():
    played = [
        Trajectory([0, 1, 0, 2], strong=True),
        Trajectory([0, 1], strong=True),
        Trajectory([0], strong=False),
        Trajectory([], strong=False),
    ]
    found = profile(played, 4, CONFIG)
    assert found.frequencies.tolist() == pytest.approx([4 / 7, 2 / 7, 1 / 7, 0])
    assert found.transitions[0].tolist() == pytest.approx([0, 2 / 3, 1 / 3, 0])
    assert found.transitions[1].tolist() == [1, 0, 0, 0]
    assert not found.transitions[2:].any()
    assert found.core.tolist() == [True, True, False, False]  # 2 is in half of the strong ones
    assert found.soft.tolist() == [False, False, True, False]


def test_an_ability_of_the_strong_policy_alone_must_still_be_common():
    played = [Trajectory([0], strong=True), *[Trajectory([1], strong=False)] * 3]
    assert not profile(played, 2, CONFIG).core.any()


def test_profiles_are_alike_by_frequencies_and_order():
    there = profile([Trajectory([0, 1, 2], True)], 3, CONFIG)
    back = profile([Trajectory([2, 1, 0], True)], 3, CONFIG)
    other = profile([Trajectory([0, 1, 2], True)], 3, CONFIG)
    alike = similarity([there, back, other])
    assert alike[0, 2] == pytest.approx(1)
    assert 0 < alike[0, 1] < 0.2
    assert alike == pytest.approx(alike.T)


def test_what_cannot_be_is_said():
    core, alike, agree = pool(0)
    with pytest.raises(ValueError, match=r"k: 99 is not in 1\.\.14"):
        select(core, alike, agree, CONFIG, k=99)
    with pytest.raises(ValueError, match="none is of the strong policy"):
        profile([Trajectory([0], strong=False)], 1, CONFIG)


def test_a_random_choice_is_uniform_over_families_while_they_last():
    families = ["many"] * 20 + ["few"] * 2 + ["one"]
    firsts, rng = [], np.random.default_rng(0)
    for _ in range(600):
        picks = spread(families, 6, rng)
        assert len(set(picks)) == 6
        firsts.append(families[picks[0]])
    for family in set(families):
        assert firsts.count(family) == pytest.approx(200, abs=50)
    assert sorted(spread(families, 23, rng)) == list(range(23))
    with pytest.raises(ValueError, match=r"k: 24 is not in 1..23"):
        spread(families, 24, rng)
