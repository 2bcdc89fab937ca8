"""`penstock consume`: show the records of a topic."""

import contextlib
import sys
import time
from collections.abc import Mapping
from typing import Any, Literal

import typer

from penstock.cli.choose import choose_topic
from penstock.cli.connection import (
    BootstrapServer,
    ClientSetting,
    admin_client,
    client_config,
    make_client,
    metadata_of,
    reading_failed,
)
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.group_reader import GroupReader, Starts
from penstock.cli.offsets import at_time, earliest, latest
from penstock.cli.position import parse_position
from penstock.cli.record_format import Render, record_format, shown_message
from penstock.cli.share_reader import ShareReader
from penstock.cli.silence import POLL_SECONDS, Silence
from penstock.cli.topic import choose_partitions
from penstock.client.positions import Position, Time, first_offsets

_POLL_RECORDS = 500

Isolation = Literal["read_committed", "read_uncommitted"]


def consume(
    *,
    topic: str | None = typer.Argument(
        None, help="The topic; without it you are shown the topics to choose from."
    ),
    from_: str | None = typer.Option(
        None,
        "--from",
        metavar="WHERE",
        show_default="start",
        help="start, end, an offset, -N (the last N of each partition), -15m (a quarter of an hour ago; s, m, h, d), "
        "a time like 2026-05-04T12:00:00Z, or milliseconds since 1970.",
    ),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="all", help="Only this partition."
    ),
    group: str | None = typer.Option(
        None,
        "--group",
        "-g",
        metavar="NAME",
        help="Join this consumer group: share the partitions with its other members, go on from what it committed "
        "(--from is for where it has not) and commit what was shown.",
    ),
    share_group: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Join this share group: take records that no other member has, of any partition, and accept what was "
        "shown. Where it begins is a setting of the group, share.auto.offset.reset.",
    ),
    max_messages: int | None = typer.Option(
        None, "--max-messages", "-n", min=0, metavar="N", help="Stop after so many."
    ),
    follow: bool = typer.Option(True, help="Wait for new records, or stop at what is the end now."),
    form: str = typer.Option(
        "text",
        "--format",
        metavar="FORM",
        help="text, json (an object a line), raw (the values), hex, or a template such as '{offset} {key}: {value}'.",
    ),
    isolation: Isolation | None = typer.Option(
        None,
        show_default="read_committed",
        help="Whether records of aborted and open transactions are shown.",
    ),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Show the records of a topic. Without --group or --share-group it belongs to no group and commits nothing.

    For example:

      penstock consume orders --from -10 --no-follow
      penstock consume orders --from 2026-05-04T12:00:00Z --format json
      penstock consume orders --partition 0 --from 1200 -n 1 --format raw
      penstock consume orders --group readers
      penstock consume jobs --share-group workers
    """
    if "" in (group, share_group):
        raise CommandError(
            "the group's name is empty: give one, or leave out --group and --share-group", EXIT_USAGE
        )
    if (group or share_group) and partition is not None:
        raise CommandError("a group shares out the partitions itself: leave out --partition", EXIT_USAGE)
    render = record_format(form)
    if share_group is not None:
        _refuse_in_share_group(share_group, group, from_, isolation, follow=follow)
    position = parse_position(from_ or "start", time.time_ns() // 1_000_000)
    isolation = isolation or "read_committed"
    admin = admin_client(server, client)
    if topic is None:
        topic = choose_topic(admin, "consume")
    chosen = choose_partitions(admin, topic, partition)
    is_read_committed = isolation == "read_committed"
    if share_group is not None:
        config = _share_config(server, client, share_group, max_messages)
        with contextlib.closing(ShareReader(make_client(_share_consumer_class(), config), topic)) as sharer:
            sharer.copy(render, max_messages)
        return
    if group is not None:
        config = _consumer_config(server, client, isolation, group, follow=follow)
        with contextlib.closing(_join(admin, config, topic, position, follow=follow)) as member:
            member.copy(render, max_messages)
        return
    ends = latest(admin, topic, chosen, is_read_committed=is_read_committed)
    starts, times = _bounds(admin, topic, chosen, position)
    reader = _Reader(
        make_client(_consumer_class(), _consumer_config(server, client, isolation, follow=follow)),
        topic,
        first_offsets(position, starts, ends, times),
        None if follow else ends,
    )
    # Ctrl-C is how a reader that follows is stopped: no failure.
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(reader):
        reader.copy(render, max_messages)


def _refuse_in_share_group(
    name: str, group: str | None, from_: str | None, isolation: str | None, *, follow: bool
) -> None:
    if group is not None:
        raise CommandError("give --group or --share-group: nobody is in both at once", EXIT_USAGE)
    if not follow:
        raise CommandError(
            "a share group has no end: what others give back may come at any time. End it with --max-messages N or "
            "Ctrl-C",
            EXIT_USAGE,
        )
    for option, value, setting in (
        ("--from", from_, "share.auto.offset.reset=earliest"),
        ("--isolation", isolation, f"share.isolation.level={isolation}"),
    ):
        if value is not None:
            raise CommandError(
                f"{option} is a setting of the share group, for all its members: "
                f"`penstock config set group {name} {setting}`",
                EXIT_USAGE,
            )


def _share_config(server: str, settings: list[str], group: str, count_max: int | None) -> dict[str, object]:
    """A batch comes whole: no more of them than are wanted."""
    return client_config(
        server,
        settings,
        **{
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "check.crcs": True,
            "max.poll.records": _POLL_RECORDS if count_max is None else max(1, min(_POLL_RECORDS, count_max)),
        },
    )


def _join(
    admin: Any, config: Mapping[str, object], topic: str, position: Position, *, follow: bool
) -> GroupReader:
    is_read_committed = config["isolation.level"] == "read_committed"
    starts = Starts(admin, topic, position, is_read_committed=is_read_committed)
    return GroupReader(
        lambda on_commit: make_client(_consumer_class(), {**config, "on_commit": on_commit}),
        topic,
        starts.of,
        follow=follow,
    )


def _bounds(
    admin: Any, topic: str, partitions: list[int], position: Position
) -> tuple[dict[int, int], dict[int, int]]:
    times = at_time(admin, topic, partitions, position.timestamp_ms) if isinstance(position, Time) else {}
    return earliest(admin, topic, partitions), times


def _consumer_class() -> Any:
    from confluent_kafka import Consumer

    return Consumer


def _share_consumer_class() -> Any:
    from confluent_kafka import ShareConsumer

    return ShareConsumer


def _consumer_config(
    server: str, settings: list[str], isolation: str, group: str | None = None, *, follow: bool
) -> dict[str, object]:
    # That the end is reached is told by a fetch that brings nothing.
    soon = {} if follow else {"fetch.wait.max.ms": 20}
    return client_config(
        server,
        settings,
        **{
            # The library wants a group in any case; where it is this one, nothing is joined and nothing committed.
            "group.id": "penstock-cli" if group is None else group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            "auto.offset.reset": "error" if group is None else "earliest",
            "isolation.level": isolation,
            "fetch.queue.backoff.ms": 20,  # the library would rest for a second whenever its queue is full
            **soon,
        },
    )


class _Reader:
    """Reads partitions from given offsets on, until given ends or for ever."""

    def __init__(
        self, consumer: Any, topic: str, first: Mapping[int, int], ends: Mapping[int, int] | None
    ) -> None:
        from confluent_kafka import KafkaError, TopicPartition

        self._consumer = consumer
        self._end_of_partition = KafkaError._PARTITION_EOF  # noqa: SLF001 - its public name begins so
        self._topic = topic
        self._ends = ends
        places = first.items() if ends is None else [(p, at) for p, at in first.items() if at < ends[p]]
        self._open = {partition for partition, _ in places}
        metadata_of(consumer)  # or the library would ask by itself, but only a second later
        consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in places])

    def copy(self, render: Render, count_max: int | None) -> None:
        """Write records to standard output as they come."""
        out = sys.stdout.buffer
        left = count_max
        silence = Silence(self._consumer, self._topic)
        while self._open and left != 0:
            messages = self._consumer.consume(min(_POLL_RECORDS, left or _POLL_RECORDS), POLL_SECONDS)
            if messages or self._ends is None:
                silence.heard()
            else:
                silence.lasts()
            for message in messages:
                if not self._is_wanted(message):
                    continue
                out.write(render(shown_message(message)))
                if left is not None:
                    left -= 1
            out.flush()

    def _is_wanted(self, message: Any) -> bool:
        error = message.error()
        partition = message.partition()
        if error is not None:
            if error.code() == self._end_of_partition:
                if self._ends is not None:
                    self._open.discard(partition)
                return False
            raise reading_failed(f"{self._topic}-{partition}", self._topic, error)
        if self._ends is None:
            return True
        end = self._ends[partition]
        if message.offset() + 1 >= end:
            self._open.discard(partition)
        return bool(message.offset() < end)

    def close(self) -> None:
        self._consumer.close()
