"""Reset a group's offsets: first as a dry run (`dryRun`), then for real. Rejected while it has members."""

from typing import Any, Final

import msgspec
from aiohttp import web

from penstock.client.aio import EARLIEST, LATEST, Client, TopicPartition, coordinator_of_group
from penstock.console.api.groups import require_empty
from penstock.console.api.share_groups import SHARE, known_offsets, start_at, starts_of
from penstock.console.kafka.places import describe_topic, leaders_of, offsets_at
from penstock.console.refusals import bad_request, check
from penstock.console.web import CLIENT, answer, body_of
from penstock.protocol.errors import is_retriable
from penstock.protocol.messages import offset_commit

_NAMES_LAST: Final = 9  # of OffsetCommit: later versions know topics by id only


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
        await _commit(client, group, moves)
    return answer({"moves": moves})


def moves_of(
    wanted: Reset,
    starts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
    at: dict[TopicPartition, int],
    committed: dict[TopicPartition, int],
) -> list[dict[str, Any]]:
    """Old and new offset of each partition; what lies outside of a partition becomes its start or end. Pure."""
    moves = []
    for where in sorted(starts.keys() & ends.keys()):
        start, end = starts[where], ends[where]
        if wanted.to == "earliest":
            new = start
        elif wanted.to == "latest":
            new = end
        elif wanted.to == "offset":
            new = wanted.number
        elif wanted.to == "time":
            new = at[where] if at.get(where, -1) >= 0 else end
        else:
            raise bad_request("to must be earliest, latest, time or offset.")
        moves.append(
            {
                "topic": where.topic,
                "partition": where.partition,
                "old": committed.get(where),
                "new": min(max(new, start), end),
            }
        )
    return moves


async def _commit(client: Client, group: str, moves: list[dict[str, Any]]) -> None:
    """Commit without a member id or generation: the broker accepts it while the group is empty."""
    message = offset_commit.OffsetCommitRequest(
        group_id=group,
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                name=str(moves[0]["topic"]),
                partitions=[
                    offset_commit.OffsetCommitRequestPartition(
                        partition_index=move["partition"], committed_offset=move["new"]
                    )
                    for move in moves
                ],
            )
        ],
    )

    def first_error(response: Any) -> int:
        return next((p.error_code for topic in response.topics for p in topic.partitions if p.error_code), 0)

    response = await client.request(
        coordinator_of_group(group),
        message,
        version_max=_NAMES_LAST,
        error_of=lambda r: first_error(r) if is_retriable(first_error(r)) else 0,
    )
    check(first_error(response), f"Group {group} cannot be reset")


ROUTES = (("POST", "groups/{group}/reset", reset_offsets),)
