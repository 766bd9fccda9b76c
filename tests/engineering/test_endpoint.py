"""The chat client against a local server that misbehaves."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from made_rounds import rounds

from train.engineering import designers, endpoint
from train.engineering.config import random_config
from train.engineering.endpoint import Endpoint, EndpointError, chat

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße"}]
SECRET = "sk-not-to-be-told"


def answer(text):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


class Server(ThreadingHTTPServer):
    """Answers the requests with the scripted replies in turn, the last one for ever.

    A reply is (status, body), or a function of the handler that does what it likes.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.over = [], [], threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def endpoint(self, **options):
        return Endpoint(**{"url": self.url, "model": "engineer", "timeout": 5.0, "backoff": 0.5} | options)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        server.requests.append((self.path, dict(self.headers), json.loads(body)))
        reply = server.script[min(len(server.requests), len(server.script)) - 1]
        if callable(reply):
            reply(self)
        else:
            self.send(*reply)

    def send(self, status, body, length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def running():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


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


def hang(handler):
    handler.server.over.wait(30)


def trickle(handler):
    handler.send(200, b"", length=10**6)
    while not handler.server.over.wait(0.05):
        try:
            handler.wfile.write(b" ")
        except OSError:
            return


def drop(handler):
    handler.close_connection = True
    handler.connection.close()


def cut(handler):
    handler.send(200, answer("half")[:20], length=500)
    handler.close_connection = True


def redirect(handler):
    handler.send(302, b"", Location="http://127.0.0.1:9/steal")


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


def test_an_endpoint_as_designer(server):
    server.script = [(200, answer("Like so:\n" + random_config(6).to_yaml()))]
    proposal = designers.propose(designers.endpoint_model(server.endpoint()), "the context", rounds())
    assert proposal.config == random_config(6)
    assert server.requests[0][2]["messages"] == [{"role": "user", "content": "the context"}]
