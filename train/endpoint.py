"""A chat with a model behind an OpenAI-compatible endpoint, over the standard library's HTTP."""

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 16 * 2**20  # of an answer
PASSING = (408, 409, 429, 500, 502, 503, 504)  # statuses that may be over when asked again


class EndpointError(ValueError):
    """The endpoint gave no text: one line with its address, what happened and what may help."""


@dataclass(frozen=True)
class Endpoint:
    """A model behind an OpenAI-compatible chat endpoint."""

    url: str = "http://localhost:8000/v1"
    """Address up to and with the version; /chat/completions is added."""
    model: str = ""
    """The model's name at the endpoint."""
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable that holds the key; without it none is sent. The key itself is never kept."""
    temperature: float = 0.7
    """Of sampling."""
    max_tokens: int = 4096
    """Most tokens of an answer."""
    timeout: float = 300.0
    """Seconds that one attempt may take."""
    attempts: int = 4
    """Attempts before giving up, when the endpoint is slow, out of reach or answers 429 or 5xx."""
    backoff: float = 2.0
    """Seconds before the second attempt; doubled before each further one."""

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"url: {self.url!r} must start with http:// or https://")
        if self.timeout <= 0 or self.attempts < 1 or self.backoff < 0:
            numbers = f"timeout {self.timeout}, attempts {self.attempts}, backoff {self.backoff}"
            raise ValueError(f"{numbers}: need timeout > 0, attempts >= 1 and backoff >= 0")


def chat(
    messages: Sequence[Mapping[str, str]], endpoint: Endpoint, schema: Mapping[str, Any] | None = None
) -> str:
    """The model's answer to `messages`, each {"role": "system" | "user" | "assistant", "content": text}. With
    a JSON schema the endpoint is asked to keep to it; not all of them do.

    Raises EndpointError when there is none after all attempts, or at once when asking again cannot help.
    """
    for attempt in range(endpoint.attempts):
        if attempt:
            time.sleep(endpoint.backoff * 2 ** (attempt - 1))
        try:
            return _content(_post(messages, endpoint, schema), endpoint)
        except urllib.error.HTTPError as error:
            problem = f"HTTP {error.code} {error.reason}{_told(error)}"
            if error.code not in PASSING:
                raise EndpointError(f"{endpoint.url}: {problem}; {_remedy(error.code, endpoint)}") from None
        except TimeoutError:
            problem = f"no whole answer within {endpoint.timeout:g} s"
        except (http.client.HTTPException, OSError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            problem = f"no connection ({reason or type(reason).__name__})"
            if isinstance(reason, TimeoutError):
                problem = f"no whole answer within {endpoint.timeout:g} s"
    tries = "1 attempt" if endpoint.attempts == 1 else f"{endpoint.attempts} attempts"
    raise EndpointError(f"{endpoint.url}: {problem}, after {tries}; is it up, and is url right?")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another address."""

    def redirect_request(self, *args: Any, **named: Any) -> None:
        return None


def _post(
    messages: Sequence[Mapping[str, str]], endpoint: Endpoint, schema: Mapping[str, Any] | None
) -> bytes:
    """The body of the endpoint's answer. A server that only trickles is timed out too."""
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [dict(message) for message in messages],
        "temperature": endpoint.temperature,
        "max_tokens": endpoint.max_tokens,
    }
    if schema is not None:
        form = {"name": "answer", "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get(endpoint.key_variable):
        headers["Authorization"] = f"Bearer {key}"
    address = endpoint.url.rstrip("/") + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers, method="POST")
    deadline = time.monotonic() + endpoint.timeout
    received = bytearray()
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=endpoint.timeout) as response:
        while chunk := response.read1(2**16):
            received += chunk
            if time.monotonic() > deadline:
                raise TimeoutError
            if len(received) > MOST_BYTES:
                raise EndpointError(f"{endpoint.url}: the answer has more than {MOST_BYTES} bytes")
        if response.length:  # bytes that were announced and did not come
            raise http.client.IncompleteRead(bytes(received), response.length)
    return bytes(received)


def _content(body: bytes, endpoint: Endpoint) -> str:
    """The text of the first choice."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise EndpointError(f"{endpoint.url}: the answer is not JSON: {body[:80]!r}; is url right?") from None
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        content = None
    if not isinstance(content, str):
        raise EndpointError(
            f"{endpoint.url}: the answer has no text in choices[0].message.content: {body[:80]!r}"
        )
    return content


def _told(error: urllib.error.HTTPError) -> str:
    """What the endpoint says about its refusal, on one line."""
    try:
        text = " ".join(error.read(400).decode("utf-8", "replace").split())
    except (http.client.HTTPException, OSError):
        text = ""
    return f": {text}" if text else ""


def _remedy(status: int, endpoint: Endpoint) -> str:
    if status in (401, 403):
        return f"check the key in ${endpoint.key_variable}"
    return f"check url and model ({endpoint.model!r})"
