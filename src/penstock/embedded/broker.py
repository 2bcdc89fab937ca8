"""A broker inside a Python process: for tests, notebooks and programs that need no other.

    with Broker(topics={"orders": 3}) as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})

It listens on a free port of the loopback interface, and runs on a thread of its own.
"""

import os
from collections.abc import Mapping

from penstock.embedded.hosted import Hosted, Setting, Storage
from penstock.embedded.node import Node


class Broker(Hosted):
    """`topics` are made at the start, with so many partitions each. `config` has Kafka's names.

    `storage` is "memory", of which nothing outlives the process, or "temporary", a directory that is removed in the
    end; `directory` names one that stays. `port` is a free one unless it is given.
    """

    def __init__(
        self,
        *,
        topics: Mapping[str, int] | None = None,
        config: Mapping[str, Setting] | None = None,
        storage: Storage = "memory",
        directory: str | os.PathLike[str] | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(
            1, topics=topics or {}, config=config or {}, storage=storage, directory=directory, port=port
        )

    @property
    def node(self) -> Node:
        return self.nodes[1]

    def kill(self) -> None:
        """End it as a crash does; `restart` brings it back, on the same address, with what was acknowledged."""
        self.node.kill()

    def restart(self) -> None:
        """Start it again: after a `kill`, or after stopping it gracefully now."""
        self.node.stop()
        self.node.start()

    def slow(self, delay_ms: float) -> None:
        """Take every request so much later; 0 ends it."""
        self._links.slow_down(self.node.port, delay_ms)

    def fail_disk(self) -> None:
        """Let every write and sync fail until `heal`. Partitions that have failed come back with a `restart`."""
        self.node.place.fail()

    def heal(self) -> None:
        """End slowness, and the failing of the disk."""
        self._links.heal()
        self.node.place.mend()

    def _start_nodes(self) -> None:
        self.node.start()
