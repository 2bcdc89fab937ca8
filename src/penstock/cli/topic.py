"""`penstock topic …`: make, list, describe, alter, empty and delete topics."""

from typing import Any

import typer

from penstock.cli.connection import (
    REQUEST_TIMEOUT_SECONDS,
    BootstrapServer,
    ClientSetting,
    admin_client,
    metadata_of,
    pairs,
    partitions_of,
    result_of,
    unknown_topic,
)
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.output import AsJson, list_of, print_json, print_table

app = typer.Typer(help="Make, list, describe, alter, empty and delete topics.", no_args_is_help=True)

_BROKER_DEFAULT = -1
_PARTITIONS_MAX, _REPLICAS_MAX = 100_000, 10_000  # librdkafka asks for no more


@app.command()
def create(
    *,
    name: str = typer.Argument(help="The new topic."),
    partitions: int | None = typer.Option(
        None,
        min=1,
        max=_PARTITIONS_MAX,
        metavar="N",
        show_default="the broker's num.partitions",
        help="How many partitions.",
    ),
    replication_factor: int | None = typer.Option(
        None,
        min=1,
        max=_REPLICAS_MAX,
        metavar="N",
        show_default="the broker's default.replication.factor",
        help="Copies of each.",
    ),
    config: list[str] = typer.Option(
        [], "--config", "-c", metavar="KEY=VALUE", help="A topic setting. May be given again."
    ),
    if_not_exists: bool = typer.Option(False, "--if-not-exists", help="Do nothing when the topic exists."),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Make a topic.

    For example:

      penstock topic create orders --partitions 3
      penstock topic create state -c cleanup.policy=compact -c segment.bytes=1048576
    """
    from confluent_kafka.admin import NewTopic

    settings = pairs(config, "--config")
    admin = admin_client(server, client)
    known = metadata_of(admin).topics  # first of all: it tells whether a broker answers
    if if_not_exists and name in known:
        print(f"topic {name} exists already")
        return
    new = NewTopic(
        name, partitions or _BROKER_DEFAULT, replication_factor or _BROKER_DEFAULT, config=settings
    )
    request = admin.create_topics([new], request_timeout=REQUEST_TIMEOUT_SECONDS)
    result_of(request[name], f"cannot make topic {name}")
    print(f"made topic {name}")


@app.command("list")
def list_(
    *,
    internal: bool = typer.Option(False, "--internal", help="Show the broker's own topics too."),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """List the topics."""
    topics = metadata_of(admin_client(server, client)).topics
    found = [
        {
            "name": name,
            "partitions": len(topic.partitions),
            "replicationFactor": max((len(each.replicas) for each in topic.partitions.values()), default=0),
        }
        for name, topic in sorted(topics.items())
        if internal or not name.startswith("__")
    ]
    if as_json:
        print_json(found)
    elif found:
        print_table(("topic", "partitions", "replicas"), [list(topic.values()) for topic in found])
    else:
        print("no topics; make one with `penstock topic create NAME`")


@app.command()
def describe(
    *,
    names: list[str] = typer.Argument(metavar="NAME...", help="The topics."),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Show partitions, leaders, replicas, offsets and the settings that differ from the defaults."""
    admin = admin_client(server, client)
    known = metadata_of(admin).topics
    for name in names:
        if name not in known:
            raise unknown_topic(name, known)
    described = [_describe(admin, name) for name in names]
    if as_json:
        print_json(described)
        return
    for topic in described:
        _show(topic)


def _describe(admin: Any, name: str) -> dict[str, Any]:
    from confluent_kafka import TopicCollection

    from penstock.cli.offsets import earliest, latest

    request = admin.describe_topics(TopicCollection([name]), request_timeout=REQUEST_TIMEOUT_SECONDS)
    topic: Any = result_of(request[name], f"cannot describe topic {name}")
    ids = [partition.id for partition in topic.partitions]
    starts, ends = earliest(admin, name, ids), latest(admin, name, ids)
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
                "startOffset": starts[partition.id],
                "endOffset": ends[partition.id],
            }
            for partition in topic.partitions
        ],
    }


