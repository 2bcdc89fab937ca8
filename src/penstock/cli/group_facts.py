"""What a cluster knows of a consumer group: its members, its committed offsets, and how far behind they are."""

from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    describe_error,
    metadata_of,
    partitions_of,
    result_of,
)
from penstock.cli.errors import CommandError
from penstock.cli.group_values import Group, Lag, Member, Place
from penstock.cli.offsets import earliest, latest
from penstock.cli.share_groups import SHARE, ShareGroupAdmin, ShareStart


class Bounds(msgspec.Struct, frozen=True):
    """Where the records of a partition begin and end."""

    start: int
    end: int


def listed_groups(
    admin: Any, shares: ShareGroupAdmin, state: str | None = None, kind: str | None = None
) -> list[tuple[str, str, str]]:
    """Name, type and state of each group, by name."""
    found = [] if kind == SHARE else _listed_consumer_groups(admin, state, kind)
    return sorted(found + (shares.listed(state) if kind in (None, SHARE) else []))


def _listed_consumer_groups(admin: Any, state: str | None, kind: str | None) -> list[tuple[str, str, str]]:
    from confluent_kafka import ConsumerGroupState, ConsumerGroupType

    request = admin.list_consumer_groups(
        states={each for each in ConsumerGroupState if state is not None and state.upper() in each.name},
        types=set() if kind is None else {ConsumerGroupType[kind.upper()]},
        request_timeout=REQUEST_TIMEOUT_SECONDS,
    )
    listed: Any = result_of(request, "cannot list the groups")
    for error in listed.errors:
        raise CommandError(f"cannot list the groups of every broker: {describe_error(error)}")
    return [(each.group_id, shown(each.type), shown(each.state)) for each in listed.valid]


def shown(value: Any) -> str:
    """The name of a type or a state, as people write it."""
    return str(value.name).lower().replace("_", " ")


def find_group(admin: Any, shares: ShareGroupAdmin, name: str) -> Group:
    """Describe a group, or say that there is none."""
    found = describe_group(admin, shares, name)
    if found is None:
        raise _unknown_group(admin, shares, name)
    return found


def describe_group(admin: Any, shares: ShareGroupAdmin, name: str) -> Group | None:
    """Describe a group; None when there is none."""
    return _described_consumer_group(admin, name) or shares.describe(name)


def _described_consumer_group(admin: Any, name: str) -> Group | None:
    """A broker describes a group that it does not know as dead."""
    from confluent_kafka import ConsumerGroupState

    request = admin.describe_consumer_groups([name], request_timeout=REQUEST_TIMEOUT_SECONDS)
    group: Any = result_of(request[name], f"cannot describe group {name}")
    if group.state == ConsumerGroupState.DEAD:
        return None
    return Group(
        group=name,
        type=shown(group.type),
        state=shown(group.state),
        assignor=group.partition_assignor or "",
        coordinator=group.coordinator.id,
        members=[
            Member(
                member_id=member.member_id,
                client_id=member.client_id,
                host=member.host.removeprefix("/"),
                instance_id=member.group_instance_id,
                partitions=sorted((at.topic, at.partition) for at in member.assignment.topic_partitions),
            )
            for member in group.members
        ],
    )


def _unknown_group(admin: Any, shares: ShareGroupAdmin, name: str) -> CommandError:
    import difflib

    near = difflib.get_close_matches(name, [group for group, _, _ in listed_groups(admin, shares)], n=1)
    hint = f"did you mean {near[0]}?" if near else "`penstock group list` shows those there are"
    return CommandError(f"there is no group {name}: {hint}")


def refuse_live_members(group: Group, what: str) -> None:
    """Members would go on from what they know, and commit over it."""
    if group.members:
        count = len(group.members)
        some = ", ".join(sorted({f"{each.client_id} at {each.host}" for each in group.members})[:3])
        raise CommandError(
            f"cannot {what} group {group.group}: it has {count} live member{'s' * (count > 1)} ({some}). "
            "Stop them first, or wait until their sessions time out"
        )


def committed_offsets(admin: Any, name: str) -> dict[Place, int]:
    """What the group has committed, wherever it has."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    request = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(name)], request_timeout=REQUEST_TIMEOUT_SECONDS
    )
    listed: Any = result_of(request[name], f"cannot read the offsets of group {name}")
    found: dict[Place, int] = {}
    for place in listed.topic_partitions:
        if place.error is not None:
            raise CommandError(
                f"cannot read the offset of group {name} in {place.topic}-{place.partition}: "
                f"{describe_error(place.error)}"
            )
        if place.offset >= 0:
            found[place.topic, place.partition] = place.offset
    return dict(sorted(found.items()))


def bounds_of(admin: Any, places: Iterable[Place]) -> dict[Place, Bounds]:
    """Where those of the partitions that exist begin and end."""
    topics = metadata_of(admin).topics
    by_topic: dict[str, list[int]] = {}
    for topic, partition in places:
        if topic in topics and partition in topics[topic].partitions:
            by_topic.setdefault(topic, []).append(partition)
    found: dict[Place, Bounds] = {}
    for topic, partitions in by_topic.items():
        starts, ends = earliest(admin, topic, partitions), latest(admin, topic, partitions)
        found |= {(topic, each): Bounds(starts[each], ends[each]) for each in partitions}
    return found


def lags(admin: Any, shares: ShareGroupAdmin, group: Group) -> list[Lag]:
    """Every partition that the group has committed in or that a member of it reads.

    Of a share group every partition of its topics: a member reads them all, and where it has not begun is unknown.
    """
    readers: dict[Place, list[Member]] = {}
    for member in group.members:
        for place in member.partitions:
            readers.setdefault(place, []).append(member)
    is_share = group.type == SHARE
    starts = shares.starts(group.group) if is_share else {}
    committed = {} if is_share else committed_offsets(admin, group.group)
    places = sorted({*starts, *committed, *readers})
    if is_share:
        topics = {topic for topic, _ in places} & metadata_of(admin).topics.keys()
        places = sorted(
            {*places, *((topic, each) for topic in topics for each in partitions_of(admin, topic))}
        )
    bounds = bounds_of(admin, places)
    return [
        _share_lag(place, starts.get(place), bounds.get(place), readers.get(place, []))
        if is_share
        else _lag(place, committed.get(place), bounds.get(place), readers.get(place, []))
        for place in places
    ]


def _lag(place: Place, at: int | None, bounds: Bounds | None, readers: list[Member]) -> Lag:
    lag = None if at is None or bounds is None else max(0, bounds.end - at)
    return _lag_of(place, at, lag, bounds, readers)


def _share_lag(place: Place, start: ShareStart | None, bounds: Bounds | None, readers: list[Member]) -> Lag:
    """Records behind the start may be done with: only the broker knows how many."""
    at, lag = (None, None) if start is None else (start.offset, start.lag)
    return _lag_of(place, at, lag, bounds, readers)


def _lag_of(
    place: Place, at: int | None, lag: int | None, bounds: Bounds | None, readers: list[Member]
) -> Lag:
    """Several members of a share group may read a partition: then none of them is named."""
    reader = readers[0] if len(readers) == 1 else None
    return Lag(
        topic=place[0],
        partition=place[1],
        committed=at,
        end=None if bounds is None else bounds.end,
        lag=lag,
        client_id=None if reader is None else reader.client_id,
        member_id=None if reader is None else reader.member_id,
    )
