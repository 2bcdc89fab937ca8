"""The share coordinator of a broker: the shell that gives the pure `ShareStateShard` its log and its clock."""

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.coordination.placement import home_of
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.replicas import Replicas
from penstock.cluster.topic_names import SHARE_GROUP_STATE
from penstock.observability.clock import Clock
from penstock.share.state.keys import coordinator_key
from penstock.share.state.shard import ShareStateShard
from penstock.share.values import SharePartitionKey

Shard = CoordinatorPartition[ShareStateShard]


class ShareStateCoordinator:
    def __init__(self, controller: Controller, replicas: Replicas, clock: Clock) -> None:
        self._controller = controller
        self._clock = clock
        self.shards: CoordinatorPartitions[ShareStateShard] = CoordinatorPartitions(
            SHARE_GROUP_STATE,
            controller.config.node_id,
            controller.image,
            replicas,
            clock,
            make_state=ShareStateShard,
            on_loaded=lambda _: None,
            on_ended=lambda _: None,
        )

    # -- life -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load what is led here; requests are answered from now on."""
        self.shards.start()

    async def stop(self) -> None:
        await self.shards.stop()

    def apply(self, delta: MetadataDelta) -> None:
        """Follow one change of the metadata, after `Replicas` has."""
        self.shards.apply(delta)

    # -- where a share partition's state lives --------------------------------------------------------

    async def ready_home(self, key: SharePartitionKey) -> None:
        """See to it that the topic exists and that the key's partition, if it is led here, is loaded."""
        if self.shards.partition_count == 0:
            await self._controller.auto_create_topic(SHARE_GROUP_STATE)
        count = self.shards.partition_count
        if count:
            await self.shards.until_loaded(home_of(coordinator_key(key), count))

    def leader_of(self, key: SharePartitionKey) -> int:
        """The broker that keeps the state of a share partition, -1 when there is none now."""
        count = self.shards.partition_count
        if not count:
            return -1
        home = self._controller.image.partition(SHARE_GROUP_STATE, home_of(coordinator_key(key), count))
        return -1 if home is None else home.leader
