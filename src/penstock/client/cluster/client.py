"""The client itself: what programs want of a cluster, on top of asking the right broker."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.client.blocking.cluster import OffsetAt
from penstock.client.blocking.retry import Retry
from penstock.client.cluster import fetching
from penstock.client.cluster.connections import Dialer
from penstock.client.cluster.destinations import ANY, CONTROLLER, LeaderOf, coordinator_of_group
from penstock.client.cluster.fetching import FetchedPartition, FetchLimits
from penstock.client.cluster.producing import Produced, Producer
from penstock.client.cluster.routing import Knowledge, Router
from penstock.client.cluster.security import ANONYMOUS, Security, of_settings
from penstock.client.connection import Disconnected
from penstock.client.errors import BrokerError
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import (
    create_topics,
    delete_topics,
    describe_configs,
    list_groups,
    list_offsets,
    offset_fetch,
)
from penstock.protocol.records.builder import NewRecord

_NAMES_LAST = 12  # of Fetch: later versions know topics by id only


class Client(Router):
    """See the package's documentation. Close it, or use it in `async with`."""

    def __init__(
        self,
        bootstrap: str | ClientSettings,
        *,
        security: Security | None = None,
        clock: Clock | None = None,
        knowledge: Knowledge | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        """`bootstrap` is host:port,… or all settings; `security` wins over what those say."""
        if isinstance(bootstrap, str):
            bootstrap = ClientSettings.from_properties({"bootstrap.servers": bootstrap})
        if security is None:
            security = of_settings(bootstrap) if bootstrap.tls or bootstrap.sasl else ANONYMOUS
        super().__init__(bootstrap, security=security, clock=clock, knowledge=knowledge, dialer=dialer)
        self._producer = Producer(self)

    def branch(self) -> "Client":
        """Another client of the same user and knowledge, with connections of its own; to be closed by itself.

        For long polls: a broker answers the requests of one connection in their order, so whoever waits for records
        would make all others wait.
        """
        return Client(
            self.settings,
            security=self.security,
            clock=self.clock,
            knowledge=self._knowledge,
            dialer=self._dialer,
        )

    async def close(self) -> None:
        await self._producer.close()
        await super().close()

    # -- records

    async def produce(
        self, topic: str, partition: int | None, records: Sequence[NewRecord]
    ) -> list[Produced]:
        """Store records, each exactly once although sending is retried; what became of each, in their order.

        Without a partition the key of each decides, as in Kafka's clients; records without a key stay together.
        """
        return await self._producer.produce(topic, partition, records)

    async def fetch(
        self, positions: Mapping[TopicPartition, int], limits: FetchLimits = fetching.DEFAULT_LIMITS
    ) -> dict[TopicPartition, FetchedPartition]:
        """Records from these offsets on. A partition that could not be asked just now is left out, unless all are.

        With `limits.wait_ms` above 0 use a `branch`.
        """

        async def attempt() -> dict[TopicPartition, FetchedPartition]:
            failed: BaseException = Retry("the leaders have moved")
            by_leader: dict[int, dict[TopicPartition, int]] = {}
            for where, offset in positions.items():
                try:
                    leader = await self.leader(where)
                except Retry as failure:
                    failed = failure
                else:
                    by_leader.setdefault(leader.leader_id, {})[where] = offset
            answers = await asyncio.gather(
                *(self.fetch_of(node, part, limits) for node, part in by_leader.items()),
                return_exceptions=True,
            )
            found: dict[TopicPartition, FetchedPartition] = {}
            for answer in answers:
                if isinstance(answer, dict):
                    found.update(answer)
                elif isinstance(answer, (Retry, Disconnected)):
                    failed = answer
                else:
                    raise answer
            if positions and not found:
                raise failed
            return found

        return await self.until_done("fetching records", attempt)

    async def fetch_of(
        self, node: int, positions: Mapping[TopicPartition, int], limits: FetchLimits
    ) -> dict[TopicPartition, FetchedPartition]:
        """One Fetch to one broker; partitions that it does not lead (any more) are left out. `Disconnected`."""
        message = fetching.request_for(positions, limits)
        try:
            response = await self.request_once(node, message, version_max=_NAMES_LAST, wait_ms=limits.wait_ms)
        except Disconnected:
            for where in positions:
                self.forget(LeaderOf(*where))
            raise
        if response.error_code:
            raise Retry(f"broker {node} refused to be fetched from: {ErrorCode(response.error_code).name}")
        found = fetching.read_answer(response, positions, limits)
        for where in positions:
            if where not in found:
                self.forget(LeaderOf(*where))
        return found

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, reads_committed_only: bool = False
    ) -> dict[TopicPartition, OffsetAt]:
        """The offset of each partition at a timestamp, or at `EARLIEST` or `LATEST`; see `OffsetAt`."""
        found: dict[TopicPartition, OffsetAt] = {}

        async def ask(where: TopicPartition, timestamp: int) -> None:
            partition = list_offsets.ListOffsetsPartition(
                partition_index=where.partition, timestamp=timestamp
            )
            message = list_offsets.ListOffsetsRequest(
                replica_id=-1,
                isolation_level=int(reads_committed_only),
                topics=[list_offsets.ListOffsetsTopic(name=where.topic, partitions=[partition])],
                timeout_ms=self.settings.request_timeout_ms,
            )
            response = await self.request(
                LeaderOf(*where), message, error_of=lambda r: int(r.topics[0].partitions[0].error_code)
            )
            answer = response.topics[0].partitions[0]
            found[where] = OffsetAt(
                offset=answer.offset, timestamp=answer.timestamp, leader_epoch=answer.leader_epoch
            )

        await asyncio.gather(*(ask(where, timestamp) for where, timestamp in wanted.items()))
        return found

    # -- groups

    async def list_groups(self) -> list[list_groups.ListedGroup]:
        """The groups of all brokers that answer."""
        brokers = (await self.metadata([])).brokers
        answers = await asyncio.gather(
            *(self.request(node, list_groups.ListGroupsRequest()) for node in brokers)
        )
        return [group for answer in answers for group in answer.groups]

    async def committed(
        self, group: str, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        """The offsets that a group has committed, of these partitions or of all; those without one are left out."""
        return await self._committed(
            offset_fetch.OffsetFetchRequestGroup(
                group_id=group, topics=None if partitions is None else _topics_of(partitions)
            )
        )

    async def _committed(self, asked: offset_fetch.OffsetFetchRequestGroup) -> dict[TopicPartition, int]:
        response = await self.request(
            coordinator_of_group(asked.group_id),
            offset_fetch.OffsetFetchRequest(groups=[asked], require_stable=True),
            error_of=_error_of_offsets,
            version_max=9,
        )
        return {
            TopicPartition(topic.name, each.partition_index): each.committed_offset
            for topic in response.groups[0].topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }

    # -- topics

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> bool:
        """Create a topic; -1 leaves a number to the broker. False when it was there already."""
        wanted = create_topics.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[
                create_topics.CreatableTopicConfig(name=key, value=value)
                for key, value in (configs or {}).items()
            ],
        )
        message = create_topics.CreateTopicsRequest(
            topics=[wanted], timeout_ms=self.settings.request_timeout_ms
        )
        answer = (await self.request(CONTROLLER, message, error_of=lambda r: _passing(r.topics[0]))).topics[0]
        if answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
            return False
        _raise(answer, f"creating topic {name!r}")
        self._knowledge.forget_topic(name)
        return True

    async def delete_topic(self, name: str) -> None:
        message = delete_topics.DeleteTopicsRequest(
            topics=[delete_topics.DeleteTopicState(name=name)], timeout_ms=self.settings.request_timeout_ms
        )
        known = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # for once no passing state
        answer = (
            await self.request(
                CONTROLLER,
                message,
                error_of=lambda r: 0 if r.responses[0].error_code == known else _passing(r.responses[0]),
            )
        ).responses[0]
        self._knowledge.forget_topic(name)
        _raise(answer, f"deleting topic {name!r}")

    async def describe_configs(
        self, kind: int, name: str
    ) -> list[describe_configs.DescribeConfigsResourceResult]:
        """The settings of a topic (kind 2), broker (4) or group (32), with documentation and synonyms."""
        message = describe_configs.DescribeConfigsRequest(
            resources=[describe_configs.DescribeConfigsResource(resource_type=kind, resource_name=name)],
            include_synonyms=True,
            include_documentation=True,
        )
        to = int(name) if kind == 4 and name else ANY
        answer = (await self.request(to, message)).results[0]
        _raise(answer, f"describing the settings of {name!r}")
        configs: list[describe_configs.DescribeConfigsResourceResult] = answer.configs
        return configs


def _topics_of(partitions: Sequence[TopicPartition]) -> list[offset_fetch.OffsetFetchRequestTopics]:
    by_topic: dict[str, list[int]] = {}
    for where in partitions:
        by_topic.setdefault(where.topic, []).append(where.partition)
    return [
        offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
        for name, indexes in by_topic.items()
    ]


def _error_of_offsets(response: offset_fetch.OffsetFetchResponse) -> int:
    group = response.groups[0]
    if group.error_code:
        return group.error_code
    return next((p.error_code for topic in group.topics for p in topic.partitions if p.error_code), 0)


def _passing(answer: Any) -> int:
    """The error of one part of an answer, if it may pass."""
    code: int = answer.error_code
    return code if is_retriable(code) else 0


def _raise(answer: Any, what: str) -> None:
    if answer.error_code:
        raise BrokerError(answer.error_code, what, getattr(answer, "error_message", None))
