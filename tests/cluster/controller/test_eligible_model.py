"""Random histories of a partition: a replica that can be elected cleanly has all committed records.

`min.insync.replicas` changes all the time. The controller decides at once; each broker knows the metadata up to a point
of its own, and has a file with a default of its own, as the controller has. Leaders commit by their own view. HISTORIES
in the environment asks for more of them.
"""

import itertools
import os
import random

import hypothesis.strategies as st
import msgspec
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.cluster.controller.alter_configs import (
    Operation,
    ResourceChanges,
    SettingChange,
    decide_incremental_alter_configs,
)
from penstock.cluster.controller.alter_partition import InSyncChange, decide_alter_partitions
from penstock.cluster.controller.broker_health import decide_fence, decide_unfence
from penstock.cluster.controller.create_topics import NewTopic, decide_create_topics
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.settings_review import decide_settings_review
from penstock.cluster.in_sync import Followers
from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION, NO_LEADER, Partition
from penstock.config.broker import BrokerConfig
from penstock.config.overrides import topic_config
from penstock.protocol.messages.metadata_records import MetadataRecord
from tests.cluster.support import commit, image_of

BROKERS = (1, 2, 3)
MIN_ISR = "min.insync.replicas"
LAG_MS = 100
BROKER = st.sampled_from(BROKERS)
FILE = st.sampled_from(["1", "2", "3"])
RESOURCES = [
    (ResourceType.TOPIC, "t"),
    (ResourceType.BROKER, ""),
    *((ResourceType.BROKER, str(each)) for each in BROKERS),
]


class Known(msgspec.Struct, frozen=True):
    """The metadata at one offset."""

    partition: Partition
    in_topic: dict[str, str]
    cluster_wide: dict[str, str]
    per_broker: dict[int, dict[str, str]]