def _overrides(admin: Any, name: str) -> dict[str, str]:
    """The settings that the topic itself has."""
    from confluent_kafka.admin import ConfigResource, ConfigSource

    resource = ConfigResource("topic", name)
    request = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)
    entries: Any = result_of(request[resource], f"cannot read the settings of topic {name}")
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {key: entry.value for key, entry in sorted(entries.items()) if int(entry.source) == own}


def _show(topic: dict[str, Any]) -> None:
    partitions = topic["partitions"]
    print(f"topic {topic['name']}, id {topic['id']}, {len(partitions)} partition(s)")
    for key, value in topic["config"].items():
        print(f"  {key}={value}")
    print_table(
        ("partition", "leader", "replicas", "isr", "start", "end", "records at most"),
        [
            (
                each["partition"],
                "none" if each["leader"] is None else each["leader"],
                list_of(each["replicas"]),
                list_of(each["isr"]),
                each["startOffset"],
                each["endOffset"],
                each["endOffset"] - each["startOffset"],
            )
            for each in partitions
        ],
    )


@app.command()
def alter(
    *,
    name: str = typer.Argument(help="The topic."),
    partitions: int = typer.Option(
        ...,
        min=1,
        max=_PARTITIONS_MAX,
        metavar="N",
        help="How many partitions it shall have: more than now.",
    ),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Add partitions. Settings are changed with `penstock config set topic NAME KEY=VALUE`.

    Records stay where they are; new records of a key may go to another partition than the old ones.
    """
    from confluent_kafka.admin import NewPartitions

    admin = admin_client(server, client)
    count = len(partitions_of(admin, name))
    request = admin.create_partitions(
        [NewPartitions(name, partitions)], request_timeout=REQUEST_TIMEOUT_SECONDS
    )
    result_of(request[name], f"cannot give topic {name} {partitions} partitions instead of {count}")
    print(f"topic {name} has {partitions} partitions")


@app.command()
def truncate(
    *,
    name: str = typer.Argument(help="The topic."),
    before: str = typer.Option(
        ..., metavar="OFFSET|end", help="Delete every record below this offset; `end` deletes all there are."
    ),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="all", help="Only this partition."
    ),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Delete the oldest records of a topic. What is deleted cannot be brought back.

    For example:

      penstock topic truncate orders --before end
      penstock topic truncate orders --partition 0 --before 1200
    """
    from confluent_kafka import TopicPartition

    offset = -1 if before == "end" else int(before) if before.isdecimal() else None
    if offset is None:
        raise CommandError(f"--before {before} is neither an offset nor `end`", EXIT_USAGE)
    admin = admin_client(server, client)
    chosen = choose_partitions(admin, name, partition)
    request = admin.delete_records(
        [TopicPartition(name, each, offset) for each in chosen], request_timeout=REQUEST_TIMEOUT_SECONDS
    )
    for place, future in request.items():
        deleted: Any = result_of(future, f"cannot delete records of {name}-{place.partition}")
        print(f"{name}-{place.partition} starts at offset {deleted.low_watermark} now")


def choose_partitions(client: Any, topic: str, partition: int | None) -> list[int]:
    """All partitions of the topic, or the one that was asked for."""
    known = partitions_of(client, topic)
    if partition is None:
        return known
    if partition not in known:
        raise CommandError(f"topic {topic} has no partition {partition}: it has 0 to {known[-1]}")
    return [partition]


@app.command()
def delete(
    *,
    names: list[str] = typer.Argument(metavar="NAME...", help="The topics."),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Delete topics with all their records."""
    admin = admin_client(server, client)
    known = metadata_of(admin).topics
    for name in names:
        if name not in known:
            raise unknown_topic(name, known)
    for name, future in admin.delete_topics(names, request_timeout=REQUEST_TIMEOUT_SECONDS).items():
        result_of(future, f"cannot delete topic {name}")
        print(f"deleted topic {name}")
