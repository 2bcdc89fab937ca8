"""Operations that clients offer: offsets, records, topics, groups. Pure: see `steps`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from penstock.client.core import fetching
from penstock.client.core.destinations import ANY, CONTROLLER, Destination, LeaderOf, coordinator_of_group
from penstock.client.core.fetching import FetchedPartition, FetchLimits
from penstock.client.core.routing import Router, retriable_error
from penstock.client.core.steps import Operation, Send, SendAll
from penstock.client.errors import BrokerError, Disconnected, Retry, error_name
from penstock.client.metadata import TopicPartition
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import (
    create_topics,
    delete_topics,
    describe_configs,
    list_offsets,
    offset_commit,
    offset_fetch,
)
from penstock.protocol.messages import fetch as fetch_api

EARLIEST: Final = -2
LATEST: Final = -1

NAMES_LAST: Final = 12  # of Fetch and Produce: later versions identify topics by id only
_OFFSETS_LAST: Final = 9  # of OffsetFetch and OffsetCommit: likewise
_BROKER: Final = 4

NO_COORDINATOR: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class OffsetAt(msgspec.Struct, frozen=True, kw_only=True):
    """The result of ListOffsets; offset and timestamp are -1 when no record is that young."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


class Operations(Router):
    # -- records

    def fetch(
        self, positions: Mapping[TopicPartition, int], limits: FetchLimits = fetching.DEFAULT_LIMITS
    ) -> Operation[dict[TopicPartition, FetchedPartition]]:
        """Fetch from these offsets. A partition without a reachable leader is left out, unless all are."""

        def attempt() -> Operation[dict[TopicPartition, FetchedPartition]]:
            failed: Exception = Retry("the leaders have moved")
            by_leader: dict[int, dict[TopicPartition, int]] = {}
            for where, offset in positions.items():
                try:
                    leader = yield from self.leader(where)
                except Retry as failure:
                    failed = failure
                else:
                    by_leader.setdefault(leader.leader_id, {})[where] = offset
            brokers = self.state.metadata.brokers
            responses = yield SendAll(
                [
                    self._fetch_step(brokers[node], fetching.request_for(part, limits), limits)
                    for node, part in by_leader.items()
                ]
            )
            found: dict[TopicPartition, FetchedPartition] = {}
            for (node, part), response in zip(by_leader.items(), responses, strict=True):
                try:
                    found.update(self._fetched(node, part, limits, response))
                except (Retry, Disconnected) as failure:
                    failed = failure
            if positions and not found:
                raise failed
            return found

        return self.retrying("fetching records", attempt)

    def fetch_from(
        self, node: int, positions: Mapping[TopicPartition, int], limits: FetchLimits
    ) -> Operation[dict[TopicPartition, FetchedPartition]]:
        """Send one Fetch to one broker. Partitions that it does not lead are left out. Raises `Disconnected`."""
        address = yield from self.address_of(node)
        step = self._fetch_step(address, fetching.request_for(positions, limits), limits)
        (response,) = yield SendAll([step])
        return self._fetched(node, positions, limits, response)

    def _fetch_step(
        self, address: tuple[str, int], message: fetch_api.FetchRequest, limits: FetchLimits
    ) -> Send:
        timeout_ms = self.settings.request_timeout_ms + limits.wait_ms
        return Send(address, fetch_api.API_KEY, lambda _: message, timeout_ms, NAMES_LAST)

    def _fetched(
        self, node: int, positions: Mapping[TopicPartition, int], limits: FetchLimits, response: Any
    ) -> dict[TopicPartition, FetchedPartition]:
        if isinstance(response, Disconnected):
            self._forget_leaders(positions)
            self.state.forget(node)
        if isinstance(response, BaseException):
            raise response
        if response.error_code:
            raise Retry(f"Fetch from broker {node} was answered with {error_name(response.error_code)}")
        found = fetching.read_answer(response, positions, limits)
        self._forget_leaders(where for where in positions if where not in found)
        return found

    def _forget_leaders(self, partitions: Iterable[TopicPartition]) -> None:
        for where in partitions:
            self.state.forget(LeaderOf(*where))

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, reads_committed_only: bool = False
    ) -> Operation[dict[TopicPartition, OffsetAt]]:
        """The offset of each partition at a timestamp, or at `EARLIEST` or `LATEST` (committed: the last stable one).

        Each leader gets one request; partitions whose leader moved are asked for again.
        """
        found: dict[TopicPartition, OffsetAt] = {}

        def attempt() -> Operation[None]:
            by_leader: dict[tuple[str, int], dict[TopicPartition, int]] = {}
            for where in wanted:
                if where not in found:
                    leader = yield from self.leader(where)
                    address = self.state.metadata.brokers[leader.leader_id]
                    by_leader.setdefault(address, {})[where] = wanted[where]
            responses = yield SendAll(
                [
                    self._list_offsets_step(address, part, reads_committed_only)
                    for address, part in by_leader.items()
                ]
            )
            failed: list[str] = []
            for part, response in zip(by_leader.values(), responses, strict=True):
                failed += self._take_offsets(part, response, found)
            if failed:
                raise Retry("; ".join(failed[:3]))

        yield from self.retrying(f"listing offsets of {_first_few(wanted)}", attempt)
        return found

    def _take_offsets(
        self, asked: Iterable[TopicPartition], response: Any, found: dict[TopicPartition, OffsetAt]
    ) -> list[str]:
        """Add the offsets of one response to `found`; the result lists the retriable failures."""
        if isinstance(response, Disconnected):
            self._forget_leaders(asked)
            return [str(response)]
        if isinstance(response, BaseException):
            raise response
        failed: list[str] = []
        for topic in response.topics:
            for answer in topic.partitions:
                where = TopicPartition(topic.name, answer.partition_index)
                if not answer.error_code:
                    found[where] = OffsetAt(
                        offset=answer.offset, timestamp=answer.timestamp, leader_epoch=answer.leader_epoch
                    )
                elif is_retriable(answer.error_code):
                    self.state.forget(LeaderOf(*where))
                    failed.append(f"{where} was answered with {error_name(answer.error_code)}")
                else:
                    raise BrokerError(answer.error_code, f"listing offsets of {where}")
        return failed

    def _list_offsets_step(
        self, address: tuple[str, int], wanted: Mapping[TopicPartition, int], reads_committed_only: bool
    ) -> Send:
        message = list_offsets_request(wanted, reads_committed_only, self.settings.request_timeout_ms)
        return Send(address, list_offsets.API_KEY, lambda _: message, self.settings.request_timeout_ms)

    # -- groups

    def commit(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        *,
        member_id: str = "",
        member_epoch: int = -1,
    ) -> Operation[dict[TopicPartition, int]]:
        """Commit offsets, of a member or of a group without members. Returns the error code of each partition."""
        by_topic: dict[str, list[offset_commit.OffsetCommitRequestPartition]] = {}
        for where, offset in offsets.items():
            partition = offset_commit.OffsetCommitRequestPartition(
                partition_index=where.partition, committed_offset=offset
            )
            by_topic.setdefault(where.topic, []).append(partition)
        message = offset_commit.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=member_epoch,
            member_id=member_id,
            topics=[
                offset_commit.OffsetCommitRequestTopic(name=name, partitions=partitions)
                for name, partitions in by_topic.items()
            ],
        )
        response = yield from self.request(
            coordinator_of_group(group), message, error_of=_coordinator_error, version_max=_OFFSETS_LAST
        )
        return {
            TopicPartition(topic.name, each.partition_index): each.error_code
            for topic in response.topics
            for each in topic.partitions
        }

    def committed(
        self, group: str, partitions: Sequence[TopicPartition] | None = None
    ) -> Operation[dict[TopicPartition, int]]:
        """The committed offsets of a group, of these partitions or of all; those without one are left out."""
        topics = None
        if partitions is not None:
            by_topic: dict[str, list[int]] = {}
            for where in partitions:
                by_topic.setdefault(where.topic, []).append(where.partition)
            topics = [
                offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
                for name, indexes in by_topic.items()
            ]
        asked = offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=topics)
        response = yield from self.request(
            coordinator_of_group(group),
            offset_fetch.OffsetFetchRequest(groups=[asked], require_stable=True),
            error_of=_error_of_offsets,
            version_max=_OFFSETS_LAST,
        )
        return {
            TopicPartition(topic.name, each.partition_index): each.committed_offset
            for topic in response.groups[0].topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }

    # -- topics

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> Operation[bool]:
        """Create a topic; -1 takes the broker's default. False when it already exists."""
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
        response = yield from self.request(
            CONTROLLER, message, error_of=retriable_error(lambda r: r.topics[0])
        )
        answer = response.topics[0]
        if answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
            return False
        _raise_error(answer, f"creating topic {name!r}")
        self.state.forget_topic(name)
        return True

    def delete_topic(self, name: str) -> Operation[None]:
        message = delete_topics.DeleteTopicsRequest(
            topics=[delete_topics.DeleteTopicState(name=name)],
            topic_names=[name],
            timeout_ms=self.settings.request_timeout_ms,
        )
        error_of = retriable_error(lambda r: r.responses[0], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        response = yield from self.request(CONTROLLER, message, error_of=error_of)
        self.state.forget_topic(name)
        _raise_error(response.responses[0], f"deleting topic {name!r}")

    def describe_configs(
        self, kind: int, name: str
    ) -> Operation[list[describe_configs.DescribeConfigsResourceResult]]:
        """The settings of a topic (kind 2), broker (4) or group (32), with documentation and synonyms."""
        message = describe_configs.DescribeConfigsRequest(
            resources=[describe_configs.DescribeConfigsResource(resource_type=kind, resource_name=name)],
            include_synonyms=True,
            include_documentation=True,
        )
        to: Destination = int(name) if kind == _BROKER and name else ANY
        response = (yield from self.request(to, message)).results[0]
        _raise_error(response, f"describing the settings of {name!r}")
        configs: list[describe_configs.DescribeConfigsResourceResult] = response.configs
        return configs


def list_offsets_request(
    wanted: Mapping[TopicPartition, int], reads_committed_only: bool, timeout_ms: int
) -> list_offsets.ListOffsetsRequest:
    by_topic: dict[str, list[list_offsets.ListOffsetsPartition]] = {}
    for where, timestamp in wanted.items():
        partition = list_offsets.ListOffsetsPartition(partition_index=where.partition, timestamp=timestamp)
        by_topic.setdefault(where.topic, []).append(partition)
    return list_offsets.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(reads_committed_only),
        topics=[list_offsets.ListOffsetsTopic(name=name, partitions=each) for name, each in by_topic.items()],
        timeout_ms=timeout_ms,
    )


def _error_of_offsets(response: offset_fetch.OffsetFetchResponse) -> int:
    group = response.groups[0]
    if group.error_code:
        return group.error_code
    return next((p.error_code for topic in group.topics for p in topic.partitions if p.error_code), 0)


def _coordinator_error(response: offset_commit.OffsetCommitResponse) -> int:
    """An error of the coordinator itself applies to every partition, and is retried."""
    codes = (each.error_code for topic in response.topics for each in topic.partitions)
    return next((code for code in codes if code in NO_COORDINATOR), 0)


def _raise_error(response: Any, what: str) -> None:
    if response.error_code:
        raise BrokerError(response.error_code, what, getattr(response, "error_message", None))


def _first_few(wanted: Iterable[TopicPartition]) -> str:
    names = sorted(str(where) for where in wanted)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
