"""Reset a group's offsets: first as a dry run (`dryRun`), then for real. Rejected while it has members."""

from typing import Any

import msgspec
from aiohttp import web

from penstock.client.aio import EARLIEST, LATEST, TopicPartition
from penstock.client.positions import End, Offset, Position, Start, Time, first_offsets
from penstock.console.api.groups import require_empty
from penstock.console.api.share_groups import SHARE, known_offsets, start_at, starts_of
from penstock.console.kafka.topics import describe_topic, leaders_of, offsets_at
from penstock.console.refusals import bad_request, check
from penstock.console.web import CLIENT, answer, body_of


class Reset(msgspec.Struct, kw_only=True):
    """`to` is earliest, latest, time (`number` in milliseconds) or offset (`number`)."""

    topic: str
    partitions: list[int] | None = None
    to: str
    number: int = 0
    dry_run: bool = msgspec.field(name="dryRun", default=True)


async def reset_offsets(request: web.Request) -> web.Response:
    client, group = request[CLIENT], request.match_info["group"]
    wanted = await body_of(request, Reset)
    is_share = await require_empty(client, group, "reset") == SHARE
    leaders = {
        where: leader
        for where, leader in leaders_of([await describe_topic(client, wanted.topic)]).items()
        if wanted.partitions is None or where.partition in wanted.partitions
    }
    if not leaders:
        raise bad_request(f"{wanted.topic} has no such partition.")
    starts = await offsets_at(client, leaders, EARLIEST)
    ends = await offsets_at(client, leaders, LATEST)
    at = await offsets_at(client, leaders, wanted.number) if wanted.to == "time" else {}
    if is_share:
        committed = known_offsets(await starts_of(client, group))
    else:
        committed = await client.committed(group, list(leaders))
    moves = moves_of(wanted, starts, ends, at, committed)
    if is_share and not wanted.dry_run:
        await start_at(client, group, wanted.topic, {move["partition"]: move["new"] for move in moves})
    elif not wanted.dry_run:
        codes = await client.commit(
            group, {TopicPartition(wanted.topic, move["partition"]): move["new"] for move in moves}
        )
        check(next(filter(None, codes.values()), 0), f"Group {group} cannot be reset")
    return answer({"moves": moves})


def moves_of(
    wanted: Reset,
    starts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
    at: dict[TopicPartition, int],
    committed: dict[TopicPartition, int],
) -> list[dict[str, Any]]:
    """Old and new offset of each partition; what lies outside of a partition becomes its start or end. Pure."""
    positions: dict[str, Position] = {
        "earliest": Start(),
        "latest": End(),
        "offset": Offset(wanted.number),
        "time": Time(wanted.number),
    }
    if wanted.to not in positions:
        raise bad_request("to must be earliest, latest, time or offset.")
    known = {where: end for where, end in ends.items() if where in starts}
    new = first_offsets(positions[wanted.to], starts, known, dict.fromkeys(known, -1) | at)
    return [
        {"topic": where.topic, "partition": where.partition, "old": committed.get(where), "new": new[where]}
        for where in sorted(new)
    ]


ROUTES = (("POST", "groups/{group}/reset", reset_offsets),)
