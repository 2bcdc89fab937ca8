"""`penstock consume`: print the records of a topic."""

import contextlib
import sys
from functools import partial
from typing import Any, Literal

import typer
from confluent_kafka import Consumer, ShareConsumer

from penstock.cli.connect.offsets import POSITION_HELP, fetch_bounds, parse_position, resolve_position
from penstock.cli.connect.target import Target, connects
from penstock.cli.connect.topics import ask_for_topic, topic_partitions
from penstock.cli.consume.group_reader import GroupReader, find_starts
from penstock.cli.consume.reader import POLL_RECORDS, consumer_config, make_consumer, read_batches
from penstock.cli.consume.share_reader import ShareReader
from penstock.cli.errors import UsageError
from penstock.cli.record_format import FIELDS, make_renderer

Isolation = Literal["read_committed", "read_uncommitted"]


@connects
def consume(
    target: Target,
    *,
    topic: str | None = typer.Argument(None, metavar="TOPIC", help="Topic name (prompts if omitted)."),
    from_: str | None = typer.Option(
        None,
        "--from",
        metavar="WHERE",
        show_default="earliest",
        help=f"Begin at: earliest (or start), latest (or end), {POSITION_HELP}",
    ),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="all", help="Read only this partition."
    ),
    group: str | None = typer.Option(
        None,
        "--group",
        "-g",
        metavar="GROUP",
        help="Join this consumer group: start at its committed offsets (at --from if it has none), and commit the "
        "offsets of printed records.",
    ),
    share_group: str | None = typer.Option(
        None,
        metavar="GROUP",
        help="Join this share group and acknowledge printed records. Its setting share.auto.offset.reset sets where "
        "it starts.",
    ),
    max_messages: int | None = typer.Option(
        None, "--max-messages", "-n", min=0, metavar="N", help="Stop after this many records."
    ),
    follow: bool = typer.Option(True, help="Wait for new records, or stop at the current end of the log."),
    form: str = typer.Option(
        "text",
        "--format",
        metavar="FORMAT",
        help="Print text, json (one JSON object per line), raw (the values), hex, or a template of "
        f"{', '.join(FIELDS)}, such as '{{offset}} {{key}}: {{value}}'.",
    ),
    isolation: Isolation | None = typer.Option(
        None,
        show_default="read_committed",
        help="Transaction isolation level.",
    ),
) -> None:
    """Print the records of a topic. Without --group or --share-group it joins no group and commits nothing.

    For example:

      penstock consume orders --from -10 --no-follow
      penstock consume orders --from 2026-05-04T12:00:00Z --format json
      penstock consume orders --partition 0 --from 1200 -n 1 --format raw
      penstock consume orders --group readers
      penstock consume jobs --share-group workers
    """
    if "" in (group, share_group):
        raise UsageError("the group's name is empty: give one, or leave out --group and --share-group")
    if (group or share_group) and partition is not None:
        raise UsageError("a group assigns the partitions itself: leave out --partition")
    render = make_renderer(form)
    if share_group is not None:
        _check_share_options(share_group, group, from_, isolation, follow=follow)
    position = parse_position(from_ or "earliest")
    isolation = isolation or "read_committed"
    is_read_committed = isolation == "read_committed"
    admin = target.admin()
    if topic is None:
        topic = ask_for_topic(admin, "consume")
    chosen = topic_partitions(admin, topic, partition)
    if share_group is not None:
        with contextlib.closing(
            ShareReader(_share_consumer(target, share_group, max_messages), topic)
        ) as sharer:
            sharer.copy(render, max_messages)
        return
    if group is not None:
        starts = partial(find_starts, admin, topic, position, is_read_committed=is_read_committed)
        make_member = partial(_group_consumer, target, isolation, group, follow=follow)
        with contextlib.closing(GroupReader(make_member, topic, starts, follow=follow)) as member:
            member.copy(render, max_messages)
        return
    bounds = fetch_bounds(admin, topic, chosen, is_read_committed=is_read_committed)
    first = resolve_position(admin, topic, position, bounds)
    ends = None if follow else {at: each.end for at, each in bounds.items()}
    # Ctrl-C is the way to stop a reader that follows: not an error.
    with (
        contextlib.suppress(KeyboardInterrupt),
        contextlib.closing(make_consumer(target, isolation=isolation, follow=follow)) as consumer,
    ):
        for records in read_batches(consumer, topic, first, ends, max_messages):
            for record in records:
                sys.stdout.buffer.write(render(record))
            sys.stdout.buffer.flush()


def _check_share_options(
    name: str, group: str | None, from_: str | None, isolation: str | None, *, follow: bool
) -> None:
    if group is not None:
        raise UsageError("give --group or --share-group, not both")
    if not follow:
        raise UsageError(
            "a share group has no end: records that others release may come at any time. End it with --max-messages N "
            "or Ctrl-C"
        )
    for option, value, setting in (
        ("--from", from_, "share.auto.offset.reset=earliest"),
        ("--isolation", isolation, f"share.isolation.level={isolation}"),
    ):
        if value is not None:
            raise UsageError(
                f"{option} is a setting of the share group, for all its members: "
                f"`penstock config set group {name} {setting}`"
            )


def _share_consumer(target: Target, group: str, count_max: int | None) -> Any:
    """Batches are acquired whole: poll for no more records than are wanted."""
    config = {
        "group.id": group,
        "share.acknowledgement.mode": "explicit",
        "check.crcs": True,
        "max.poll.records": POLL_RECORDS if count_max is None else max(1, min(POLL_RECORDS, count_max)),
    }
    return target.client(ShareConsumer, **config)


def _group_consumer(target: Target, isolation: str, group: str, on_commit: Any, *, follow: bool) -> Any:
    config = consumer_config(isolation=isolation, group=group, follow=follow)
    return target.client(Consumer, **config | {"auto.offset.reset": "earliest", "on_commit": on_commit})
