"""Delivers messages in a thread of its own, in order, so that the sender never waits for a receiver.

The queue is bounded: while a receiver is down the oldest messages are dropped. Each message is tried a few times.
`close` waits for what is left, within a timeout; then the thread is left behind.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

_MESSAGES_MAX = 1_000
_ATTEMPTS = 3
_PAUSE_S = 1.0


class Message(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    body: dict[str, Any]

    @property
    def json(self) -> bytes:
        return msgspec.json.encode(self.body)


Deliver = Callable[[Message], None]


class Outbox:
    """`put` returns at once; `on_error` is called for the first of several failures. `what` names the receiver."""

    def __init__(self, what: str, deliver: Deliver, on_error: Callable[[str], None]) -> None:
        self._what = what
        self._deliver = deliver
        self._on_error = on_error
        self._is_failing = False
        self._waiting: deque[Message] = deque(maxlen=_MESSAGES_MAX)
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pipeline-outbox", daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        self._waiting.append(message)
        self._wake.set()

    def begin_close(self) -> None:
        """Ask the thread to deliver what is left and to end."""
        self._closing.set()
        self._wake.set()

    def close(self, timeout_s: float) -> None:
        self.begin_close()
        self._thread.join(timeout_s)

    def _work(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait()
            self._wake.clear()
            is_last = self._closing.is_set()
            while self._waiting:
                self._try_deliver(self._waiting.popleft())

    def _try_deliver(self, message: Message) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._deliver(message)
            except Exception as error:  # noqa: BLE001 - a receiver must not end a run
                if attempt < _ATTEMPTS and not self._closing.wait(_PAUSE_S):
                    continue
                if not self._is_failing:
                    self._on_error(f"cannot send to {self._what}, the run continues: {error}")
                self._is_failing = True
                return
            self._is_failing = False
            return
