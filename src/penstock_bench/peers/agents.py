"""Starts client processes and sends them tasks; `agent.py` is the code of such a process."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from penstock_bench.peers.tasks import Dialect, Outcome, Task, Where
from penstock_bench.readable import is_readable_within

_COMMAND: Final = (sys.executable, "-m", "penstock_bench.peers.agent")
_READY_WITHIN_S: Final = 120.0
_DONE_WITHIN_S: Final = 300.0


class ClientFailed(Exception):
    """A client failed at its task; the message says why."""


class Agent:
    """A client in a process of its own, which runs one task after the other."""

    def __init__(self) -> None:
        self._buffer = b""
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )

    def assign(self, task: Task) -> None:
        """Send a task. The client connects, and waits for `begin`."""
        self._send(msgspec.json.encode(task))

    def await_ready(self) -> None:
        line = self._line(_READY_WITHIN_S)
        if line != b"ready":
            raise ClientFailed(_failure(line))

    def begin(self) -> None:
        self._send(b"go")

    def announce_kill(self) -> None:
        """Notify a client whose task is an outage that the node it publishes to was killed."""
        self._send(b"killed")

    def outcome(self) -> Outcome:
        line = self._line(_DONE_WITHIN_S)
        outcome = msgspec.json.decode(line, type=Outcome) if line else None
        if outcome is None or outcome.failure:
            raise ClientFailed(_failure(line))
        return outcome

    def end(self) -> None:
        """Kill the process in any state."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: reading its next line fails
            self._process.stdin.write(line + b"\n")

    def _line(self, timeout_s: float) -> bytes:
        """Read the next line, empty when the process has ended. Long lines arrive in many pieces."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            if not is_readable_within(fd, deadline - time.monotonic()):
                raise ClientFailed(f"the client did not answer within {timeout_s:g} s")
            piece = os.read(fd, 1 << 20)
            if not piece:
                return b""
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line


def _failure(line: bytes) -> str:
    if not line:
        return "the client ended without an answer"
    return msgspec.json.decode(line, type=Outcome).failure


@contextlib.contextmanager
def agents(tasks: Sequence[Task]) -> Iterator[list[Agent]]:
    """Start a client for each task, wait until all are connected, and end them afterwards."""
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


def run_task(task: Task) -> Outcome:
    """Run one task in a new client."""
    with agents([task]) as (agent,):
        agent.begin()
        return agent.outcome()


def publish_bulk(where: Where, message_bytes: int, duration_s: float, count: int = 0) -> Outcome:
    """Publish as fast as a new client can, up to `count` messages (0: any) within `duration_s`."""
    return run_task(
        Task(where=where, operation="bulk", message_bytes=message_bytes, count=count, duration_s=duration_s)
    )


def publish_lone(where: Where, duration_s: float, message_bytes: int = 100) -> Outcome:
    """Publish one message at a time with a new client."""
    return run_task(Task(where=where, operation="lone", message_bytes=message_bytes, duration_s=duration_s))


class AdminClients:
    """Clients that create and delete streams outside of measurements, one for each protocol."""

    def __init__(self) -> None:
        self._agents: dict[Dialect, Agent] = {}

    def run(self, task: Task) -> Outcome:
        if task.where.dialect not in self._agents:
            self._agents[task.where.dialect] = Agent()
        agent = self._agents[task.where.dialect]
        try:
            agent.assign(task)
            agent.await_ready()
            agent.begin()
            return agent.outcome()
        except ClientFailed:
            self._agents.pop(task.where.dialect).end()  # the next task gets a new client
            raise

    def close(self) -> None:
        for agent in self._agents.values():
            agent.end()
        self._agents.clear()
