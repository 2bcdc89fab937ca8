"""Follower reads: a consumer reads from the replica in its own rack, not from a leader far away (KIP-392).

This one starts three brokers of its own, each in another rack.
"""

import contextlib
import json
import pathlib
import signal
import subprocess
import tempfile
import time

from confluent_kafka.admin import NewTopic

from examples.basics.common import admin, consumer, send, take, text
from examples.run import PENSTOCK, READY, say

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
TOPIC = "news"


def start(number: int, work: pathlib.Path, join: str | None) -> "tuple[subprocess.Popen[str], str]":
    command = [
        *PENSTOCK,
        "up",
        *("--node-id", str(number), "--listen", "127.0.0.1:0", "--data", str(work / f"data-{number}")),
        *("--set", f"broker.rack=rack-{number}", "--set", f"replica.selector.class={SELECTOR}"),
        *("--set", "penstock.admin.listener=", "--log-level", "error"),
        *(() if join is None else ("--join", join)),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = READY.search(process.stdout.readline())
    if found is None:
        raise SystemExit(f"broker {number} did not start")
    return process, found[1]


def who_served(statistics: str) -> set[int]:
    """The brokers that answered fetch requests of a consumer, by its own statistics."""
    brokers = json.loads(statistics)["brokers"].values()
    return {each["nodeid"] for each in brokers if each["nodeid"] > 0 and each["req"].get("Fetch", 0) > 2}


def main() -> None:
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as ends:
        say("three brokers in three racks")
        server: str | None = None
        for number in (1, 2, 3):
            process, address = start(number, pathlib.Path(name), server)
            ends.callback(process.wait)
            ends.callback(process.send_signal, signal.SIGTERM)
            server = server or address
        assert server is not None
        client = admin(server)
        made = client.create_topics([NewTopic(TOPIC, 1, replica_assignment=[[1, 2, 3]])])
        made[TOPIC].result(30)
        send(server, TOPIC, [f"line {number}" for number in range(100)], acks="all")
        seen: list[str] = []
        reading = consumer(
            server, "readers", client_rack="rack-3", statistics_interval_ms=500, stats_cb=seen.append
        )
        reading.subscribe([TOPIC])
        last = [text(message) for message in take(reading, 100)][-1]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (seen and 3 in who_served(seen[-1])):
            send(server, TOPIC, ["more"])
            reading.poll(0.2)
        reading.close()
        print(f"read up to {last!r}; broker 1 leads, and broker 3 served it: {3 in who_served(seen[-1])}")


if __name__ == "__main__":
    main()
