"""Clients in processes of their own: no client shares an interpreter with another client or with the benchmark.

A process receives an operation, connects, sends `READY`, waits for a word, completes the operation, and sends its
`Outcome`; then the next one, until the pipe is closed. An operation is a generator: it yields when it is connected, and
returns the number of messages or the seconds that each took.
"""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, Final, NoReturn

from penstock_bench.peers.clients import Client, client_of, due_s
from penstock_bench.peers.outage import ANSWER_WITHIN_S, longest_outage
from penstock_bench.peers.tasks import Outcome, Where
from penstock_bench.timing import repeat_for

WARM_UP_MESSAGES: Final = 20  # sent by a lone publisher before the clock starts
_READY: Final = "ready"
_READY_WITHIN_S: Final = 120.0
_DONE_WITHIN_S: Final = 300.0
_RETRY_S: Final = 0.005
_TRY_S: Final = 5.0
_REASON_CHARACTERS_MAX: Final = 300
_SPAWN: Final = multiprocessing.get_context("spawn")


Steps = Generator[None, "Connection[Any, Any]", int | list[float]]
Task = tuple[Any, ...]
"""An operation, the place it works on, and further arguments."""


class ClientFailed(Exception):
    """A client failed at its task; the message says why."""


# -- operations


def create(client: Client) -> Steps:
    yield
    client.create()
    return 0


def remove(client: Client) -> Steps:
    yield
    client.remove()
    return 0


def first(client: Client, within_s: float) -> Steps:
    """Retry until one message is acknowledged: the server may still be starting."""
    yield
    deadline = time.perf_counter() + within_s
    signal.signal(signal.SIGALRM, _raise_timeout)
    while True:
        # A client may wait forever for a server that is not ready.
        signal.setitimer(signal.ITIMER_REAL, _TRY_S)
        try:
            client_of(client.where).first()
        except Exception:
            if time.perf_counter() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _raise_timeout(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError("not acknowledged in time")


def lone(client: Client, duration_s: float, message_bytes: int = 100) -> Steps:
    """Publish one message at a time."""
    payload = b"x" * message_bytes
    client.open_publisher()
    for _ in range(WARM_UP_MESSAGES):
        client.publish_one(payload)
    yield
    return repeat_for(duration_s, lambda: client.publish_one(payload))


def bulk(client: Client, message_bytes: int, duration_s: float, count: int = 0) -> Steps:
    """Publish as fast as the client can, up to `count` messages (0: any) within `duration_s`."""
    client.open_publisher()
    yield
    return client.publish_many(b"x" * message_bytes, count, duration_s)


def paced(client: Client, message_bytes: int, count: int, rate_per_s: int) -> Steps:
    client.open_publisher()
    yield
    client.publish_paced(message_bytes, count, 1 / rate_per_s)
    return count


def read(client: Client, count: int, group: str = "") -> Steps:
    client.open_reader(group)
    yield
    return sum(len(values) for values in client.read(count))


def timed_read(client: Client, count: int) -> Steps:
    """Return the latency of each message of `paced`."""
    client.open_reader("")
    yield
    latencies: list[float] = []
    for values in client.read(count):
        now = time.perf_counter()
        latencies += [now - due_s(value) for value in values]
    return latencies


def transform(client: Client, output: str, messages: int, duration_s: float) -> Steps:
    client.open_transformer(f"{output}-group")
    yield
    return client.transform(output, messages, duration_s)


def outage(client: Client, within_s: float) -> Steps:
    """Return the longest time without an acknowledgement, until some time after `Agent.announce_kill`."""
    client.open_publisher(ANSWER_WITHIN_S)
    pipe = yield
    return [longest_outage(client, b"x" * 100, within_s, lambda: pipe.poll() and bool(pipe.recv()))]


# -- the processes


class Agent:
    """A client in a process of its own, which runs one task after the other."""

    def __init__(self) -> None:
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def assign(self, operation: Callable[..., Steps], where: Where, *arguments: Any) -> None:
        """Send an operation. The client connects, and waits for `begin`."""
        self._send((operation, where, arguments))

    def await_ready(self) -> None:
        self._receive(_READY_WITHIN_S)

    def begin(self) -> None:
        self._send("go")

    def announce_kill(self) -> None:
        """Notify a client whose task is an outage that the node it publishes to was killed."""
        self._send("killed")

    def outcome(self) -> Outcome:
        outcome: Outcome = self._receive(_DONE_WITHIN_S)
        return outcome

    def end(self) -> None:
        """Kill the process in any state."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _send(self, message: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended: receiving its answer fails
            self._pipe.send(message)

    def _receive(self, timeout_s: float) -> Any:
        if not self._pipe.poll(timeout_s):
            raise ClientFailed(f"the client did not answer within {timeout_s:g} s")
        try:
            response = self._pipe.recv()
        except (EOFError, ConnectionError):
            raise ClientFailed("the client ended without an answer") from None
        if response != _READY and response.failure:
            raise ClientFailed(response.failure)
        return response


@contextlib.contextmanager
def agents(tasks: Sequence[Task]) -> Iterator[list[Agent]]:
    """Start a client for each task, wait until all are connected, and end them afterwards."""
    started: list[Agent] = []
    try:
        for task in tasks:
            started.append(Agent())
            started[-1].assign(*task)
        for agent in started:
            agent.await_ready()
        yield started
    finally:
        for agent in started:
            agent.end()


def run(*task: Any) -> Outcome:
    """Run one operation in a new client."""
    with agents([task]) as (agent,):
        agent.begin()
        return agent.outcome()


class AdminClient:
    """Creates and deletes streams outside of measurements."""

    def __init__(self) -> None:
        self._agent: Agent | None = None

    def run(self, operation: Callable[..., Steps], where: Where) -> None:
        self._agent = self._agent or Agent()
        try:
            self._agent.assign(operation, where)
            self._agent.await_ready()
            self._agent.begin()
            self._agent.outcome()
        except ClientFailed:
            self.close()  # the next task gets a new client
            raise

    def close(self) -> None:
        if self._agent is not None:
            self._agent.end()
            self._agent = None


def _serve(pipe: "Connection[Any, Any]") -> None:
    for descriptor in (1, 2):  # libraries print to them
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    with contextlib.suppress(EOFError):
        while True:
            operation, where, arguments = pipe.recv()
            try:
                client = client_of(where)
                steps = operation(client, *arguments)
                next(steps)
                pipe.send(_READY)
                pipe.recv()
                outcome = _complete(steps, pipe)
                if operation is not first:
                    client.close()
            except EOFError:
                raise
            except Exception as error:  # noqa: BLE001 - the benchmark reports every failure
                reason = " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARACTERS_MAX]
                outcome = Outcome(failure=reason)
            pipe.send(outcome)


def _complete(steps: Steps, pipe: "Connection[Any, Any]") -> Outcome:
    began = time.perf_counter()
    try:
        steps.send(pipe)
    except StopIteration as done:
        ended = time.perf_counter()
        latencies = done.value if isinstance(done.value, list) else []
        count = done.value if isinstance(done.value, int) else len(latencies)
        return Outcome(count=count, took_s=ended - began, ended_at_s=ended, latencies_s=latencies)
    raise AssertionError("an operation yields once")
