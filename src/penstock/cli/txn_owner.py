"""Whose an open transaction is: the transactional id of its producer, and whether its coordinator will end it."""

from collections.abc import Iterable

from penstock.cli.errors import CommandError
from penstock.cli.txn_cluster import Cluster, Described, PartitionProducer


async def owners_of(cluster: Cluster, producer_ids: Iterable[int]) -> dict[int, Described]:
    """What the coordinators know of these producers; those that they do not know are left out."""
    wanted = sorted(producer_ids)
    if not wanted:
        return {}
    found: dict[int, Described] = {}
    for listed in await cluster.listed(producer_ids=wanted):
        described = await cluster.described(listed.transactional_id)
        if described is not None:
            found[described.producer_id] = described
    return found


def is_hanging(producer: PartitionProducer, owner: Described | None) -> bool:
    """Whether a transaction is open in a partition, while no coordinator will ever end it there."""
    place = (producer.topic, producer.partition)
    return producer.start_offset is not None and (owner is None or place not in owner.partitions)


async def unknown_transactional_id(cluster: Cluster, transactional_id: str) -> CommandError:
    import difflib

    known = [each.transactional_id for each in await cluster.listed()]
    near = difflib.get_close_matches(transactional_id, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "`penstock txn list` shows those there are"
    return CommandError(f"there is no transactional id {transactional_id}: {hint}")
