"""Reads the runs of a pipeline from its topic."""

from collections.abc import Iterator

import msgspec

from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.core.fetching import FetchLimits
from penstock.client.errors import BrokerError
from penstock.client.metadata import TopicPartition
from penstock.spark.pipeline.progress.status import RunStatus

_LIMITS = FetchLimits(wait_ms=500)


def read_runs(cluster: BlockingClient, topic: str, pipeline: str) -> list[RunStatus] | None:
    """Return the last status of each run of the pipeline, the latest run first; None if there is no topic."""
    known = cluster.topics([topic]).get(topic)
    if known is None:
        return None
    runs: dict[str, RunStatus] = {}
    for index in known.partitions:
        for value in _values(cluster, TopicPartition(topic, index)):
            try:
                status = msgspec.json.decode(value, type=RunStatus)
            except msgspec.DecodeError:
                continue  # not ours
            if status.pipeline == pipeline:
                runs[status.run_id] = status
    return sorted(runs.values(), key=lambda each: -each.started_ms)


def _values(cluster: BlockingClient, where: TopicPartition) -> Iterator[bytes]:
    offset = cluster.list_offsets({where: EARLIEST})[where].offset
    end = cluster.list_offsets({where: LATEST})[where].offset
    while offset < end:
        fetched = cluster.fetch({where: offset}, _LIMITS).get(where)
        if fetched is None:
            continue
        if fetched.error:
            raise BrokerError(fetched.error, f"reading {where}")
        yield from (bytes(record.value) for record in fetched.records if record.value is not None)
        offset = max(fetched.next_offset, offset + (not fetched.records))
