"""`penstock dlq …`: show the records that pipelines rejected, and replay them."""

import contextlib
from typing import Any, Literal

import msgspec
import typer
from confluent_kafka import Producer

from penstock.cli.connect.offsets import POSITION_HELP, fetch_bounds, parse_position, resolve_position
from penstock.cli.connect.target import Target, connects
from penstock.cli.connect.topics import topic_partitions
from penstock.cli.consume.reader import make_consumer, read_batches
from penstock.cli.dlq.rejected_record import (
    COLUMNS,
    Filter,
    RejectedRecord,
    find_topic,
    json_line,
    parse_rejected,
    table_row,
)
from penstock.cli.dlq.replay import Replay, replay_records
from penstock.cli.options import takes
from penstock.cli.output import print_table

app = typer.Typer(
    help="Show and replay the records that pipelines rejected (dead-letter topics).", no_args_is_help=True
)

Name: str = typer.Argument(metavar="PIPELINE|TOPIC", help="The pipeline, or its dead-letter topic.")


class FilterOptions(msgspec.Struct, frozen=True, kw_only=True):
    error: str | None = typer.Option(
        None, metavar="TEXT", help="Select records whose error contains this text (case-insensitive)."
    )
    step: str | None = typer.Option(None, metavar="NAME", help="Select records of this source or step.")
    count_max: int | None = typer.Option(
        None, "--max-messages", "-n", min=0, metavar="N", help="Stop after this many records."
    )

    def filter(self) -> Filter:
        return Filter(error=self.error, step=self.step)


@app.command()
@connects
@takes(FilterOptions)
def show(
    options: FilterOptions,
    target: Target,
    *,
    name: str = Name,
    from_: str = typer.Option(
        "earliest", "--from", metavar="WHERE", help=f"Begin at: earliest (or start), {POSITION_HELP}"
    ),
    form: Literal["table", "json"] = typer.Option(
        "table", "--format", help="Print a table, or json: one JSON object per line, with the whole record."
    ),
) -> None:
    """Show rejected records: key, origin, the step that rejected them, and the error.

    For example:

      penstock dlq show payments
      penstock dlq show payments --step orders --error "required, but missing"
      penstock dlq show payments --from -1h --format json
    """
    position = parse_position(from_)
    admin = target.admin()
    topic = find_topic(admin, name)
    bounds = fetch_bounds(admin, topic, topic_partitions(admin, topic), is_read_committed=True)
    first = resolve_position(admin, topic, position, bounds)
    ends = {at: each.end for at, each in bounds.items()}
    selected = options.filter()
    found: list[RejectedRecord] = []
    with contextlib.closing(make_consumer(target)) as consumer:
        for record in (each for batch in read_batches(consumer, topic, first, ends) for each in batch):
            if options.count_max is not None and len(found) >= options.count_max:
                break
            rejected = parse_rejected(record)
            if rejected is not None and selected.matches(rejected):
                found.append(rejected)
                if form == "json":
                    print(json_line(rejected))
    if form == "table" and found:
        print_table(COLUMNS, map(table_row, found))
        print(f"{len(found)} rejected record(s) in {topic}")
    elif form == "table":
        print(f"no matching records in {topic}")


@app.command()
@connects
@takes(FilterOptions)
def replay(
    options: FilterOptions,
    target: Target,
    *,
    name: str = Name,
    to: str | None = typer.Option(
        None, metavar="TOPIC", show_default="the origin of each", help="Send all of them to this topic."
    ),
    include_replayed: bool = typer.Option(
        False, "--include-replayed", help="Also replay records that were replayed before."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would be sent, and send nothing."),
) -> None:
    """Send rejected records back to the topics they were read from, with key, value, headers and partition.

    A consumer group stores which records were replayed, in the same transaction that sends them: running the command
    twice, or killing it, sends nothing twice.

    For example:

      penstock dlq replay payments --dry-run
      penstock dlq replay payments --step orders --error "required, but missing"
      penstock dlq replay payments --to orders-repaired
    """
    admin = target.admin()
    topic = find_topic(admin, name)
    plan = Replay(
        topic=topic,
        selected=options.filter(),
        to=to,
        include_replayed=include_replayed,
        count_max=options.count_max,
        dry_run=dry_run,
    )
    with contextlib.closing(make_consumer(target, group=plan.group)) as consumer:
        done = replay_records(admin, consumer, lambda: _make_producer(target, plan.group), plan)
    if dry_run and done.planned:
        print_table((*COLUMNS, "to"), [(*table_row(each), sent_to) for each, sent_to in done.planned])
    verb = "would replay" if dry_run else "replayed"
    print(f"{verb} {done.count} record(s) of {topic}")
    if done.rows:
        print(f"cannot replay {done.rows} record(s): they hold rows of a step, not the records that it read")


def _make_producer(target: Target, transactional_id: str) -> Any:
    # murmur2 is the partitioner of Kafka's own clients and of the pipeline's sink.
    config = {"transactional.id": transactional_id, "partitioner": "murmur2_random", "linger.ms": 5}
    return target.client(Producer, **config)
