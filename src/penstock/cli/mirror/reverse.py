"""Makes the old source of a promoted mirror the mirror of the new cluster."""

import re
from collections.abc import Sequence

from penstock.cli.connect.requests import RequestClient, check_error
from penstock.cli.connect.target import Target
from penstock.cli.errors import CommandError
from penstock.cli.mirror.source_config import source_properties
from penstock.cli.mirror.state import MirrorClient
from penstock.client.mirrors import CLIENT, MAY_ADOPT, SERVERS, STATE, TOPICS, MirrorReport, ReadyPartition
from penstock.protocol.messages import list_offsets

_LATEST = -1
_CHECK_S = 60.0


def reverse_mirror(
    target: Target, name: str, source_config: str | None, command_config: str | None, *, discards: bool
) -> str:
    """Returns what was done, in a sentence. Raises `CommandError`."""
    with target.requests() as client:
        report = MirrorClient(client).report(name)
    if report.state != "promoted" or not report.outcome:
        raise CommandError(f"mirror {name} is {report.state}: promote it first")
    values = {
        SERVERS: target.server,
        TOPICS: ",".join(sorted({re.escape(each.topic).replace("\\-", "-") for each in report.outcome})),
        MAY_ADOPT: "true",
    }
    properties = source_properties(command_config, target.server)
    if properties:
        values[CLIENT] = properties
    with RequestClient(report.servers, [] if source_config is None else [source_config]) as old:
        left = _left_behind(old, report.outcome)
        if left and not discards:
            raise CommandError(
                f"the old source has {left} record offset(s) that are not here: they were written after the promotion, "
                "or were left behind by it. Copy them first, or delete them there with --discard"
            )
        mirrors = _mirrors_of(old, report)
        mirrors.change(name, values, f"cannot create mirror {name} at {report.servers}")
        found = mirrors.wait(
            name,
            _CHECK_S,
            f"mirror {name} at {report.servers} has not started",
            lambda each: each if each.state != "checking" or (each.is_followed and each.failures) else None,
        )
        if found.state == "checking":
            mirrors.change(name, {STATE: "deleted"}, f"cannot delete mirror {name} at {report.servers}")
            raise CommandError(f"mirror {name} is not reversed: {'; '.join(found.failures[:3])}")
    return (
        f"{report.servers} copies from this cluster now: see it with `penstock mirror describe {name}` there"
    )


def _mirrors_of(old: RequestClient, report: MirrorReport) -> MirrorClient:
    mirrors = MirrorClient(old)
    try:
        names = mirrors.names()
    except CommandError as error:
        raise CommandError(
            f"{report.servers} cannot be a mirror ({error}): only a Penstock cluster can, and it needs to allow it"
        ) from None
    if report.name in names:
        raise CommandError(f"there is a mirror {report.name} at {report.servers} already")
    return mirrors


def _left_behind(old: RequestClient, outcome: Sequence[ReadyPartition]) -> int:
    """How many offsets the old source has beyond the promotion."""
    return sum(max(0, _end_offset(old, each.topic, each.partition) - each.end_offset) for each in outcome)


def _end_offset(old: RequestClient, topic: str, partition: int) -> int:
    wanted = list_offsets.ListOffsetsPartition(partition_index=partition, timestamp=_LATEST)
    request = list_offsets.ListOffsetsRequest(
        replica_id=-1, topics=[list_offsets.ListOffsetsTopic(name=topic, partitions=[wanted])]
    )
    response = old.ask_leader(topic, partition, request, lambda r: r.topics[0].partitions[0].error_code)
    found = response.topics[0].partitions[0]
    check_error(found, f"cannot find the end of {topic}-{partition} at the old source")
    return int(found.offset)
