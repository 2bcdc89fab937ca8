"""Client processes, started and asked: see `agent.py` for what they do."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from penstock.cli.bench.peers.tasks import Dialect, Outcome, Task
from penstock.cli.bench.readable import is_readable_within

_COMMAND: Final = (sys.executable, "-m", "penstock.cli.bench.peers.agent")
_READY_WITHIN_S: Final = 120.0
_DONE_WITHIN_S: Final = 300.0


class ClientFailed(Exception):
    """A client could not do what it was asked; the message says why."""


class Agent:
    """A client in a process of its own, which does one task after the other."""

    def __init__(self) -> None:
        self._buffer = b""
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )

    def assign(self, task: Task) -> None:
        """It connects, and waits to be told to begin."""
        self._tell(msgspec.json.encode(task))

    def await_ready(self) -> None:
        line = self._line(_READY_WITHIN_S)
        if line != b"ready":
            raise ClientFailed(_failure(line))

    def begin(self) -> None:
        self._tell(b"go")

    def announce_kill(self) -> None:
        """To a client whose task is an outage, when the node that it publishes to has been killed."""
        self._tell(b"killed")

    def outcome(self) -> Outcome:
        line = self._line(_DONE_WITHIN_S)
        outcome = msgspec.json.decode(line, type=Outcome) if line else None
        if outcome is None or outcome.failure:
            raise ClientFailed(_failure(line))
        return outcome

    def end(self) -> None:
        """Whatever state it is in, it is gone afterwards."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: the next line that is read will be missing
            self._process.stdin.write(line + b"\n")

    def _line(self, timeout_s: float) -> bytes:
        """The next line; empty when it ended. Outcomes are long: they come in many pieces."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            if not is_readable_within(fd, deadline - time.monotonic()):
                raise ClientFailed(f"it did not answer within {timeout_s:g} s")
            piece = os.read(fd, 1 << 20)
            if not piece:
                return b""
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line


def _failure(line: bytes) -> str:
    if not line:
        return "the client ended without a word"
    return msgspec.json.decode(line, type=Outcome).failure


@contextlib.contextmanager
def agents(tasks: Sequence[Task]) -> Iterator[list[Agent]]:
    """A client for each task, all connected; gone afterwards."""
    started: list[Agent] = []
    try:
        for task in tasks:
            agent = Agent()
            started.append(agent)
            agent.assign(task)
        for agent in started:
            agent.await_ready()
        yield started
    finally:
        for agent in started:
            agent.end()


def ask(task: Task) -> Outcome:
    """A new client does one thing."""
    with agents([task]) as (agent,):
        agent.begin()
        return agent.outcome()


class Operators:
    """Clients that make and remove streams, where nothing is measured: one for each protocol, kept for the next."""

    def __init__(self) -> None:
        self._agents: dict[Dialect, Agent] = {}

    def ask(self, task: Task) -> Outcome:
        if task.where.dialect not in self._agents:
            self._agents[task.where.dialect] = Agent()
        agent = self._agents[task.where.dialect]
        try:
            agent.assign(task)
            agent.await_ready()
            agent.begin()
            return agent.outcome()
        except ClientFailed:
            self._agents.pop(task.where.dialect).end()  # whatever it was, the next one begins anew
            raise

    def close(self) -> None:
        for agent in self._agents.values():
            agent.end()
        self._agents.clear()
