"""A local chat endpoint that answers as it is told to, faults included."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from train.endpoint import Endpoint


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


@contextmanager
def serve() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


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
