"""`penstock group reset`: let a group go on from somewhere else. A dry run, unless `--execute` is said."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import typer

from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    BootstrapServer,
    ClientSetting,
    admin_client,
    describe_error,
    metadata_of,
    result_of,
    unknown_topic,
)
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.group_facts import (
    Bounds,
    bounds_of,
    committed_offsets,
    describe_group,
    find_group,
    refuse_live_members,
)
from penstock.cli.group_values import Group, Place
from penstock.cli.offsets import at_time
from penstock.cli.output import AsJson, print_json, print_table
from penstock.cli.position import parse_position
from penstock.cli.share_groups import SHARE, ShareGroupAdmin
from penstock.client.positions import Position, Time, first_offsets


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """What a reset does to one partition."""

    topic: str
    partition: int
    old: int | None
    new: int


def reset(
    *,
    name: str = typer.Argument(help="The group."),
    topic: list[str] = typer.Option(
        [],
        "--topic",
        "-t",
        metavar="NAME[:0,1]",
        help="A topic, or some of its partitions. May be given again.",
    ),
    all_topics: bool = typer.Option(
        False, "--all-topics", help="Every partition that the group has read in."
    ),
    to: str | None = typer.Option(
        None,
        metavar="WHERE",
        help="earliest, latest, an offset, -N (the last N of each partition), -15m (a quarter of an hour ago; "
        "s, m, h, d), a time like 2026-05-04T12:00:00Z, or milliseconds since 1970.",
    ),
    shift_by: int | None = typer.Option(
        None, metavar="N", help="So many records on from where the group is; back, if below zero."
    ),
    execute: bool = typer.Option(
        False, "--execute", help="Do it, instead of only showing what would be done."
    ),
    create: bool = typer.Option(
        False, "--create", help="Make a consumer group if there is none of that name."
    ),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Let a group go on from elsewhere: shows old and new offsets, and commits the new ones with --execute.

    The group must have no live members. Offsets outside of what a partition holds become its start or its end. A
    share group starts there: what it was done with behind that comes again.

    For example:

      penstock group reset readers --topic orders --to earliest
      penstock group reset readers --topic orders:0,2 --to 2026-05-04T12:00:00Z --execute
      penstock group reset readers --all-topics --shift-by -100 --execute
    """
    if (to is None) == (shift_by is None):
        raise CommandError("say where to: either --to WHERE or --shift-by N", EXIT_USAGE)
    if bool(topic) == all_topics:
        raise CommandError("say what to reset: either --topic NAME[:PARTITIONS] or --all-topics", EXIT_USAGE)
    position = None if to is None else parse_position(to, time.time_ns() // 1_000_000, "--to")
    admin = admin_client(server, client)
    metadata_of(admin)
    shares = ShareGroupAdmin(server, client)
    group = _check_group(admin, shares, name, create=create)
    is_share = group is not None and group.type == SHARE
    committed = _started(shares, name) if is_share else committed_offsets(admin, name)
    places = list(committed) if all_topics else _chosen(metadata_of(admin).topics, topic)
    bounds = bounds_of(admin, places)
    if position is not None:
        wanted = _positioned(admin, bounds, position)
    else:
        wanted = shifted(bounds, committed, shift_by or 0)
    moves = [
        Move(topic=at[0], partition=at[1], old=committed.get(at), new=offset)
        for at, offset in sorted(wanted.items())
    ]
    if not moves:
        raise CommandError(
            f"group {name} has committed nothing in a topic that exists: name one with --topic"
        )
    if execute and is_share:
        shares.start_at(name, {(move.topic, move.partition): move.new for move in moves})
    elif execute:
        _commit(admin, shares, name, moves)
    _show(name, moves, is_done=execute, as_json=as_json)


def _check_group(admin: Any, shares: ShareGroupAdmin, name: str, *, create: bool) -> Group | None:
    if create and describe_group(admin, shares, name) is None:
        return None
    group = find_group(admin, shares, name)
    refuse_live_members(group, "reset")
    return group


def _started(shares: ShareGroupAdmin, name: str) -> dict[Place, int]:
    return {place: each.offset for place, each in shares.starts(name).items() if each.offset is not None}


def _chosen(known: Mapping[str, Any], topics: Iterable[str]) -> list[Place]:
    """The partitions that `--topic` options mean."""
    places: dict[Place, None] = {}
    for option in topics:
        topic, partitions = split_topic(option)
        if topic not in known:
            raise unknown_topic(topic, known)
        there = sorted(known[topic].partitions)
        for partition in there if partitions is None else partitions:
            if partition not in there:
                raise CommandError(f"topic {topic} has no partition {partition}: it has 0 to {there[-1]}")
            places[topic, partition] = None
    return list(places)


def split_topic(option: str) -> tuple[str, list[int] | None]:
    """`orders` is all of a topic, `orders:0,2` two partitions of it."""
    topic, colon, numbers = option.partition(":")
    if not colon:
        return topic, None
    if not topic or not all(number.isdecimal() for number in numbers.split(",")):
        raise CommandError(
            f"--topic {option!r}: write the name of a topic, or NAME:0,1 for some of its partitions",
            EXIT_USAGE,
        )
    return topic, [int(number) for number in numbers.split(",")]


def _positioned(admin: Any, bounds: Mapping[Place, Bounds], position: Position) -> dict[Place, int]:
    by_topic: dict[str, dict[int, Bounds]] = {}
    for (topic, partition), each in bounds.items():
        by_topic.setdefault(topic, {})[partition] = each
    found: dict[Place, int] = {}
    for topic, partitions in by_topic.items():
        times = at_time(admin, topic, partitions, position.timestamp_ms) if isinstance(position, Time) else {}
        starts = {partition: each.start for partition, each in partitions.items()}
        ends = {partition: each.end for partition, each in partitions.items()}
        for partition, offset in first_offsets(position, starts, ends, times).items():
            found[topic, partition] = offset
    return found


def shifted(bounds: Mapping[Place, Bounds], committed: Mapping[Place, int], by: int) -> dict[Place, int]:
    """Committed offsets moved on or back, never outside of what is there."""
    found: dict[Place, int] = {}
    for place, each in bounds.items():
        if place not in committed:
            raise CommandError(
                f"cannot shift {place[0]}-{place[1]}: the group has committed nothing there; "
                "use --to, or name other partitions"
            )
        found[place] = min(max(committed[place] + by, each.start), each.end)
    return found


def _commit(admin: Any, shares: ShareGroupAdmin, name: str, moves: Iterable[Move]) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    wanted = [TopicPartition(move.topic, move.partition, move.new) for move in moves]
    request = admin.alter_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(name, wanted)], request_timeout=REQUEST_TIMEOUT_SECONDS
    )
    altered: Any = result_of(request[name], f"cannot reset group {name}")
    for place in altered.topic_partitions:
        if place.error is not None:
            refuse_live_members(find_group(admin, shares, name), "reset")  # one has joined meanwhile
            raise CommandError(
                f"cannot reset group {name} in {place.topic}-{place.partition}: {describe_error(place.error)}"
            )


def _show(name: str, moves: list[Move], *, is_done: bool, as_json: bool) -> None:
    if as_json:
        print_json({"group": name, "executed": is_done, "offsets": moves})
        return
    print_table(
        ("topic", "partition", "old", "new"),
        [(move.topic, move.partition, "-" if move.old is None else move.old, move.new) for move in moves],
    )
    print(f"group {name} was reset" if is_done else "nothing was changed: add --execute to do it")
