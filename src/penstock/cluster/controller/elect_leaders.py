"""Decides ElectLeaders: preferred or unclean leader elections on request.

The controller's own rebalancing uses the same decision, for partitions whose preferred replica could lead but does not.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from penstock.cluster.controller.decision import RECORDS_PER_DECISION_MAX, Decision
from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.partition_change import Election, RequestedChange, change_partition
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import NO_LEADER
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord

_NOT_NEEDED: Final = "Leader election not needed for topic partition."


class Elected(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_elect_leaders(
    image: MetadataImage, config: BrokerConfig, wanted: Iterable[tuple[str, int]] | None, election: Election
) -> Decision[list[Elected]]:
    """Hold elections for the named partitions; None means all that need one."""
    rules = ElectionRules(image, config)
    records: list[MetadataRecord] = []
    results: list[Elected] = []
    for name, number in _all_partitions(image) if wanted is None else wanted:
        result, record = _elect(image, rules, name, number, election)
        if record is not None:
            records.append(record)
        if wanted is not None or result.error is not ErrorCode.ELECTION_NOT_NEEDED:
            results.append(result)
    return Decision(records, results)


def decide_rebalance(image: MetadataImage, config: BrokerConfig, tolerated_percent: int) -> Decision[int]:
    """Elect the preferred leaders of brokers that lack more than a tolerated share of their leaderships."""
    preferred: dict[int, int] = {}
    missing: dict[int, list[tuple[str, int]]] = {}
    for name, number in _all_partitions(image):
        partition = image.topics[name].partitions[number]
        first = partition.replicas[0]
        preferred[first] = preferred.get(first, 0) + 1
        if partition.leader != first and first in partition.isr:
            missing.setdefault(first, []).append((name, number))
    wanted = [
        each
        for broker_id, theirs in missing.items()
        if len(theirs) * 100 > preferred[broker_id] * tolerated_percent
        for each in theirs
    ][:RECORDS_PER_DECISION_MAX]
    records, results = decide_elect_leaders(image, config, wanted, Election.PREFERRED)
    return Decision(records, sum(each.error is ErrorCode.NONE for each in results))


def _all_partitions(image: MetadataImage) -> Iterator[tuple[str, int]]:
    for name, topic in image.topics.items():
        for number in topic.partitions:
            yield name, number


def _elect(
    image: MetadataImage, rules: ElectionRules, name: str, number: int, election: Election
) -> tuple[Elected, MetadataRecord | None]:
    topic = image.topic(name)
    partition = None if topic is None else topic.partitions.get(number)
    if topic is None or partition is None:
        what = f"topic as {name}" if topic is None else f"partition as {name}-{number}"
        return _refused(name, number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such {what}")
    is_preferred = election is Election.PREFERRED
    is_needed = partition.leader != partition.replicas[0] if is_preferred else partition.leader == NO_LEADER
    if not is_needed:
        return _refused(name, number, ErrorCode.ELECTION_NOT_NEEDED, _NOT_NEEDED)
    record = change_partition(topic.topic_id, number, partition, RequestedChange(), rules.of(name, election))
    if record is not None:
        return Elected(topic=name, partition=number), record
    missing = (
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if is_preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    )
    return _refused(name, number, missing)


def _refused(
    name: str, number: int, error: ErrorCode, message: str | None = None
) -> tuple[Elected, MetadataRecord | None]:
    return Elected(topic=name, partition=number, error=error, message=message), None
