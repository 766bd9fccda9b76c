"""The curricula against plain-Python references."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxenv import curriculum
from jaxenv.curriculum import Frontier, HDCConfig, ScalingInter


class Reference:
    """HDC for one environment, written from the paper's sentences with Python lists."""

    def __init__(self, config: HDCConfig, target: int) -> None:
        self.config, self.target = config, target
        self.r = 0 if config.mode in ("hdc", "harness") else 4
        self.u = 0 if config.mode in ("hdc", "scale") else target
        self.outcomes: list[bool] = []

    def episode(self, harness: int, scale: int, success: bool) -> None:
        if (harness, scale) != (self.r, self.u):
            return
        self.outcomes.append(success)
        latest = self.outcomes[-self.config.window :]
        if len(latest) < self.config.window:
            return
        rate = sum(latest) / self.config.window
        if self.u < self.target:
            if rate >= self.config.tau_s - 1e-9:
                self.u, self.outcomes = self.u + 1, []
        elif rate >= self.config.tau_h - 1e-9 and self.r < 4:
            self.r, self.outcomes = self.r + 1, []
            self.u = 0 if self.config.mode == "hdc" else self.target


def frontier_at(config: HDCConfig, harness: list[int], scale: list[int], target: list[int]) -> Frontier:
    start = curriculum.init(config, jnp.array(target))
    return start.replace(harness=jnp.array(harness, jnp.int32), scale=jnp.array(scale, jnp.int32))


def play(config: HDCConfig, frontier: Frontier, outcomes: list[bool]) -> Frontier:
    """Give environment 0 these outcomes, all at the frontier it has now."""
    n = len(outcomes)
    level = [jnp.full(n, x[0], jnp.int32) for x in (frontier.harness, frontier.scale)]
    return curriculum.update(
        config, frontier, jnp.zeros(n, jnp.int32), *level, jnp.array(outcomes, bool), jnp.ones(n, bool)
    )


@pytest.mark.parametrize("mode", ["hdc", "scale", "harness", "none"])
def test_random_streams_follow_the_reference(mode):
    config = HDCConfig(window=5, mode=mode)
    targets = [0, 1, 3]
    references = [Reference(config, target) for target in targets]
    frontier = curriculum.init(config, jnp.array(targets))
    rng = np.random.default_rng(0)
    seen = set()
    for batch in range(60):
        harness, scale = (
            np.asarray(x) for x in curriculum.sample(config, frontier, jax.random.key(batch), 8)
        )
        env = rng.permutation(np.repeat(np.arange(3), 8))
        column = np.array([np.sum(env[:i] == env[i]) for i in range(24)])
        harness, scale = harness[env, column], scale[env, column]
        success, valid = rng.random(24) < 0.75, rng.random(24) < 0.9
        frontier = curriculum.update(
            config, frontier, *map(jnp.asarray, (env, harness, scale, success, valid))
        )
        for e, h, s, won, counted in zip(env, harness, scale, success, valid, strict=True):
            if counted:
                references[e].episode(int(h), int(s), bool(won))
        expected = [(r.r, r.u) for r in references]
        assert list(zip(frontier.harness.tolist(), frontier.scale.tolist(), strict=True)) == expected
        assert frontier.count.tolist() == [len(r.outcomes) for r in references]
        seen.update(expected)
    assert (4, 3) in seen  # the streams reach both caps and stay there
    assert frontier.harness.tolist() == [4, 4, 4]


def test_sampled_frequencies_match_the_formulas():
    config = HDCConfig(p_cur=0.6, alpha=0.8, delta_d=2)
    frontier = frontier_at(config, [0, 1, 3, 4], [0, 1, 4, 2], [4, 4, 4, 4])
    n = 4000
    harness, scale = curriculum.sample(config, frontier, jax.random.key(1), n)
    assert harness.shape == scale.shape == (4, n)
    assert harness.dtype == scale.dtype == jnp.int32
    for e, (r, u) in enumerate([(0, 0), (1, 1), (3, 4), (4, 2)]):
        weights = np.exp(-0.8 * (r - np.arange(r)))
        expected = np.append(0.4 * weights / weights.sum(), 0.6) if r else np.ones(1)
        counts = np.bincount(harness[e], minlength=5)
        assert counts[r + 1 :].sum() == 0
        assert stats.chisquare(counts[: r + 1], expected * n).pvalue > 1e-3 or r == 0
        low = max(0, u - 2)
        counts = np.bincount(scale[e], minlength=5)
        assert counts[low : u + 1].sum() == n
        assert stats.chisquare(counts[low : u + 1]).pvalue > 1e-3 or low == u
        # Harness and scale are independent draws.
        table = np.histogram2d(harness[e], scale[e], bins=(np.arange(6) - 0.5, np.arange(6) - 0.5))[0]
        table = table[table.sum(1) > 0][:, table.sum(0) > 0]
        assert min(table.shape) == 1 or stats.chi2_contingency(table).pvalue > 1e-3


