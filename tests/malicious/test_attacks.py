"""A broker under attack: well-behaved clients are served, memory stays bounded, the process survives.

The throughput of the good client is printed, not asserted: attacker, broker and client share this machine. It is
compared with the same client beside a stand-in that uses as much CPU time as the attacker, so that the difference is
the effect on the broker. Runs alternate, and the median counts. The broker's CPU time with and without the attack is
printed too.
"""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.malicious.attackers import ATTACKS, TOPIC
from tests.malicious.good_client import GOOD, GoodClient, fill
from tests.support.broker import BrokerProcess

ROOT = Path(__file__).parents[2]
MEMORY_BYTES = 256 * 1024 * 1024
"""What the broker is allowed for the requests, and the same for the answers, of all clients together."""
RESIDENT_BYTES_MAX = 2 * MEMORY_BYTES + 300 * 1024 * 1024
PREY_BYTES = 60 * 1024 * 1024
TURN_S = 6.0
TURNS = 5


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"queued.max.request.bytes": str(MEMORY_BYTES)}
    running = BrokerProcess(tmp_path_factory.mktemp("malicious"), settings=settings)
    running.start()
    client = AdminClient({"bootstrap.servers": running.bootstrap})
    for made in client.create_topics([NewTopic(TOPIC, 1), NewTopic(GOOD, 1)]).values():
        made.result(30)
    fill(running.bootstrap, TOPIC, PREY_BYTES)
    yield running
    running.stop()


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The good client's work of one kind."""

    a_second: float
    busy: float
    """The share of a processor that the broker takes meanwhile."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The good client's work beside another process, and the CPU time of that process."""

    writing: Work
    reading: Work
    share: float
    """Of a processor, taken by the process beside it."""
    memory_bytes: int


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The share of a kind of work that is left under attack, as the median of all turns."""

    throughput: float
    a_second: float
    busy: float
    busy_in_peace: float

    def __str__(self) -> str:
        return (
            f"{self.throughput:.2f} ({self.a_second:,.0f}/s, the broker is busy {self.busy:.0%}, in peace "
            f"{self.busy_in_peace:.0%})"
        )


def kept(pairs: Sequence[tuple[Work, Work]]) -> Kept:
    return Kept(
        throughput=statistics.median(attacked.a_second / peace.a_second for attacked, peace in pairs),
        a_second=statistics.median(attacked.a_second for attacked, _ in pairs),
        busy=statistics.median(attacked.busy for attacked, _ in pairs),
        busy_in_peace=statistics.median(peace.busy for _, peace in pairs),
    )


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Of all its threads; those that have ended are not counted."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


@contextlib.contextmanager
def most_memory(pid: int) -> Iterator[list[int]]:
    """The list holds the highest memory of a process so far."""
    most = [resident_bytes(pid)]
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            most[0] = max(most[0], resident_bytes(pid))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield most
    finally:
        is_over.set()
        watching.join()


def beside(broker: BrokerProcess, client: GoodClient, seconds: float, *attack: str) -> Turn:
    """Run the good client beside an attack, half of the time writing and half of it reading."""
    host, _, port = broker.bootstrap.rpartition(":")
    name, *share = attack
    command = [sys.executable, "-m", "tests.malicious.attackers", host, port, name, str(seconds * 10), *share]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        began, cpu_before = time.monotonic(), cpu_seconds(other.pid)
        with most_memory(broker.pid) as memory:
            writing = timed(broker, lambda: client.write(seconds / 2))
            client.begin_to_read()
            reading = timed(broker, lambda: client.read(seconds / 2))
        took = cpu_seconds(other.pid) - cpu_before
        share_taken = took / (time.monotonic() - began)
        other.send_signal(signal.SIGKILL)
    return Turn(writing=writing, reading=reading, share=share_taken, memory_bytes=memory[0])


def timed(broker: BrokerProcess, work: Callable[[], int]) -> Work:
    began, cpu_before = time.monotonic(), cpu_seconds(broker.pid)
    done = work()
    took = time.monotonic() - began
    return Work(a_second=done / took, busy=(cpu_seconds(broker.pid) - cpu_before) / took)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_well_behaved_client_is_served_under_attack(broker: BrokerProcess, name: str) -> None:
    with GoodClient(broker.bootstrap) as client:
        attacked = beside(broker, client, 0.5, name)
        client.check_all_is_there()
    print(
        f"\n{name}: a good client writes {attacked.writing.a_second:,.0f} and reads "
        f"{attacked.reading.a_second:,.0f} messages/s; the broker has at most {attacked.memory_bytes / 1e6:.0f} MB"
    )
    assert attacked.memory_bytes < RESIDENT_BYTES_MAX
    assert broker.is_running


@pytest.mark.soak
@pytest.mark.parametrize("name", ATTACKS)
def test_a_well_behaved_client_keeps_most_of_its_throughput_under_attack(
    broker: BrokerProcess, name: str
) -> None:
    with GoodClient(broker.bootstrap) as client:
        beside(broker, client, TURN_S, "stand_in", "0")  # all are warm after it
        pairs = []
        for _ in range(TURNS):
            attacked = beside(broker, client, TURN_S, name)
            pairs.append((attacked, beside(broker, client, TURN_S, "stand_in", str(attacked.share))))
        client.check_all_is_there()
    memory = max(attacked.memory_bytes for attacked, _ in pairs)
    print(
        f"\n{name}: a good client keeps {kept([(a.writing, p.writing) for a, p in pairs])} of its writing and "
        f"{kept([(a.reading, p.reading) for a, p in pairs])} of its reading; the broker has at most "
        f"{memory / 1e6:.0f} MB; the attacker takes {statistics.median(a.share for a, _ in pairs):.2f} processors"
    )
    assert memory < RESIDENT_BYTES_MAX
    assert broker.is_running
