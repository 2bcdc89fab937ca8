"""`penstock dlq …`: look at the records that pipelines rejected, and send them round again."""

import contextlib
import time
from typing import Any, Literal

import typer

from penstock.cli.connection import (
    BootstrapServer,
    ClientSetting,
    admin_client,
    client_config,
    make_client,
    partitions_of,
)
from penstock.cli.dlq_letters import (
    COLUMNS,
    Choice,
    Letter,
    as_letter,
    find_topic,
    json_line,
    read_records,
    table_row,
)
from penstock.cli.dlq_replay import Replay, replay_letters
from penstock.cli.offsets import at_time, earliest, latest
from penstock.cli.output import print_table
from penstock.cli.position import parse_position
from penstock.client.positions import Time, first_offsets

app = typer.Typer(help="Show and replay the dead letters of pipelines.", no_args_is_help=True)

Name: str = typer.Argument(metavar="PIPELINE|TOPIC", help="The pipeline, or its dead-letter topic.")
ErrorText: str | None = typer.Option(
    None, "--error", metavar="TEXT", help="Only letters whose reason contains this, in any case of letters."
)
StepName: str | None = typer.Option(
    None, "--step", metavar="NAME", help="Only letters of this source or step."
)
Count: int | None = typer.Option(
    None, "--max-messages", "-n", min=0, metavar="N", help="Stop after so many letters."
)


@app.command()
def show(
    *,
    name: str = Name,
    error: str | None = ErrorText,
    step: str | None = StepName,
    from_: str = typer.Option(
        "start",
        "--from",
        metavar="WHERE",
        help="start, an offset, -N (the last N of each partition), -15m (a quarter of an hour ago; s, m, h, d), "
        "a time like 2026-05-04T12:00:00Z, or milliseconds since 1970.",
    ),
    count_max: int | None = Count,
    form: Literal["table", "json"] = typer.Option(
        "table", "--format", help="A table, or json: an object a line, with the whole record."
    ),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Show dead letters: which record, where it was read, which step rejected it, and why.

    For example:

      penstock dlq show payments
      penstock dlq show payments --step orders --error "required, but missing"
      penstock dlq show payments --from -1h --format json
    """
    position = parse_position(from_, time.time_ns() // 1_000_000)
    admin = admin_client(server, client)
    topic = find_topic(admin, name)
    partitions = partitions_of(admin, topic)
    starts = earliest(admin, topic, partitions)
    ends = latest(admin, topic, partitions, is_read_committed=True)
    times = at_time(admin, topic, partitions, position.timestamp_ms) if isinstance(position, Time) else {}
    choice = Choice(error=error, step=step)
    found: list[Letter] = []
    with contextlib.closing(make_consumer(server, client)) as consumer:
        for record in read_records(consumer, topic, first_offsets(position, starts, ends, times), ends):
            if count_max is not None and len(found) >= count_max:
                break
            letter = as_letter(record)
            if letter is not None and choice.takes(letter):
                found.append(letter)
                if form == "json":
                    print(json_line(letter))
    if form == "table":
        _show_table(topic, found)


def _show_table(topic: str, letters: list[Letter]) -> None:
    if not letters:
        print(f"no such letters in {topic}")
        return
    print_table(COLUMNS, [table_row(letter) for letter in letters])
    print(f"{len(letters)} dead letter(s) in {topic}")


@app.command()
def replay(
    *,
    name: str = Name,
    error: str | None = ErrorText,
    step: str | None = StepName,
    to: str | None = typer.Option(
        None, metavar="TOPIC", show_default="where each was read", help="Send all of them to this topic."
    ),
    count_max: int | None = Count,
    again: bool = typer.Option(False, "--again", help="Also those that were replayed before."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show what would be sent."),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Send rejected records back to the topics they were read from, as they were: key, value, headers, partition.

    Which letters were replayed is remembered in a consumer group, in the same transaction that sends them: running it
    twice, or killing it on the way, sends nothing twice.

    For example:

      penstock dlq replay payments --dry-run
      penstock dlq replay payments --step orders --error "required, but missing"
      penstock dlq replay payments --to orders-repaired
    """
    admin = admin_client(server, client)
    topic = find_topic(admin, name)
    plan = Replay(
        topic=topic,
        choice=Choice(error=error, step=step),
        to=to,
        again=again,
        count_max=count_max,
        dry_run=dry_run,
    )
    with contextlib.closing(make_consumer(server, client, plan.group)) as consumer:
        done = replay_letters(admin, consumer, lambda: make_producer(server, client, plan.group), plan)
    if dry_run and done.letters:
        print_table((*COLUMNS, "to"), [(*table_row(each), target) for each, target in done.letters])
    verb = "would be replayed" if dry_run else "replayed"
    print(f"{done.count} dead letter(s) of {topic} {verb}")
    if done.rows:
        print(f"{done.rows} hold rows of a step that had lost their records, and cannot be replayed")


def make_consumer(server: str, settings: list[str], group: str = "penstock-cli") -> Any:
    from confluent_kafka import Consumer

    return make_client(
        Consumer,
        client_config(
            server,
            settings,
            **{
                "group.id": group,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "check.crcs": True,
                "fetch.queue.backoff.ms": 20,
                "fetch.wait.max.ms": 20,  # that the end is reached is told by a fetch that brings nothing
            },
        ),
    )


def make_producer(server: str, settings: list[str], transactional_id: str) -> Any:
    from confluent_kafka import Producer

    # murmur2 is what Kafka's own clients, Spark's sink and ours choose a partition with.
    return make_client(
        Producer,
        client_config(
            server,
            settings,
            **{"transactional.id": transactional_id, "partitioner": "murmur2_random", "linger.ms": 5},
        ),
    )
