"""The chat client against a local server that misbehaves."""

import time

import pytest
from fake_endpoint import answer, cut, drop, hang, redirect, serve, trickle

from train import endpoint
from train.endpoint import Endpoint, EndpointError, chat

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße"}]
SECRET = "sk-not-to-be-told"


@pytest.fixture(scope="module")
def running():
    with serve() as server:
        yield server


@pytest.fixture
def server(running, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    running.requests.clear()
    return running


@pytest.fixture
def naps(monkeypatch):
    """Seconds slept between attempts, without sleeping."""
    slept = []
    monkeypatch.setattr(endpoint.time, "sleep", slept.append)
    return slept


def test_asks_and_gets_the_text(server, naps):
    server.script = [(200, answer("Größe 7"))]
    assert chat(ASKED, server.endpoint(temperature=0.25, max_tokens=77)) == "Größe 7"
    [(path, headers, body)] = server.requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert body == {"model": "engineer", "messages": ASKED, "temperature": 0.25, "max_tokens": 77}
    assert naps == []


def test_sends_no_key_where_there_is_none(server):
    server.script = [(200, answer("hello"))]
    assert chat(ASKED, server.endpoint(url=server.url + "/", key_variable="NO_SUCH_KEY")) == "hello"
    assert "Authorization" not in server.requests[0][1]
    assert server.requests[0][0] == "/v1/chat/completions"


@pytest.mark.parametrize("fault", [(429, b"slow down"), (500, b""), (503, b"{}"), drop, cut])
def test_asks_again_after_a_fault_that_may_pass(server, naps, fault):
    server.script = [fault, fault, fault, (200, answer("at last"))]
    assert chat(ASKED, server.endpoint()) == "at last"
    assert naps == [0.5, 1.0, 2.0]
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("reply", "requests", "line"),
    [
        (
            (429, b'{"error": "rate\nlimit"}'),
            4,
            'HTTP 429 Too Many Requests: {"error": "rate limit"}, after 4 attempts',
        ),
        ((500, b""), 4, "HTTP 500 Internal Server Error, after 4 attempts"),
        (drop, 4, "after 4 attempts; is it up, and is url right?"),
        (cut, 4, "after 4 attempts"),
        ((401, b"no such key"), 1, "HTTP 401 Unauthorized: no such key; check the key in $OPENAI_API_KEY"),
        ((404, b""), 1, "HTTP 404 Not Found; check url and model ('engineer')"),
        ((400, b"\xff" * 10**6), 1, "HTTP 400 Bad Request: "),
        (redirect, 1, "HTTP 302 Found; check url"),
        ((200, b"<html>\xff"), 1, "the answer is not JSON: b'<html>"),
        ((200, b""), 1, "the answer is not JSON: b''"),
        ((200, b"[" * 10**6), 1, "the answer is not JSON"),
        ((200, b'{"choices": []}'), 1, "the answer has no text in choices[0].message.content"),
        ((200, b'{"error": "quota"}'), 1, "the answer has no text"),
        ((200, b"[1]"), 1, "the answer has no text"),
        ((200, answer(None)), 1, "the answer has no text"),
        ((200, answer(["a"])), 1, "the answer has no text"),
        ((200, answer("a" * 17 * 2**20)), 1, "the answer has more than 16777216 bytes"),
    ],
)
def test_gives_up_with_one_line(server, naps, reply, requests, line):
    server.script = [reply]
    with pytest.raises(EndpointError, match=r"http://127\.0\.0\.1") as raised:
        chat(ASKED, server.endpoint())
    told = str(raised.value)
    assert told.startswith(server.url)
    assert line in told
    assert "\n" not in told
    assert len(told) < 700
    assert SECRET not in told
    assert len(server.requests) == requests


@pytest.mark.parametrize("slow", [hang, trickle])
def test_waits_no_longer_than_the_timeout(server, naps, slow):
    server.script = [slow, slow, (200, answer("too late"))]
    start = time.monotonic()
    with pytest.raises(EndpointError, match=r"no whole answer within 0\.3 s, after 2 attempts"):
        chat(ASKED, server.endpoint(timeout=0.3, attempts=2))
    assert 0.6 <= time.monotonic() - start < 10


def test_nobody_listens(naps):
    with pytest.raises(EndpointError, match=r"no connection \(.*refused.*\), after 2 attempts"):
        chat(ASKED, Endpoint("http://127.0.0.1:9/v1", "engineer", attempts=2))
    assert naps == [2.0]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"url": "file:///etc/passwd"}, "url: 'file:///etc/passwd' must start with http:// or https://"),
        ({"timeout": 0.0}, "need timeout > 0"),
        ({"attempts": 0}, "attempts >= 1"),
        ({"backoff": -1.0}, "backoff >= 0"),
    ],
)
def test_refuses_settings_that_cannot_be(options, line):
    with pytest.raises(ValueError, match=r"url|timeout") as raised:
        Endpoint(**options)
    assert line in str(raised.value)
