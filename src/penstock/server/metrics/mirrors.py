"""Metrics of the mirrors of other clusters: of the partitions that this broker leads, and so copies."""

from collections.abc import Iterable, Iterator

from penstock.client.mirrors import MirrorProgress, PartitionProgress
from penstock.observability.exposition import Family, Labels
from penstock.server.context import Services

Sample = tuple[Labels, float]


def mirror_families(services: Services) -> Iterator[tuple[Family, Iterable[Sample]]]:
    found = {
        mirror.name: services.mirrors.progress(mirror.name) for mirror in services.controller.image.mirrors()
    }
    partitions = [(name, each) for name, progress in found.items() for each in progress.partitions]
    yield (
        Family(
            name="penstock_mirror_lag",
            kind="gauge",
            help="Offsets of the source that are not copied yet; only partitions that this broker leads and whose "
            "source is known",
        ),
        [(_labels(name, each), each.lag) for name, each in partitions if each.lag is not None],
    )
    yield (
        Family(
            name="penstock_mirror_partition_failing",
            kind="gauge",
            help="1 if the partition cannot be copied at the moment; only partitions that this broker leads",
        ),
        [(_labels(name, each), bool(each.trouble)) for name, each in partitions],
    )
    yield (
        Family(
            name="penstock_mirror_failures",
            kind="gauge",
            help="Reasons why the source, or a topic of it, cannot be followed; on the active controller",
        ),
        [({"mirror": name}, _failures(progress)) for name, progress in found.items()],
    )
    yield (
        Family(
            name="penstock_mirror_copied_bytes_total",
            kind="counter",
            help="Bytes of records that this broker has copied from the source",
        ),
        [({"mirror": name}, progress.copied_bytes) for name, progress in found.items()],
    )


def _labels(mirror: str, each: PartitionProgress) -> dict[str, str]:
    return {"mirror": mirror, "topic": each.topic, "partition": str(each.partition)}


def _failures(progress: MirrorProgress) -> int:
    return len(progress.troubles) + bool(progress.error)
