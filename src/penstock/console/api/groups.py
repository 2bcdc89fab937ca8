"""Consumer and share groups: listed, described with members and lag, deleted."""

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web

from penstock.client.aio import (
    LATEST,
    Client,
    TopicPartition,
    UnsupportedApi,
    coordinator_of_group,
    retriable_error,
)
from penstock.console.api.share_groups import SHARE, known_offsets, of_first_group, starts_of
from penstock.console.broker_errors import NOT_FOUND
from penstock.console.kafka.topics import ask_each, describe, leaders_of, offsets_at
from penstock.console.refusals import Refused, check
from penstock.console.web import CLIENT, answer
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import (
    consumer_group_describe,
    consumer_protocol_assignment,
    delete_groups,
    describe_groups,
    share_group_describe,
)
from penstock.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

_VERSION_SIZE: Final = 2  # an assignment begins with its version; its first field is the same in all of them
_NO_SUCH_GROUP: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
_EMPTY_STATES: Final = ("Empty", "Dead", "")


async def list_groups(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await describe(client, [])
    responses = await ask_each(client, [broker.node_id for broker in described.brokers], ListGroupsRequest())
    rows = [group_row(node, group) for node, response in responses.items() for group in _listed(response)]
    return answer({"groups": sorted(rows, key=lambda row: str(row["id"]))})


def _listed(response: ListGroupsResponse) -> list[ListedGroup]:
    check(response.error_code, "The groups cannot be listed")
    return response.groups


def group_row(node: int, group: ListedGroup) -> dict[str, Any]:
    return {
        "id": group.group_id,
        "state": group.group_state,
        "type": group.group_type or "classic",
        "protocol": group.protocol_type,
        "coordinator": node,
    }


async def show_group(request: web.Request) -> web.Response:
    client, name = request[CLIENT], request.match_info["group"]
    about = await described_group(client, name)
    is_share = about["type"] == SHARE
    starts = await starts_of(client, name) if is_share else {}
    committed = known_offsets(starts) if is_share else await client.committed(name)
    topics = {where.topic for where in (*committed, *starts)} | {
        place["topic"] for member in about["members"] for place in member["assignment"]
    }
    leaders = leaders_of((await describe(client, sorted(topics))).topics) if topics else {}
    owners = {
        TopicPartition(place["topic"], partition): member["clientId"]
        for member in about["members"]
        for place in member["assignment"]
        for partition in place["partitions"]
    }
    # A member of a share group reads all partitions of a topic: where it has not begun is unknown.
    places = {*starts, *committed, *owners, *(leaders if is_share else ())}
    wanted = {where: leader for where, leader in leaders.items() if where in places}
    ends = await offsets_at(client, wanted, LATEST)
    offsets = [
        offset_row(where, committed.get(where), ends.get(where), owners.get(where))
        | ({"lag": starts[where].lag} if where in starts else {})
        for where in sorted(places)
    ]
    return answer({**about, **total_lag([row["lag"] for row in offsets]), "offsets": offsets})


def total_lag(lags: Sequence[int | None]) -> dict[str, Any]:
    """The lag as a whole is unknown while that of any partition is. Pure."""
    known = [lag for lag in lags if lag is not None]
    unknown = len(lags) - len(known)
    return {"lag": None if unknown else sum(known), "knownLag": sum(known), "unknownPartitions": unknown}


def offset_row(
    where: TopicPartition, committed: int | None, end: int | None, owner: str | None
) -> dict[str, Any]:
    lag = None if committed is None or end is None else max(0, end - committed)
    return {
        "topic": where.topic,
        "partition": where.partition,
        "committed": committed,
        "end": end,
        "lag": lag,
        "member": owner,
    }


async def described_group(client: Client, name: str) -> dict[str, Any]:
    """Describe the state and members of a group of any protocol."""
    for kind, message in (
        ("consumer", consumer_group_describe.ConsumerGroupDescribeRequest(group_ids=[name])),
        (SHARE, share_group_describe.ShareGroupDescribeRequest(group_ids=[name])),
    ):
        described = await _newer_group(client, name, kind, message)
        if described is not None:
            return described
    return await _classic_group(client, name)


async def _newer_group(client: Client, name: str, kind: str, message: Any) -> dict[str, Any] | None:
    """Describe a group of KIP-848 or KIP-932; None for other groups, and for brokers without them."""
    try:
        response = await client.request(coordinator_of_group(name), message, error_of=of_first_group)
    except UnsupportedApi:
        return None
    group = response.groups[0]
    if group.error_code in _NO_SUCH_GROUP:
        return None
    check(group.error_code, f"Group {name} cannot be shown", group.error_message)
    return {
        "id": name,
        "type": kind,
        "state": group.group_state,
        "protocol": group.assignor_name,
        "members": [newer_member(member) for member in group.members],
    }


async def _classic_group(client: Client, name: str) -> dict[str, Any]:
    message = describe_groups.DescribeGroupsRequest(groups=[name])
    response = await client.request(coordinator_of_group(name), message, error_of=of_first_group)
    group = response.groups[0]
    if group.group_state == "Dead" and group.error_code in (0, ErrorCode.GROUP_ID_NOT_FOUND):
        raise Refused(NOT_FOUND, "GROUP_ID_NOT_FOUND", f"There is no group {name} (any more).")
    check(group.error_code, f"Group {name} cannot be shown", group.error_message)
    return {
        "id": name,
        "type": "classic",
        "state": group.group_state,
        "protocol": group.protocol_data or group.protocol_type,
        "members": [classic_member(member) for member in group.members],
    }


def newer_member(member: consumer_group_describe.Member | share_group_describe.Member) -> dict[str, Any]:
    return {
        "memberId": member.member_id,
        "clientId": member.client_id,
        "host": member.client_host,
        "instanceId": getattr(member, "instance_id", None),
        "assignment": [
            {"topic": each.topic_name, "partitions": each.partitions}
            for each in member.assignment.topic_partitions
        ],
    }


def classic_member(member: describe_groups.DescribedGroupMember) -> dict[str, Any]:
    try:
        assigned = consumer_protocol_assignment.decode(member.member_assignment, 0, _VERSION_SIZE)
        assignment = [
            {"topic": each.topic, "partitions": each.partitions} for each in assigned.assigned_partitions
        ]
    except ProtocolError:  # not a group of consumers, or nothing assigned yet
        assignment = []
    return {
        "memberId": member.member_id,
        "clientId": member.client_id,
        "host": member.client_host,
        "instanceId": member.group_instance_id,
        "assignment": assignment,
    }


async def require_empty(client: Client, name: str, what: str) -> str:
    """Raise `Refused` while the group has members, which would overwrite the change. Returns the group's type."""
    group = await described_group(client, name)
    if group["members"] or group["state"] not in _EMPTY_STATES:
        who = ", ".join(sorted({str(member["clientId"]) for member in group["members"]})[:3]) or "unknown"
        raise Refused(
            409,
            "NON_EMPTY_GROUP",
            f"Group {name} cannot be {what} while it has active members ({who}, state {group['state']}): "
            "stop them first, then try again.",
        )
    return str(group["type"])


async def delete_group(request: web.Request) -> web.Response:
    client, name = request[CLIENT], request.match_info["group"]
    await require_empty(client, name, "deleted")
    message = delete_groups.DeleteGroupsRequest(groups_names=[name])
    response = await client.request(
        coordinator_of_group(name),
        message,
        error_of=retriable_error(lambda response: response.results[0]),
    )
    check(response.results[0].error_code, f"Group {name} cannot be deleted")
    return answer({})


ROUTES = (
    ("GET", "groups", list_groups),
    ("GET", "groups/{group}", show_group),
    ("DELETE", "groups/{group}", delete_group),
)
