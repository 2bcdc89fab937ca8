"""`penstock topic …`: create, list, describe, alter and delete topics, and delete their oldest records."""

from typing import Any

import typer
from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigResource, ConfigSource, NewPartitions, NewTopic

from penstock.cli.connect.librdkafka import wait_for
from penstock.cli.connect.offsets import fetch_bounds
from penstock.cli.connect.settings import parse_pairs
from penstock.cli.connect.target import Target, connects
from penstock.cli.connect.topics import check_topics, fetch_metadata, topic_partitions
from penstock.cli.errors import UsageError
from penstock.cli.output import AsJson, join_values, print_json, print_result, print_table

app = typer.Typer(
    help="Create, list, describe, alter and delete topics; delete their oldest records.", no_args_is_help=True
)

_BROKER_DEFAULT = -1
_PARTITIONS_MAX, _REPLICAS_MAX = 100_000, 10_000  # the limits of librdkafka


@app.command()
@connects
def create(
    target: Target,
    *,
    name: str = typer.Argument(metavar="TOPIC", help="Topic name."),
    partitions: int | None = typer.Option(
        None,
        min=1,
        max=_PARTITIONS_MAX,
        metavar="N",
        show_default="the broker's num.partitions",
        help="Number of partitions.",
    ),
    replication_factor: int | None = typer.Option(
        None,
        min=1,
        max=_REPLICAS_MAX,
        metavar="N",
        show_default="the broker's default.replication.factor",
        help="Replication factor of the topic.",
    ),
    config: list[str] = typer.Option(
        [], "--config", "-c", metavar="KEY=VALUE", help="Topic config override (repeatable)."
    ),
    if_not_exists: bool = typer.Option(False, "--if-not-exists", help="Do nothing if the topic exists."),
) -> None:
    """Create a topic.

    For example:

      penstock topic create orders --partitions 3
      penstock topic create state -c cleanup.policy=compact -c segment.bytes=1048576
    """
    settings = parse_pairs(config, "--config")
    admin = target.admin()
    if if_not_exists and name in fetch_metadata(admin).topics:
        print(f"topic {name} already exists")
        return
    new = NewTopic(
        name, partitions or _BROKER_DEFAULT, replication_factor or _BROKER_DEFAULT, config=settings
    )
    request = admin.create_topics([new])
    wait_for(request[name], f"cannot create topic {name}")
    print(f"created topic {name}")


@app.command("list")
@connects
def list_(
    target: Target,
    *,
    internal: bool = typer.Option(False, "--internal", help="List internal topics too."),
    as_json: bool = AsJson,
) -> None:
    """List the topics."""
    topics = fetch_metadata(target.admin()).topics
    found = [
        {
            "name": name,
            "partitions": len(topic.partitions),
            "replicationFactor": max((len(each.replicas) for each in topic.partitions.values()), default=0),
        }
        for name, topic in sorted(topics.items())
        if internal or not name.startswith("__")
    ]
    print_result(
        found,
        ("topic", "partitions", "replicas"),
        [list(topic.values()) for topic in found],
        as_json=as_json,
        empty="no topics; create one with `penstock topic create NAME`",
    )


@app.command()
@connects
def describe(
    target: Target,
    *,
    names: list[str] = typer.Argument(metavar="TOPIC", help="Topic names."),
    as_json: bool = AsJson,
) -> None:
    """Show partitions, leaders, replicas, offsets and the settings that differ from the defaults."""
    admin = target.admin()
    check_topics(admin, names)
    described = [_describe(admin, name) for name in names]
    if as_json:
        print_json(described)
        return
    for topic in described:
        _show(topic)


def _describe(admin: Any, name: str) -> dict[str, Any]:
    request = admin.describe_topics(TopicCollection([name]))
    topic: Any = wait_for(request[name], f"cannot describe topic {name}")
    bounds = fetch_bounds(admin, name, [partition.id for partition in topic.partitions])
    return {
        "name": name,
        "id": str(topic.topic_id),
        "internal": topic.is_internal,
        "config": _overrides(admin, name),
        "partitions": [
            {
                "partition": partition.id,
                "leader": partition.leader.id if partition.leader is not None else None,
                "replicas": [node.id for node in partition.replicas],
                "isr": [node.id for node in partition.isr],
                "startOffset": bounds[partition.id].start,
                "endOffset": bounds[partition.id].end,
            }
            for partition in topic.partitions
        ],
    }


def _overrides(admin: Any, name: str) -> dict[str, str]:
    """Fetch the settings of the topic itself."""
    resource = ConfigResource("topic", name)
    request = admin.describe_configs([resource])
    entries: Any = wait_for(request[resource], f"cannot read the settings of topic {name}")
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {key: entry.value for key, entry in sorted(entries.items()) if int(entry.source) == own}


def _show(topic: dict[str, Any]) -> None:
    partitions = topic["partitions"]
    print(f"topic {topic['name']}, id {topic['id']}, {len(partitions)} partition(s)")
    for key, value in topic["config"].items():
        print(f"  {key}={value}")
    print_table(
        ("partition", "leader", "replicas", "isr", "start", "end", "offsets"),
        [
            (
                each["partition"],
                "none" if each["leader"] is None else each["leader"],
                join_values(each["replicas"]),
                join_values(each["isr"]),
                each["startOffset"],
                each["endOffset"],
                each["endOffset"] - each["startOffset"],
            )
            for each in partitions
        ],
    )


@app.command()
@connects
def alter(
    target: Target,
    *,
    name: str = typer.Argument(metavar="TOPIC", help="Topic name."),
    partitions: int = typer.Option(
        ..., min=1, max=_PARTITIONS_MAX, metavar="N", help="Raise the number of partitions to this."
    ),
) -> None:
    """Add partitions. Change settings with `penstock config set topic NAME KEY=VALUE`.

    Records are not moved; new records of a key may go to another partition than the old ones.
    """
    admin = target.admin()
    count = len(topic_partitions(admin, name))
    request = admin.create_partitions([NewPartitions(name, partitions)])
    wait_for(request[name], f"cannot give topic {name} {partitions} partitions instead of {count}")
    print(f"topic {name} has {partitions} partitions")


@app.command("delete-records")
@connects
def delete_records(
    target: Target,
    *,
    name: str = typer.Argument(metavar="TOPIC", help="Topic name."),
    before: str = typer.Option(
        ..., metavar="OFFSET|end", help="Delete every record below this offset; `end`: all records."
    ),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="all", help="Delete records of this partition only."
    ),
) -> None:
    """Delete the oldest records of a topic. This cannot be undone.

    For example:

      penstock topic delete-records orders --before end
      penstock topic delete-records orders --partition 0 --before 1200
    """
    offset = -1 if before == "end" else int(before) if before.isdecimal() else None
    if offset is None:
        raise UsageError(f"--before {before} is neither an offset nor `end`: give one of them")
    admin = target.admin()
    chosen = topic_partitions(admin, name, partition)
    request = admin.delete_records([TopicPartition(name, each, offset) for each in chosen])
    for place, future in request.items():
        deleted: Any = wait_for(future, f"cannot delete records of {name}-{place.partition}")
        print(f"{name}-{place.partition} now starts at offset {deleted.low_watermark}")


@app.command()
@connects
def delete(
    target: Target, *, names: list[str] = typer.Argument(metavar="TOPIC", help="Topic names.")
) -> None:
    """Delete topics with all their records."""
    admin = target.admin()
    check_topics(admin, names)
    for name, future in admin.delete_topics(names).items():
        wait_for(future, f"cannot delete topic {name}")
        print(f"deleted topic {name}")
