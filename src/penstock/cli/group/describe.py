"""Consumer and share groups of a cluster: members, committed offsets, and lag."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, ConsumerGroupType

from penstock.cli.connect.librdkafka import describe_error, wait_for
from penstock.cli.connect.offsets import Bounds, fetch_bounds
from penstock.cli.connect.target import Target
from penstock.cli.connect.topics import fetch_metadata
from penstock.cli.errors import CommandError, not_found
from penstock.cli.group.share import SHARE, ShareGroupAdmin
from penstock.cli.group.values import Group, Lag, Member, Place, Progress


class GroupAdmin:
    """Both kinds of groups: consumer groups through librdkafka, share groups through `shares`."""

    def __init__(self, target: Target) -> None:
        self.admin = target.admin()
        self.shares = ShareGroupAdmin(target)

    def list_groups(self, state: str | None = None, kind: str | None = None) -> list[tuple[str, str, str]]:
        """List name, type and state of each group, by name."""
        found = [] if kind == SHARE else self._list_consumer_groups(state, kind)
        return sorted(found + (self.shares.list_groups(state) if kind in (None, SHARE) else []))

    def _list_consumer_groups(self, state: str | None, kind: str | None) -> list[tuple[str, str, str]]:
        request = self.admin.list_consumer_groups(
            states={each for each in ConsumerGroupState if state is not None and state.upper() in each.name},
            types=set() if kind is None else {ConsumerGroupType[kind.upper()]},
        )
        listed: Any = wait_for(request, "cannot list the groups")
        for error in listed.errors:
            raise CommandError(f"cannot list the groups of every broker: {describe_error(error)}")
        return [(each.group_id, _name(each.type), _name(each.state)) for each in listed.valid]

    def find(self, name: str) -> Group | None:
        """Describe a group; None if there is none of that name."""
        return self._find_consumer_group(name) or self.shares.describe(name)

    def describe(self, name: str) -> Group:
        """Describe a group. Raises `CommandError` if there is none of that name."""
        found = self.find(name)
        if found is None:
            known = [group for group, _, _ in self.list_groups()]
            raise not_found("group", name, known, "`penstock group list` lists them")
        return found

    def _find_consumer_group(self, name: str) -> Group | None:
        request = self.admin.describe_consumer_groups([name])
        group: Any = wait_for(request[name], f"cannot describe group {name}")
        if group.state == ConsumerGroupState.DEAD:  # an unknown group
            return None
        return Group(
            group=name,
            type=_name(group.type),
            state=_name(group.state),
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

    def progress(self, group: Group) -> dict[Place, Progress]:
        """Give the position of the group in every partition where it has one."""
        if group.type == SHARE:
            return self.shares.progress(group.group)
        name = group.group
        request = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])
        listed: Any = wait_for(request[name], f"cannot read the offsets of group {name}")
        for place in listed.topic_partitions:
            if place.error is not None:
                raise CommandError(
                    f"cannot read the offset of group {name} in {place.topic}-{place.partition}: "
                    f"{describe_error(place.error)}"
                )
        places = sorted(listed.topic_partitions, key=lambda place: (place.topic, place.partition))
        return {
            (place.topic, place.partition): Progress(offset=place.offset)
            for place in places
            if place.offset >= 0
        }

    def bounds(self, places: Iterable[Place]) -> dict[Place, Bounds]:
        """Fetch the bounds of those partitions that exist."""
        topics = fetch_metadata(self.admin).topics
        known = sorted(at for at in places if at[0] in topics and at[1] in topics[at[0]].partitions)
        found: dict[Place, Bounds] = {}
        for topic, group in groupby(known, key=lambda place: place[0]):
            bounds = fetch_bounds(self.admin, topic, [partition for _, partition in group])
            found |= {(topic, partition): each for partition, each in bounds.items()}
        return found

    def lags(self, group: Group) -> list[Lag]:
        """Give the lag in every partition that the group has committed in or that one of its members reads.

        Members of a share group read all partitions of a topic: where it has not begun, the lag is unknown.
        """
        readers: dict[Place, list[Member]] = {}
        for member in group.members:
            for place in member.partitions:
                readers.setdefault(place, []).append(member)
        progress = self.progress(group)
        places = {*progress, *readers}
        if group.type == SHARE:
            topics = fetch_metadata(self.admin).topics
            read = {topic for topic, _ in places} & topics.keys()
            places |= {(topic, partition) for topic in read for partition in topics[topic].partitions}
        bounds = self.bounds(places)
        return [
            _lag(place, progress.get(place), bounds.get(place), readers.get(place, []), group.type)
            for place in sorted(places)
        ]


def _name(value: Any) -> str:
    """Write the name of a type or a state as people write it."""
    return str(value.name).lower().replace("_", " ")


def _lag(
    place: Place, progress: Progress | None, bounds: Bounds | None, readers: list[Member], kind: str
) -> Lag:
    """The broker counts the lag of a share group, in which records after the start may be acknowledged already."""
    offset, lag = (None, None) if progress is None else (progress.offset, progress.lag)
    end = None if bounds is None else bounds.end
    if kind != SHARE and offset is not None and end is not None:
        lag = max(0, end - offset)
    # Several members of a share group may read a partition.
    client_id, member_id = (readers[0].client_id, readers[0].member_id) if len(readers) == 1 else (None, None)
    topic, partition = place
    return Lag(
        topic=topic,
        partition=partition,
        committed=offset,
        end=end,
        lag=lag,
        client_id=client_id,
        member_id=member_id,
    )


def check_no_members(group: Group, action: str) -> None:
    """Refuse a group with members: they would go on from their own positions, and commit over the change."""
    if group.members:
        count = len(group.members)
        some = ", ".join(sorted({f"{each.client_id} at {each.host}" for each in group.members})[:3])
        raise CommandError(
            f"cannot {action} group {group.group}: it has {count} live member{'s' * (count > 1)} ({some}). "
            "Stop them first, or wait until their sessions time out"
        )
