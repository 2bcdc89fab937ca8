"""A broker inside a Python process: for tests, notebooks and programs that need no other.

    with Broker(topics={"orders": 3}) as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})

It listens on a free port of the loopback interface, and runs in its own thread.
"""

import os
from collections.abc import Mapping

from penstock.embedded.base import EmbeddedBase, Setting, Storage
from penstock.embedded.node import Node


class Broker(EmbeddedBase):
    """`topics` maps the topics to create to their numbers of partitions. `config` has Kafka's names.

    `storage` is "memory", or "temporary" for a directory that is removed in the end; `directory` names one that stays.
    `port` is a free one unless it is given.
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
        """Crash it; `restart` starts it again, on the same address, with all acknowledged records."""
        self.node.kill()

    def restart(self) -> None:
        """Start it again after a `kill`, or after a graceful stop now."""
        self.node.stop()
        self.node.start()

    def slow(self, delay_ms: float) -> None:
        """Delay every request; 0 ends it."""
        self._links.slow_down(self.node.port, delay_ms)

    def fail_disk(self) -> None:
        """Make every write and sync fail until `heal`. Failed partitions recover with a `restart`."""
        self.node.storage.fail()

    def heal(self) -> None:
        """End delays and disk failures."""
        self._links.heal()
        self.node.storage.repair()

    def _start_nodes(self) -> None:
        self.node.start()
