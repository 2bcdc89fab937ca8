"""A cluster in memory for the planners: partitions with an earliest and a latest offset."""

from collections.abc import Iterable, Mapping

from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient, OffsetAt
from penstock.client.metadata import Partition, Topic, TopicPartition
from penstock.client.settings import ClientSettings


class ClusterModel(BlockingClient):
    """`logs` maps partitions to (earliest, latest); every record's timestamp is ten times its offset."""

    def __init__(
        self, logs: Mapping[TopicPartition, tuple[int, int]], isolation_level: str = "read_uncommitted"
    ) -> None:
        properties = {"bootstrap.servers": "127.0.0.1:9092", "isolation.level": isolation_level}
        self.settings = ClientSettings.from_properties(properties)
        self.logs = dict(logs)
        self.topic_ids: dict[str, bytes] = {}  # a broker of Kafka before 2.8 has none
        self.questions = 0
        self.reads_committed_only: list[bool] = []

    def topics(self, names: Iterable[str] | None = None) -> Mapping[str, Topic]:
        self.questions += 1
        known = {tp.topic for tp in self.logs}
        return {
            name: Topic(
                name=name,
                topic_id=self.topic_ids.get(name, bytes(16)),
                is_internal=name.startswith("__"),
                partitions={
                    tp.partition: Partition(index=tp.partition) for tp in self.logs if tp.topic == name
                },
            )
            for name in (known if names is None else known & set(names))
        }

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, reads_committed_only: bool = False
    ) -> dict[TopicPartition, OffsetAt]:
        self.questions += 1
        self.reads_committed_only.append(reads_committed_only)
        return {tp: OffsetAt(offset=self._at(tp, time), timestamp=0) for tp, time in wanted.items()}

    def _at(self, tp: TopicPartition, timestamp: int) -> int:
        earliest, latest = self.logs[tp]
        if timestamp == EARLIEST:
            return earliest
        if timestamp == LATEST:
            return latest
        offset = max(-(-timestamp // 10), earliest)
        return offset if offset < latest else -1
