"""Eviction: a member that hangs sends no heartbeats, and its partitions go to one that lives.

The member that hangs is a process of its own, stopped in its tracks (SIGSTOP) as if the machine had frozen.
"""

import signal
import subprocess
import sys
import time

from examples.basics.common import bootstrap_server, consumer, new_topic

SETTINGS: dict[str, object] = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 500}


def hang(server: str, topic: str) -> None:
    """Be a member until somebody stops this process."""
    reading = consumer(server, topic, **SETTINGS)
    reading.subscribe([topic])
    while True:
        reading.poll(0.1)
        if reading.assignment():
            print("joined", flush=True)


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "work", partitions=2)
    command = [
        sys.executable,
        "-c",
        f"from examples.basics.eviction import hang; hang({server!r}, {topic!r})",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as frozen:
        assert frozen.stdout is not None
        frozen.stdout.readline()
        print("a member has joined; it freezes now")
        frozen.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        reading = consumer(server, topic, **SETTINGS)
        reading.subscribe([topic])
        while len(reading.assignment()) < 2:
            reading.poll(0.1)
            if time.monotonic() - began > 60:
                frozen.kill()
                raise SystemExit("the frozen member still has its partitions after a minute")
        print("it was evicted: the other member has both partitions")
        reading.close()
        frozen.kill()


if __name__ == "__main__":
    main()
