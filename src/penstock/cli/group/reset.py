"""`penstock group reset`: move the offsets of a group. A dry run without `--execute`."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import msgspec
import typer
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from penstock.cli.connect.librdkafka import describe_error, wait_for
from penstock.cli.connect.offsets import POSITION_HELP, Bounds, parse_position, resolve_position
from penstock.cli.connect.target import Target, connects, select_partitions, unknown_topic
from penstock.cli.connect.topics import fetch_metadata
from penstock.cli.errors import CommandError, UsageError
from penstock.cli.group.describe import GroupAdmin, check_no_members
from penstock.cli.group.share import SHARE
from penstock.cli.group.values import Place
from penstock.cli.output import AsJson, print_result
from penstock.client.positions import Position


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The offset of one partition before and after a reset."""

    topic: str
    partition: int
    old: int | None
    new: int


@connects
def reset(
    target: Target,
    *,
    name: str = typer.Argument(metavar="GROUP", help="Group name."),
    topic: list[str] = typer.Option(
        [],
        "--topic",
        "-t",
        metavar="TOPIC[:0,1]",
        help="Reset a topic, or some of its partitions (repeatable).",
    ),
    all_topics: bool = typer.Option(
        False, "--all-topics", help="Reset every partition with a committed offset."
    ),
    to: str | None = typer.Option(
        None, metavar="WHERE", help=f"Set the offsets to: earliest, latest, {POSITION_HELP}"
    ),
    shift_by: int | None = typer.Option(None, metavar="N", help="Shift offsets by N; negative moves back."),
    execute: bool = typer.Option(False, "--execute", help="Commit the new offsets (default: dry run)."),
    create: bool = typer.Option(False, "--create", help="Create the consumer group if it does not exist."),
    as_json: bool = AsJson,
) -> None:
    r"""Reset a group's offsets. A dry run unless --execute is given.

    The group must have no live members. Out-of-range offsets are clamped to the log start or end. For a share group,
    this sets the start offset: records after it are delivered again, even if acknowledged.

    For example:

      penstock group reset readers --topic orders --to earliest
      penstock group reset readers --topic orders:0,2 \
        --to 2026-05-04T12:00:00Z --execute
      penstock group reset readers --all-topics --shift-by -100 --execute
    """
    if (to is None) == (shift_by is None):
        raise UsageError("say where to: either --to WHERE or --shift-by N")
    if bool(topic) == all_topics:
        raise UsageError("say what to reset: either --topic TOPIC[:PARTITIONS] or --all-topics")
    position = None if to is None else parse_position(to, "--to")
    groups = GroupAdmin(target)
    group = groups.find(name) if create else groups.describe(name)
    if group is not None:
        check_no_members(group, "reset")
    progress = {} if group is None else groups.progress(group)
    committed = {place: each.offset for place, each in progress.items() if each.offset is not None}
    places = list(committed) if all_topics else _named_places(fetch_metadata(groups.admin).topics, topic)
    bounds = groups.bounds(places)
    if position is not None:
        wanted = _resolve(groups.admin, bounds, position)
    else:
        wanted = shift(bounds, committed, shift_by or 0)
    changes = [
        Change(topic=at[0], partition=at[1], old=committed.get(at), new=offset)
        for at, offset in sorted(wanted.items())
    ]
    if not changes:
        raise CommandError(
            f"group {name} has committed nothing in a topic that exists: name one with --topic"
        )
    if execute and group is not None and group.type == SHARE:
        groups.shares.set_start_offsets(name, wanted)
    elif execute:
        _commit(groups, name, changes)
    print_result(
        {"group": name, "executed": execute, "offsets": changes},
        ("topic", "partition", "old", "new"),
        changes,
        as_json=as_json,
    )
    if not as_json:
        print(f"group {name} was reset" if execute else "nothing was changed: add --execute to do it")


def _named_places(known: Mapping[str, Any], options: Iterable[str]) -> list[Place]:
    """List the partitions that `--topic` options name."""
    places: dict[Place, None] = {}
    for option in options:
        topic, partitions = parse_topic(option)
        if topic not in known:
            raise unknown_topic(topic, known)
        there = known[topic].partitions
        for partition in select_partitions(topic, there, None) if partitions is None else partitions:
            select_partitions(topic, there, partition)
            places[topic, partition] = None
    return list(places)


def parse_topic(option: str) -> tuple[str, list[int] | None]:
    """Parse `orders`, which is all of a topic, or `orders:0,2`, which is two of its partitions."""
    topic, colon, numbers = option.partition(":")
    if not colon:
        return topic, None
    if not topic or not all(number.isdecimal() for number in numbers.split(",")):
        raise UsageError(
            f"--topic {option!r}: write the name of a topic, or NAME:0,1 for some of its partitions"
        )
    return topic, [int(number) for number in numbers.split(",")]


def _resolve(admin: Any, bounds: Mapping[Place, Bounds], position: Position) -> dict[Place, int]:
    found: dict[Place, int] = {}
    for topic, places in groupby(sorted(bounds), key=lambda place: place[0]):
        own = {partition: bounds[topic, partition] for _, partition in places}
        offsets = resolve_position(admin, topic, position, own)
        found |= {(topic, partition): offset for partition, offset in offsets.items()}
    return found


def shift(bounds: Mapping[Place, Bounds], committed: Mapping[Place, int], by: int) -> dict[Place, int]:
    """Move committed offsets forward or back, within the bounds of their partitions."""
    found: dict[Place, int] = {}
    for place, each in bounds.items():
        if place not in committed:
            raise CommandError(
                f"cannot shift {place[0]}-{place[1]}: the group has committed nothing there; "
                "use --to, or name other partitions"
            )
        found[place] = min(max(committed[place] + by, each.start), each.end)
    return found


def _commit(groups: GroupAdmin, name: str, changes: Iterable[Change]) -> None:
    wanted = [TopicPartition(each.topic, each.partition, each.new) for each in changes]
    request = groups.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(name, wanted)])
    altered: Any = wait_for(request[name], f"cannot reset group {name}")
    for place in altered.topic_partitions:
        if place.error is not None:
            check_no_members(groups.describe(name), "reset")  # one may have joined since
            raise CommandError(
                f"cannot reset group {name} in {place.topic}-{place.partition}: {describe_error(place.error)}"
            )
