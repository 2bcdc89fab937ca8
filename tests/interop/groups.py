"""Group members as processes of their own, and what a test may ask of several of them together."""

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from tools.setup_interop import NODE

PATIENCE_S = 40.0
_JS = Path(__file__).parent / "js"
KIP_848 = "confluent-kafka (KIP-848)"
SHARE = "confluent-kafka (share)"
COMMANDS: dict[str, list[str]] = {
    "confluent-kafka": [sys.executable, "-m", "tests.interop.members.confluent"],
    KIP_848: [sys.executable, "-m", "tests.interop.members.confluent", "consumer"],
    SHARE: [sys.executable, "-m", "tests.interop.members.share"],
    "kafka-python": [sys.executable, "-m", "tests.interop.members.kafka_python"],
    "aiokafka": [sys.executable, "-m", "tests.interop.members.aio_kafka"],
    "kafkajs": [str(NODE), str(_JS / "kafkajs-member.js")],
    "platformatic": [str(NODE), str(_JS / "platformatic-member.js")],
}
Processed = tuple[int, int, str]


class Member:
    """One member; its events are read as they come."""

    def __init__(self, client: str, **arguments: Any) -> None:
        self.client = client
        self.partitions: list[int] = []
        self.history: list[list[int]] = []
        self.processed: list[Processed] = []
        self.held: list[Processed] = []  # by members of share groups, before they are processed
        self.refused: list[str] = []
        self.errors: list[str] = []
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [*COMMANDS[client], json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
        threading.Thread(target=self._read_errors, args=(self._process.stderr,), daemon=True).start()

    def __repr__(self) -> str:
        return (
            f"{self.client}(partitions={self.partitions}, processed={len(self.processed)}, "
            f"refused={self.refused[-3:]}, errors={self.errors[-5:]})"
        )

    def _read(self, stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                self._events.put(json.loads(line))

    def _read_errors(self, stderr: IO[str]) -> None:
        with stderr:
            for line in stderr:
                self.errors.append(line.rstrip())

    def take_in(self) -> None:
        """Take in what the member has reported."""
        while True:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                return
            if event["event"] == "assigned":
                self.partitions = event["partitions"]
                self.history.append(self.partitions)
            elif event["event"] == "processed":
                self.processed += [(p, int(o), v) for p, o, v in event["records"]]
            elif event["event"] == "held":
                self.held += [(p, int(o), v) for p, o, v in event["records"]]
            else:
                self.refused.append(event["error"])

    # -- life -----------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Leave the group in an orderly way."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self.partitions = []

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self.partitions = []


class Members:
    """All members of a test, ended with it."""

    def __init__(self) -> None:
        self._members: list[Member] = []

    def start(self, client: str, **arguments: Any) -> Member:
        member = Member(client, **arguments)
        self._members.append(member)
        return member

    def end(self) -> None:
        for member in self._members:
            member.kill()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for member in self._members:
                member.take_in()
            if condition():
                return
            assert time.monotonic() < deadline, f"not in time: {what}; {self._members}"
            time.sleep(0.02)

    def until_shared(self, members: Iterable[Member], partition_count: int) -> None:
        """Wait until these have all partitions between them, each something."""
        wanted = list(members)

        def shared() -> bool:
            held = sorted(p for m in wanted for p in m.partitions)
            return held == list(range(partition_count)) and all(m.partitions for m in wanted)

        self.until(shared, f"{partition_count} partitions shared by {len(wanted)}")

    def until_processed(self, values: Iterable[str]) -> None:
        """Wait until all of these were processed by someone, and see that nothing was twice."""
        wanted = set(values)
        self.until(lambda: wanted <= set(self.values()), f"{len(wanted)} records processed")
        twice = [value for value, count in Counter(self.values()).items() if count > 1]
        assert not twice, f"processed twice: {sorted(twice)[:10]}"

    def values(self) -> list[str]:
        return [value for member in self._members for _, _, value in member.processed]
