"""Stop at the end of a step instead of in the middle of one."""

import os
import signal
import threading
from types import FrameType, TracebackType


class StopRequest:
    """While entered, SIGTERM and Ctrl-C set `requested`, which the training loop polls when a step is done.

    with StopRequest() as stop:
        for step in steps:
            train(step)
            if stop.requested:
                save(step)
                break

    A second Ctrl-C raises KeyboardInterrupt at once. The former handlers come back on leaving. Enter it in
    the main thread, the only one Python lets handle signals; elsewhere it raises ValueError.
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def requested(self) -> bool:
        return self._event.is_set()

    def __enter__(self) -> "StopRequest":
        self._former = {sig: signal.signal(sig, self._handle) for sig in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for sig, handler in self._former.items():
            signal.signal(sig, signal.SIG_DFL if handler is None else handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self.requested:
            raise KeyboardInterrupt
        if not self.requested:  # os.write, because a handler may interrupt a print that holds the stream
            os.write(2, b"\nStopping after this step, with a checkpoint. Ctrl-C again stops at once.\n")
        self._event.set()