def test_probabilities_sum_to_one_even_for_a_steep_decay():
    config = HDCConfig(alpha=200.0)
    p = curriculum.harness_probabilities(config, jnp.arange(5))
    assert np.isfinite(p).all()
    np.testing.assert_allclose(
        curriculum.harness_probabilities(HDCConfig(), jnp.arange(5)).sum(1), 1, rtol=1e-6
    )
    np.testing.assert_array_equal(p[0], [1, 0, 0, 0, 0])


def test_nothing_moves_before_the_window_is_full_and_it_restarts_after_a_move():
    config = HDCConfig(window=4, tau_s=0.5)
    frontier = play(config, curriculum.init(config, jnp.array([2])), [True] * 3)
    assert (frontier.scale[0], frontier.count[0]) == (0, 3)
    frontier = play(config, frontier, [False])  # 3 of 4 >= 0.5
    assert (frontier.scale[0], frontier.count[0]) == (1, 0)
    frontier = play(config, frontier, [False] * 3)
    frontier = play(config, frontier, [True])  # 1 of 4: the old frontier's successes are gone
    assert (frontier.scale[0], frontier.count[0]) == (1, 4)
    frontier = play(config, frontier, [True])  # the ring slides: F F T T
    assert (frontier.scale[0], frontier.count[0]) == (2, 0)


def test_a_move_in_mid_batch_leaves_the_rest_of_the_batch_out():
    config = HDCConfig(window=2, tau_s=1.0)
    frontier = play(config, curriculum.init(config, jnp.array([3])), [True] * 10)
    assert (frontier.scale[0], frontier.count[0]) == (1, 0)


def test_caps_hold():
    config = HDCConfig(window=2)
    frontier = play(config, frontier_at(config, [4], [1], [1]), [True] * 40)
    assert (frontier.harness[0], frontier.scale[0], frontier.count[0]) == (4, 1, 40)


def test_an_exact_threshold_advances():
    config = HDCConfig(window=20, tau_s=0.55)  # 0.55 * 20 is a little above 11 in floating point
    frontier = play(config, curriculum.init(config, jnp.array([1])), [True] * 11 + [False] * 9)
    assert frontier.scale[0] == 1


@pytest.mark.parametrize(
    ("mode", "harness", "scale"), [("scale", {4}, {1, 2}), ("harness", {1, 0}, {3}), ("none", {4}, {3})]
)
def test_ablations_sample_only_their_levels(mode, harness, scale):
    config = HDCConfig(mode=mode)
    frontier = curriculum.init(config, jnp.array([3]))
    if mode == "scale":
        frontier = frontier.replace(scale=jnp.array([2], jnp.int32))
    if mode == "harness":
        frontier = frontier.replace(harness=jnp.array([1], jnp.int32))
    h, s = curriculum.sample(config, frontier, jax.random.key(0), 200)
    assert set(h.ravel().tolist()) == harness
    assert set(s.ravel().tolist()) == scale


def test_moving_frontiers_compile_once():
    config = HDCConfig(window=1, p_cur=0.65)
    frontier = curriculum.init(config, jnp.array([2]))
    before = curriculum.sample._cache_size(), curriculum.update._cache_size()
    for i in range(6):
        curriculum.sample(config, frontier, jax.random.key(i), 3)
        frontier = play(config, frontier, [True])
    assert (frontier.harness[0], frontier.scale[0]) == (2, 0)
    assert curriculum.sample._cache_size() == before[0] + 1
    assert curriculum.update._cache_size() == before[1] + 1


@pytest.mark.parametrize(
    "wrong",
    [{"p_cur": 0.0}, {"tau_s": 1.5}, {"alpha": -1.0}, {"delta_d": -1}, {"window": 0}, {"mode": "both"}],
)
def test_config_says_what_is_wrong(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HDCConfig(**wrong)


def test_horizon_follows_the_published_stages():
    schedule = ScalingInter((6, 13, 20), 100)
    stage, published = 0, {}
    for step in range(1, 451):  # the published loop: the stage moves after each step that `every` divides
        published[step] = schedule.horizons[stage]
        if stage + 1 < 3 and step % 100 == 0:
            stage += 1
    steps = jnp.arange(1, 451)
    horizons = jax.jit(lambda steps: jax.vmap(lambda s: curriculum.horizon(schedule, s))(steps))(steps)
    assert horizons.tolist() == list(published.values())
    assert curriculum.horizon(schedule, 0) == 6
    assert curriculum.horizon(ScalingInter((20,), 1), 5) == 20


def test_schedule_says_what_is_wrong():
    with pytest.raises(ValueError, match="horizons"):
        ScalingInter(())
    with pytest.raises(ValueError, match="every"):
        ScalingInter((5,), 0)