class Node:
    """A broker: its log of (leader epoch, number), and its state after the metadata that it has read."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.in_file = "1"
        self.log: list[tuple[int, int]] = []
        self.offset_read = 0
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.min_isr = 1
        self.followers: Followers | None = None
        self.high_watermark = 0

    def learn(self, known: Known, now_ms: int) -> None:
        state = known.partition
        if state.leader != self.broker_id:
            self.followers = None
        elif self.followers is None or self.leader_epoch != state.leader_epoch:
            self.followers = Followers(
                self.broker_id,
                state,
                epoch_start=len(self.log),
                now_ms=now_ms,
                lag_ms_max=LAG_MS,
                may_join=lambda _broker_id, _epoch: True,
            )
        else:
            self.followers.follow(state, now_ms)
        self.leader, self.leader_epoch = state.leader, state.leader_epoch
        static = BrokerConfig({MIN_ISR: self.in_file})
        config = static.with_dynamic(
            cluster_wide=known.cluster_wide, per_broker=known.per_broker.get(self.broker_id, {})
        )
        self.min_isr = topic_config(config, known.in_topic).min_insync_replicas


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.image = image_of(brokers=3)
        self.image.features.finalized[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
        self.in_file = "1"
        wanted = NewTopic(name="t", assignments=[(0, BROKERS)])
        records = decide_create_topics(self.image, self.config, [wanted], random.Random(1)).records
        commit(self.image, records)
        self.now_ms = 0
        self.number = 0
        self.committed: list[tuple[int, int]] = []
        self.history = [self.known()]
        self.nodes = {each: Node(each) for each in BROKERS}
        self.is_altered = True

    @property
    def config(self) -> BrokerConfig:
        static = BrokerConfig({"node.id": "3", MIN_ISR: self.in_file})
        cluster_wide, own = self.image.cluster_settings(), self.image.broker_settings(3)
        return static.with_dynamic(cluster_wide=cluster_wide, per_broker=own)

    @property
    def partition(self) -> Partition:
        found = self.image.partition("t", 0)
        assert found is not None
        return found

    def known(self) -> Known:
        return Known(
            self.partition,
            dict(self.image.topic_settings("t")),
            dict(self.image.cluster_settings()),
            {each: dict(self.image.broker_settings(each)) for each in BROKERS},
        )

    def commit(self, records: list[MetadataRecord]) -> None:
        commit(self.image, records)
        self.history.append(self.known())

    # -- the controller -------------------------------------------------------------------------------

    @rule(broker_id=BROKER)
    def fence(self, broker_id: int) -> None:
        self.commit(decide_fence(self.image, self.config, broker_id).records)

    @rule(broker_id=BROKER)
    def unfence(self, broker_id: int) -> None:
        self.commit(decide_unfence(self.image, self.config, broker_id).records)

    @initialize(in_files=st.tuples(FILE, FILE, FILE, FILE), is_altered=st.booleans())
    def begin(self, in_files: tuple[str, str, str, str], is_altered: bool) -> None:
        """In half of the histories only the files set `min.insync.replicas`."""
        self.is_altered = is_altered
        self.in_file = in_files[0]
        for node, in_file in zip(self.nodes.values(), in_files[1:], strict=True):
            node.in_file = in_file
            node.learn(self.history[0], 0)

    @precondition(lambda self: self.is_altered)
    @rule(resource=st.sampled_from(RESOURCES), value=st.one_of(FILE, st.none()))
    def alter(self, resource: tuple[ResourceType, str], value: str | None) -> None:
        change = SettingChange(MIN_ISR, Operation.SET if value else Operation.DELETE, value)
        changes = ResourceChanges(resource_type=resource[0], resource_name=resource[1], changes=[change])
        self.commit(decide_incremental_alter_configs(self.image, self.config, [changes]).records)

    @rule(value=FILE)
    def another_controller(self, value: str) -> None:
        self.in_file = value
        self.commit(decide_settings_review(self.image, self.config).records)

    # -- the brokers ----------------------------------------------------------------------------------

    @rule(who=st.sets(BROKER), steps=st.integers(1, 9))
    def learn(self, who: set[int], steps: int) -> None:
        for node in (self.nodes[each] for each in who):
            for _ in range(min(steps, len(self.history) - 1 - node.offset_read)):
                node.offset_read += 1
                node.learn(self.history[node.offset_read], self.now_ms)

    @rule(broker_id=BROKER, fetching=st.sets(BROKER))
    def write(self, broker_id: int, fetching: set[int]) -> None:
        """A leader appends a record, some followers fetch it, and records on all in-sync replicas are committed."""
        node = self.nodes[broker_id]
        if node.followers is None:
            return
        self.number += 1
        node.log.append((node.leader_epoch, self.number))
        for each in (*fetching, *fetching):
            if self.nodes[each].leader == broker_id != each:
                self.fetch(self.nodes[each], node, node.followers)
        found = node.followers.high_watermark(len(node.log), self.now_ms, node.min_isr)
        if found is not None and found > node.high_watermark:
            node.high_watermark = found
            assert node.log[: len(self.committed)] == self.committed[:found]
            self.committed = max(self.committed, node.log[:found], key=len)

    def fetch(self, node: Node, leader: Node, followers: Followers) -> None:
        """A follower truncates records that its leader lacks, reports its end, and appends the next records."""
        if node.leader_epoch == leader.leader_epoch:
            pairs = zip(node.log, leader.log, strict=False)
            same = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
            del node.log[same:]
            followers.fetched(node.broker_id, -1, same, len(leader.log), self.now_ms)
            node.log += leader.log[same:]

    @rule(broker_id=BROKER, ms=st.sampled_from([0, 2 * LAG_MS]), is_asked_again=st.booleans())
    def ask(self, broker_id: int, ms: int, is_asked_again: bool) -> None:
        """A leader asks for another in-sync set; the answer may be lost, and the metadata has the outcome."""
        self.now_ms += ms
        node = self.nodes[broker_id]
        if node.followers is None:
            return
        wanted = node.followers.wanted(len(node.log), node.high_watermark, self.now_ms)
        if wanted is None:
            return
        node.followers.asked(wanted)
        change = InSyncChange(
            topic_id=self.image.topics["t"].topic_id,
            partition=0,
            leader_epoch=wanted.leader_epoch,
            partition_epoch=wanted.partition_epoch,
            isr=wanted.members,
        )
        epoch = self.image.brokers[broker_id].epoch
        for _ in range(1 + is_asked_again):
            try:
                decision = decide_alter_partitions(self.image, self.config, broker_id, epoch, [change])
            except Refusal:
                return
            self.commit(decision.records)

    # -- what must hold -------------------------------------------------------------------------------

    @invariant()
    def every_electable_replica_has_all_committed_records(self) -> None:
        partition = self.partition
        for broker_id in (*partition.isr, *partition.elr):
            log = self.nodes[broker_id].log
            assert log[: len(self.committed)] == self.committed, (broker_id, partition)
        assert partition.leader == NO_LEADER or partition.leader in partition.isr

    @invariant()
    def no_replica_is_eligible_beside_an_in_sync_set_that_can_commit(self) -> None:
        assert not self.partition.elr or not self.partition.has_min_isr(self.lowest())

    def lowest(self) -> int:
        """The lowest value that a broker may go by if its file is like the controller's."""
        own = self.image.topic_settings("t").get(MIN_ISR)
        default = self.image.cluster_settings().get(MIN_ISR, self.in_file)
        others = [self.image.broker_settings(each).get(MIN_ISR, default) for each in BROKERS]
        return int(own) if own is not None else min(map(int, [default, *others]))


TestModel = Model.TestCase
TestModel.settings = settings(
    max_examples=int(os.environ.get("HISTORIES", "40")), stateful_step_count=60, deadline=None
)
