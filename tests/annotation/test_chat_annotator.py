"""The annotator that asks a model, against a local endpoint that misbehaves."""

import json
import re
import threading

import pytest
from fake_endpoint import answer, drop, hang, serve

from jaxenv.abilities import definitions
from train import endpoint
from train.annotation.chat_annotator import AnnotationError, AnnotatorConfig, annotate
from train.annotation.transcript import Step, Transcript
from train.endpoint import EndpointError

GOOD = {
    "steps": [
        {"step": 1, "abilities": ["locate_agent", "plan_path"]},
        {"step": 2, "abilities": ["plan_path"]},
    ]
}
SAID = answer(json.dumps(GOOD))


def episode(name: str = "frozen_lake", steps: int = 2) -> Transcript:
    told = tuple(Step(f"Board {n} of {name}", "<answer>up</answer>", "accepted") for n in range(steps))
    return Transcript(name, True, True, told)


@pytest.fixture(scope="module")
def running():
    with serve() as server:
        yield server


@pytest.fixture
def server(running, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(endpoint.time, "sleep", lambda seconds: None)
    running.requests.clear()
    return running


@pytest.fixture
def config(server, tmp_path):
    return AnnotatorConfig(server.endpoint(temperature=0.0, attempts=3), tmp_path / "kept", parallel=1)


def asked(server) -> list[str]:
    """The last message of each request."""
    return [body["messages"][-1]["content"] for _, _, body in server.requests]


def test_abilities_come_in_order_and_once_where_they_repeat(server, config):
    server.script = [(200, SAID)]
    told = annotate([episode()], config)
    assert told.abilities == [("locate_agent", "plan_path")]
    assert not told.dropped
    [(_, _, body)] = server.requests
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["steps"]
    assert all(f"- {name}: " in body["messages"][0]["content"] for name in definitions())
    assert "Board 1 of frozen_lake" in body["messages"][-1]["content"]


def test_nothing_is_asked_twice(server, config):
    server.script = [(200, SAID)]
    episodes = [episode("frozen_lake"), episode("maze_2d"), episode("frozen_lake")]
    first = annotate(episodes, config)
    assert len(server.requests) == 2  # the third is the first again
    assert annotate(episodes, config) == first
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "fault",
    [
        hang,
        drop,
        (429, b"slow down"),
        (500, b""),
        (200, answer("I would say: planning.")),
        (200, answer("[1]")),
        (200, answer("{")),
        (200, answer('{"steps": []}')),
        (200, answer('{"steps": {}}')),
        (200, answer('{"steps": [{"step": 1, "abilities": []}]}')),
        (200, answer('{"steps": [{"step": 3, "abilities": ["plan_path"]}]}')),
        (200, answer('{"steps": [{"step": true, "abilities": ["plan_path"]}]}')),
        (200, answer('{"steps": [{"step": 2, "abilities": ["a"]}, {"step": 1, "abilities": ["b"]}]}')),
        (200, answer('{"steps": [{"step": 1, "abilities": [7]}]}')),
        (200, answer('{"steps": [{"step": 1, "abilities": ["!!"]}]}')),
        (200, answer(json.dumps({"steps": [{"step": 1, "abilities": ["plan_path"] * 13}]}))),
        (200, answer('{"steps": ' + "[" * 100_000)),
    ],
)
def test_a_fault_that_passes_costs_only_another_question(server, config, fault):
    if fault is hang:
        config = AnnotatorConfig(server.endpoint(timeout=0.3), config.kept, parallel=1)
    server.script = [fault, (200, SAID)]
    assert annotate([episode()], config).abilities == [("locate_agent", "plan_path")]
    assert len(server.requests) == 2
    assert len(list(config.kept.iterdir())) == 1


def test_what_was_wrong_is_told(server, config):
    server.script = [(200, answer("no idea")), (200, SAID)]
    annotate([episode()], config)
    again = server.requests[1][2]["messages"]
    assert again[-2] == {"role": "assistant", "content": "no idea"}
    assert again[-1]["content"].startswith("That is not valid: it is not JSON.")


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (
            (200, answer("no idea")),
            "no valid annotation of an episode of maze_2d in 3 answers: it is not JSON",
        ),
        ((200, answer('{"steps": []}')), "in 3 answers: it names no ability"),
        ((429, b"slow down"), "HTTP 429 Too Many Requests: slow down, after 3 attempts"),
        ((500, b""), "HTTP 500 Internal Server Error, after 3 attempts"),
        ((401, b""), "check the key"),
    ],
)
def test_a_fault_that_stays_stops_with_one_line_and_what_was_answered_is_kept(server, config, fault, line):
    server.script = [(200, SAID), fault]
    episodes = [episode("frozen_lake"), episode("maze_2d"), episode("sokoban")]
    with pytest.raises((AnnotationError, EndpointError), match=re.escape(line)) as raised:
        annotate(episodes, config)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(server.url)
    before = len(server.requests)
    server.script = [(200, SAID)]
    assert len(annotate(episodes, config).abilities) == 3
    assert not any("Board 1 of frozen_lake" in question for question in asked(server)[before:])


def test_other_names_are_spelled_merged_or_dropped(server, config):
    names = ["Plan-Path", "find the avatar", "humming", "Perception", "plan_path"]
    meant = {"find_the_avatar": "locate_agent", "humming": "none"}
    fenced = f"Gladly:\n```json\n{json.dumps(meant)}\n```"
    server.script = [
        (200, answer(json.dumps({"steps": [{"step": 1, "abilities": names}]}))),
        (200, answer(fenced)),
    ]
    told = annotate([episode()], config)
    assert told.abilities == [("plan_path", "locate_agent", "plan_path")]
    assert told.dropped == {"humming": 1, "perception": 1}
    assert '["find_the_avatar", "humming"]' in asked(server)[1]


@pytest.mark.parametrize("meant", [{}, {"humming": "music"}, {"humming": ["plan_path"]}, ["none"]])
def test_a_wrong_merging_is_asked_for_again(server, config, meant):
    said = (200, answer('{"steps": [{"step": 1, "abilities": ["humming", "plan_path"]}]}'))
    server.script = [said, (200, answer(json.dumps(meant))), (200, answer('{"humming": "none"}'))]
    assert annotate([episode()], config).abilities == [("plan_path",)]


def test_a_damaged_answer_is_asked_for_again(server, config):
    server.script = [(200, SAID)]
    annotate([episode()], config)
    [file] = config.kept.iterdir()
    for damaged in (b"", file.read_bytes()[:20], b"[]", b'{"answer": 3}', b'{"answer": "no JSON"}', b"\xff"):
        file.write_bytes(damaged)
        assert annotate([episode()], config).abilities == [("locate_agent", "plan_path")]
        assert json.loads(file.read_text()) == {"answer": json.dumps(GOOD)}


def test_questions_are_under_way_together(server, config):
    together = threading.Barrier(4, timeout=10)

    def wait_for_the_others(handler):
        together.wait()
        handler.send(200, SAID)

    server.script = [wait_for_the_others]
    config = AnnotatorConfig(config.endpoint, config.kept, parallel=4)
    done: list[int] = []
    told = annotate([episode(f"env_{n}") for n in range(4)], config, done.append)
    assert told.abilities == [("locate_agent", "plan_path")] * 4
    assert done == [1, 2, 3, 4]
