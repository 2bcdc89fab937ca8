"""Which brokers hold the replicas of new partitions.

Leaders go round the brokers one by one; followers are shifted a little further at each round, so that a broker's
partitions have their followers on many others. Brokers are put in an order that alternates racks, and a rack is used
twice only when every rack is used once. Brokers that are fenced, whose disk has failed, or all of whose directories are
cordoned come last and are no one's leader.
"""

import random
from collections.abc import Iterable, Sequence

from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.state import RegisteredBroker
from penstock.protocol.errors import ErrorCode


def place_replicas(
    brokers: Iterable[RegisteredBroker],
    *,
    partition_count: int,
    replication_factor: int,
    randomness: random.Random,
) -> list[list[int]]:
    """Give the replicas of each partition, the leader first. Raises `Refusal` when there are too few brokers."""
    registered = list(brokers)
    usable = [broker for broker in registered if _is_usable(broker)]
    if not usable:
        raise Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced.")
    if replication_factor > len(registered):
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(registered)} broker(s) are registered.",
        )
    ring = _alternate_racks(usable)
    unusable = [broker.broker_id for broker in registered if not _is_usable(broker)]
    start = randomness.randrange(len(ring))
    shift = randomness.randrange(len(ring))
    placed = []
    for number in range(partition_count):
        if number and number % len(ring) == 0:
            shift += 1
        replicas = _place_one(ring, start + number, shift, min(replication_factor, len(ring)))
        placed.append(replicas + unusable[: replication_factor - len(replicas)])
    return placed


def _is_usable(broker: RegisteredBroker) -> bool:
    return not broker.fenced and not broker.has_failed_disk and not broker.is_cordoned


def _place_one(ring: Sequence[RegisteredBroker], first: int, shift: int, count: int) -> list[int]:
    size = len(ring)
    leader = ring[first % size]
    chosen = [leader]
    followers = [ring[(first + 1 + (shift + step) % (size - 1)) % size] for step in range(size - 1)]
    rack_count = len({broker.rack for broker in ring})
    while len(chosen) < count:
        used_racks = {broker.rack for broker in chosen}
        fresh = [broker for broker in followers if broker.rack not in used_racks]
        pick = fresh[0] if fresh and len(used_racks) < rack_count else followers[0]
        followers.remove(pick)
        chosen.append(pick)
    return [broker.broker_id for broker in chosen]


def _alternate_racks(brokers: Sequence[RegisteredBroker]) -> list[RegisteredBroker]:
    by_rack: dict[str, list[RegisteredBroker]] = {}
    for broker in sorted(brokers, key=lambda each: each.broker_id):
        by_rack.setdefault(broker.rack or "", []).append(broker)
    racks = [by_rack[name] for name in sorted(by_rack)]
    longest = max(len(rack) for rack in racks)
    return [rack[position] for position in range(longest) for rack in racks if position < len(rack)]
