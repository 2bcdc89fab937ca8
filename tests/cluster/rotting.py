"""A replica on a real log that loses bytes, for tests of finding and mending them."""

from collections.abc import Sequence
from pathlib import Path

from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.cluster.replica_deps import ReplicaDeps
from penstock.config.topic import TopicConfig
from penstock.observability.clock import ManualClock
from penstock.observability.observers import Observers
from penstock.observability.offload import InlineOffload
from penstock.storage.files import RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log_store import LogStore
from tests.storage.logs import batch_of

TOPIC_ID = b"t" * 16
NODE = 2
SIZE = len(batch_of("0"))
COUNT = 6


class Rotting:
    """A follower that holds `COUNT` records, a batch each, all of them committed."""

    def __init__(self, directory: Path, *, replicas: Sequence[int] = (1, NODE, 3)) -> None:
        self.clock = ManualClock()
        self.store = LogStore.open(
            str(directory),
            files=RealFileSystem(),
            node_id=NODE,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: b"d" * 16,
            clock=self.clock,
        )
        self.suspicions: Observers[Replica] = Observers()
        self.deps = ReplicaDeps(
            NODE,
            self.clock,
            Flusher(InlineOffload(), self.clock),
            on_suspicion=self.suspicions.notify,
        )
        self.replica = Replica(
            "t",
            TOPIC_ID,
            0,
            lambda: self.store.open_or_create("t", TOPIC_ID, 0, TopicConfig()),
            self.deps,
        )
        leader = replicas[0]
        state = Partition(
            replicas=tuple(replicas), isr=tuple(replicas), leader=leader, leader_epoch=0, partition_epoch=0
        )
        self.replica.follow(state)
        for number in range(COUNT):
            self.replica.log.append_replicated(bytes(batch_of(str(number), base_offset=number)), now_ms=0)
        self.deps.flusher.request(self.replica.log)
        self.replica.high_watermark = COUNT
        self.path = Path(self.replica.log.segments[0].log_path)
        self.sound = self.content()

    def content(self) -> bytes:
        return self.path.read_bytes()[: self.replica.log.size_bytes]

    def rot(self, offset: int) -> None:
        with self.path.open("r+b") as file:
            file.seek((offset + 1) * SIZE - 2)
            file.write(b"\xff")
