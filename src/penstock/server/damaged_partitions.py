"""The damaged records that this broker knows of, for everyone it reports them to."""

from penstock.client.damage import DamagedPartition, damaged_partition
from penstock.cluster.replicas import Replicas


def damaged_partitions(replicas: Replicas) -> list[DamagedPartition]:
    """By topic and number."""
    return [
        damaged_partition(name.topic, name.partition, ((r.base_offset, r.next_offset - 1) for r in ranges))
        for name, ranges in sorted(replicas.damage.items())
    ]
