"""Who designs a round: each answers in words that are read like any other's."""

import numpy as np
import pytest
from fake_endpoint import answer, serve
from made_rounds import rounds

from train.engineering import designers
from train.engineering.config import SIZES, normalised, random_config
from train.engineering.records import Cell, Outcome, Proposal, Round

UNIFORM = normalised([0.125] * 8, [0.2] * 7 + [0.45], [0.3] * 7 + [0.9])


def finished(config, passed):
    """One round with this config whose policy passes size -> rate."""
    cells = tuple(Cell(3, size, 0.5, 100, round(100 * rate), 0) for size, rate in passed.items())
    return [Round(0, Proposal(config, "random"), Outcome({}, cells))]


def test_fixed_keeps_the_configuration():
    proposal = designers.propose(designers.fixed, "told", rounds())
    assert proposal.config == rounds()[-1].proposal.config
    assert (proposal.origin, proposal.reason, proposal.prompt) == ("proposed", "", "told")


def test_random_draws_every_round_anew_from_its_seed():
    configs = [designers.propose(designers.random(3), "", rounds()[:n]).config for n in (1, 2, 3)]
    assert configs == [random_config(3, n) for n in (1, 2, 3)]
    assert len({*configs, designers.first_proposal(3).config, random_config(4, 1)}) == 5


def test_rule_by_hand():
    config = designers.propose(designers.rule, "", finished(UNIFORM, {3: 0.81, 5: 0.8, 10: 0.19})).config
    # Sizes 3, 5 and 10 hold 3/8 of the data and weigh 1/4, 1 and 1/2: halfway to 3/8 of 1/7, 4/7 and 2/7.
    expected = [0.125] * 8
    for place, share in ((0, 1 / 7), (2, 4 / 7), (7, 2 / 7)):
        expected[place] = (0.125 + 0.375 * share) / 2
    np.testing.assert_allclose(config.data, expected, atol=1.01e-4)
    np.testing.assert_allclose(config.hole, [0.24, *[0.2] * 6, 0.36], atol=1e-9)
    np.testing.assert_allclose(config.wait, [0.36, *[0.3] * 6, 0.72], atol=1e-9)
    capped = designers.propose(designers.rule, "", finished(UNIFORM, {10: 1.0})).config
    assert (capped.hole[7], capped.wait[7], capped.data) == (0.5, 1.0, UNIFORM.data)


def test_rule_moves_the_data_to_the_frontier():
    passed = {3: 1.0, 4: 0.95, 5: 0.9, 6: 0.85, 7: 0.6, 8: 0.3, 9: 0.1, 10: 0.0}
    config, shares = UNIFORM, []
    for _ in range(6):
        config = designers.propose(designers.rule, "", finished(config, passed)).config
        shares.append(config.data[SIZES.index(7)] + config.data[SIZES.index(8)])
    assert shares == sorted(shares)
    assert shares[0] > 0.3
    assert shares[-1] == pytest.approx(2 / (4 * 0.25 + 2 + 2 * 0.5), abs=0.01)  # the rule's own fixed point
    assert config.hole[7] < 0.15
    assert config.hole[0] > 0.4


def test_a_model_is_told_the_context_and_its_words_are_read():
    heard = []

    def generate(text):
        heard.append(text)
        return f"<think>hm</think>\n```yaml\n{random_config(8).to_yaml()}```"

    proposal = designers.propose(designers.model(generate), "the context", rounds())
    assert heard == ["the context"]
    assert proposal.config == random_config(8)
    assert proposal.reply == generate("")


def test_a_model_that_babbles_keeps_the_configuration():
    proposal = designers.propose(designers.model(lambda text: "blah " * 50), "told", rounds())
    expected = Proposal(
        rounds()[-1].proposal.config, "kept", "no YAML block with `sizes:`", "told", "blah " * 50
    )
    assert proposal == expected


def test_an_endpoint_as_designer(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with serve() as server:
        server.script = [(200, answer("Like so:\n" + random_config(6).to_yaml()))]
        proposal = designers.propose(designers.endpoint_model(server.endpoint()), "the context", rounds())
        assert proposal.config == random_config(6)
        assert server.requests[0][2]["messages"] == [{"role": "user", "content": "the context"}]
