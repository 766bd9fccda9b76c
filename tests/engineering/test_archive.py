"""Records of rounds and their folders: everything comes back exactly, damage has one line."""

import json
import math

import pytest
from made_rounds import evaluation, rounds

from train.engineering.archive import read_proposal, read_rounds, write_outcome, write_proposal
from train.engineering.config import random_config
from train.engineering.records import Cell, Outcome, Proposal, tally

ODD = "line\r\nend\rof\u2028every kind\x0b, half \ud800 a pair, 🙂, trailing \n\n"


def keep(run, finished):
    for done in finished:
        write_proposal(run, done.number, done.proposal)
        write_outcome(run, done.number, done.outcome)


def test_outcome_json_is_exact():
    for done in rounds():
        assert Outcome.from_json(json.loads(json.dumps(done.outcome.to_json()))) == done.outcome


def test_numbers_that_json_has_not_become_null():
    outcome = Outcome({"loss": math.nan, "kl": -math.inf, "reward": 0.5, "none": None}, evaluation())
    text = json.dumps(outcome.to_json(), allow_nan=False)
    assert Outcome.from_json(json.loads(text)).training == {
        "loss": None,
        "kl": None,
        "reward": 0.5,
        "none": None,
    }


def test_rounds_come_back_exactly(tmp_path):
    assert read_rounds(tmp_path) == []
    keep(tmp_path, rounds())
    assert read_rounds(tmp_path) == rounds()
    folder = tmp_path / "rounds" / "round_1"
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.yaml",
        "outcome.json",
        "prompt.txt",
        "proposal.json",
        "reply.txt",
    ]
    assert (folder / "config.yaml").read_text() == rounds()[1].proposal.config.to_yaml()


def test_texts_are_kept_character_by_character(tmp_path):
    proposal = Proposal(random_config(5), "kept", "why", prompt=ODD, reply=ODD * 2)
    write_proposal(tmp_path, 4, proposal)
    assert read_proposal(tmp_path, 4) == proposal


def test_an_unfinished_round_ends_the_list(tmp_path):
    keep(tmp_path, rounds())
    (tmp_path / "rounds" / "round_1" / "outcome.json").unlink()
    assert [done.number for done in read_rounds(tmp_path)] == [0]
    assert read_proposal(tmp_path, 1) == rounds()[1].proposal
    (tmp_path / "rounds" / "round_1" / "proposal.json").unlink()
    assert read_proposal(tmp_path, 1) is None


def test_a_round_done_again_is_unfinished_until_its_outcome(tmp_path):
    keep(tmp_path, rounds())
    again = Proposal(random_config(9), "proposed", prompt="p", reply="r")
    write_proposal(tmp_path, 2, again)
    assert len(read_rounds(tmp_path)) == 2
    assert read_proposal(tmp_path, 2) == again


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("outcome.json", "{", "remove it to train this round again"),
        ("outcome.json", '{"training": {}, "evaluation": []}', "remove it to train this round again"),
        ("outcome.json", '{"training": {}}', "remove it to train this round again"),
        ("proposal.json", "[]", "remove the folder to ask for this round again"),
        ("proposal.json", '{"origin": "luck", "reason": ""}', "origin: 'luck' must be one of"),
        ("config.yaml", "sizes: !!python/name:os.system", "tags are not read"),
        ("config.yaml", None, "No such file"),
    ],
)
def test_damage_has_one_line_that_names_the_round(tmp_path, name, content, line):
    keep(tmp_path, rounds())
    path = tmp_path / "rounds" / "round_1" / name
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(ValueError, match=line) as raised:
        read_rounds(tmp_path)
    assert "round_1" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        ((3, 7, 0.5, 0, 0, 0), "needs 0 <= optimal <= valid <= instances > 0"),
        ((3, 7, 0.5, 10, 4, 5), "5 optimal, 4 valid, 10 instances"),
        ((3, 7, 0.5, 10, 11, 5), "5 optimal, 11 valid, 10 instances"),
        ((3, 7, 0.5, 10, 4, 2, {"flies": 1}), "unknown check 'flies'"),
        ((3, 7, 0.5, 10, 4, 2, {"parses": 7}), "7 answers fail parses of 6 that are not valid"),
        ((3, 11, 0.5, 10, 4, 2), "the size must be in 3..10"),
    ],
)
def test_cells_refuse_counts_that_cannot_be(numbers, line):
    with pytest.raises(ValueError, match="3 agents") as raised:
        Cell(*numbers)
    assert line in str(raised.value)


def test_a_reason_goes_with_what_was_kept():
    with pytest.raises(ValueError, match="reason"):
        Proposal(random_config(0), "proposed", "why")
    with pytest.raises(ValueError, match="reason"):
        Proposal(random_config(0), "kept")


def test_tally_adds_up():
    cells = [Cell(3, 5, 0.25, 10, 4, 1, {"no_hole": 2, "parses": 1}), Cell(4, 5, 0.5, 5, 5, 5, {"parses": 0})]
    counts = tally(cells)
    assert (counts.instances, counts.valid, counts.optimal) == (15, 9, 6)
    assert list(counts.errors.items()) == [("parses", 1), ("no_hole", 2)]  # as the checks are listed
    assert (counts.pass_rate, counts.optimal_rate) == (9 / 15, 6 / 15)
    with pytest.raises(ValueError, match="no evaluation"):
        tally([])
