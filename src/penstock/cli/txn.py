"""`penstock txn …`: list, describe and abort transactions."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import msgspec
import typer

from penstock.cli.connection import BootstrapServer, ClientSetting
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.output import AsJson, print_json, print_table
from penstock.cli.txn_abort import abort
from penstock.cli.txn_cluster import Cluster, Described, Listed, PartitionProducer, Reach, cluster_at, run
from penstock.cli.txn_owner import is_hanging, owners_of, unknown_transactional_id

app = typer.Typer(help="List, describe and abort transactions.", no_args_is_help=True)
app.command()(abort)

State = Literal["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")


@app.command("list")
def list_(
    *,
    state: State | None = typer.Option(None, help="Only ids in this state."),
    producer_id: int | None = typer.Option(None, min=0, metavar="N", help="Only the id of this producer."),
    longer_than: float | None = typer.Option(
        None, min=0, metavar="SECONDS", help="Only transactions that have been open for longer."
    ),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """List the transactional ids of all coordinators, and how each stands."""

    async def ask() -> list[Listed]:
        async with cluster_at(server, client) as cluster:
            return await cluster.listed(
                states=[state] if state is not None else _OPEN if longer_than is not None else [],
                producer_ids=[] if producer_id is None else [producer_id],
                longer_than_ms=-1 if longer_than is None else round(longer_than * 1000),
            )

    found = run(ask())
    if as_json:
        print_json(found)
    elif found:
        print_table(
            ("transactional id", "producer", "state", "coordinator"),
            [(each.transactional_id, each.producer_id, each.state, each.coordinator) for each in found],
        )
    else:
        print("no transactional ids" if (state, producer_id, longer_than) == (None,) * 3 else "no such ids")


@app.command()
def describe(
    *,
    ids: list[str] = typer.Argument(None, metavar="ID...", help="Transactional ids."),
    topic: str | None = typer.Option(None, metavar="NAME", help="Or a topic, whose producers are shown."),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="all", help="Only this partition of the topic."
    ),
    as_json: bool = AsJson,
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Show the transactions of transactional ids, or the producers and open transactions of a topic.

    An open transaction that no coordinator knows of is hanging: it keeps readers of committed records waiting for
    ever. `penstock txn abort` ends it.

    For example:

      penstock txn describe payments-1
      penstock txn describe --topic orders --partition 0
    """
    if bool(ids) == (topic is not None):
        raise CommandError("say what to describe: either transactional ids or --topic NAME", EXIT_USAGE)
    reach = partial(cluster_at, server, client)
    if topic is None:
        found = run(_describe_ids(reach, ids))
        if as_json:
            print_json([_as_json(each) for each in found])
        else:
            _show_ids(found)
        return
    producers, owners = run(_describe_topic(reach, topic, partition))
    if as_json:
        print_json([_producer_as_json(each, owners) for each in producers])
    else:
        _show_producers(topic, producers, owners)


async def _describe_ids(reach: Reach, ids: list[str]) -> list[Described]:
    async with reach() as cluster:
        found = []
        for each in ids:
            described = await cluster.described(each)
            if described is None:
                raise await unknown_transactional_id(cluster, each)
            found.append(described)
        return found


async def _describe_topic(
    reach: Reach, topic: str, partition: int | None
) -> tuple[list[PartitionProducer], dict[int, Described]]:
    async with reach() as cluster:
        producers = await cluster.producers(topic, cluster.partitions_of(topic, partition))
        return producers, await _owners(cluster, producers)


async def _owners(cluster: Cluster, producers: list[PartitionProducer]) -> dict[int, Described]:
    return await owners_of(cluster, {each.producer_id for each in producers if each.start_offset is not None})


def _as_json(described: Described) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(described)
    shown["partitions"] = [{"topic": topic, "partition": number} for topic, number in described.partitions]
    return shown


def _show_ids(found: list[Described]) -> None:
    columns = (
        "transactional id",
        "state",
        "producer",
        "epoch",
        "coordinator",
        "timeout ms",
        "open for s",
        "partitions",
    )
    print_table(
        columns,
        [
            (
                each.transactional_id,
                each.state,
                each.producer_id,
                each.producer_epoch,
                each.coordinator,
                each.timeout_ms,
                "-" if each.started_ms is None else max(0, round(time.time() - each.started_ms / 1000)),
                " ".join(f"{topic}-{number}" for topic, number in each.partitions) or "-",
            )
            for each in found
        ],
    )


def _producer_as_json(producer: PartitionProducer, owners: Mapping[int, Described]) -> dict[str, Any]:
    owner = owners.get(producer.producer_id)
    return {
        **msgspec.to_builtins(producer),
        "transactionalId": None if owner is None else owner.transactional_id,
        "hanging": is_hanging(producer, owner),
    }


def _show_producers(topic: str, producers: list[PartitionProducer], owners: Mapping[int, Described]) -> None:
    if not producers:
        print(f"topic {topic} knows no producers: none was idempotent, or they were forgotten")
        return
    rows = []
    for each in producers:
        owner = owners.get(each.producer_id)
        rows.append(
            (
                each.partition,
                each.producer_id,
                each.producer_epoch,
                _time(each.last_timestamp_ms),
                "-" if each.start_offset is None else each.start_offset,
                "-" if owner is None else owner.transactional_id,
                "hanging" if is_hanging(each, owner) else "-" if each.start_offset is None else "open",
            )
        )
    columns = (
        "partition",
        "producer",
        "epoch",
        "last write",
        "open since",
        "transactional id",
        "transaction",
    )
    print_table(columns, rows)


def _time(timestamp_ms: int) -> str:
    if timestamp_ms < 0:
        return "-"
    return (
        datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )
