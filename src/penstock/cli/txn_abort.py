"""`penstock txn abort`: end a transaction that its producer does not end. A dry run, unless `--execute` is said.

There are two ways, for two cases that look alike. A transaction that a coordinator knows is aborted by it, everywhere
at once: its transactional id is taken from its producer. A hanging one, which no coordinator knows of (records that
came in after their transaction was over, see KIP-890), is ended by a marker written straight into the partition. That
would tear a known transaction apart, so it is refused there.
"""

import time
from functools import partial

import typer

from penstock.cli.connection import BootstrapServer, ClientSetting
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.txn_cluster import Cluster, Described, PartitionProducer, Reach, cluster_at, run
from penstock.cli.txn_owner import is_hanging, owners_of, unknown_transactional_id

_TIMEOUT_MS_MAX = 60_000
_DRY_RUN = "nothing was changed: add --execute to do it"


def abort(
    *,
    transactional_id: str | None = typer.Argument(
        None, metavar="ID", help="The transactional id whose open transaction is to be aborted."
    ),
    topic: str | None = typer.Option(
        None, metavar="NAME", help="Or where a hanging transaction is: its topic,"
    ),
    partition: int | None = typer.Option(None, min=0, metavar="N", help="its partition,"),
    start_offset: int | None = typer.Option(
        None, min=0, metavar="OFFSET", help="and where it begins, as `penstock txn describe --topic` shows."
    ),
    execute: bool = typer.Option(
        False, "--execute", help="Do it, instead of only showing what would be done."
    ),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Abort an open transaction: shows what would be aborted, and does it with --execute.

    The producer of the transaction is fenced: what it does next fails, until it is started again.

    For example:

      penstock txn abort payments-1 --execute
      penstock txn abort --topic orders --partition 0 --start-offset 1234
    """
    reach = partial(cluster_at, server, client)
    place = (topic, partition, start_offset)
    if transactional_id is not None and place == (None, None, None):
        run(_abort_known(reach, transactional_id, execute=execute))
    elif (
        transactional_id is None and topic is not None and partition is not None and start_offset is not None
    ):
        run(_abort_hanging(reach, topic, partition, start_offset, execute=execute))
    else:
        raise CommandError(
            "say what to abort: either a transactional id, or --topic, --partition and --start-offset",
            EXIT_USAGE,
        )


async def _abort_known(reach: Reach, transactional_id: str, *, execute: bool) -> None:
    async with reach() as cluster:
        described = await cluster.described(transactional_id)
        if described is None:
            raise await unknown_transactional_id(cluster, transactional_id)
        _check_open(described)
        where = " ".join(f"{topic}-{number}" for topic, number in described.partitions)
        print(
            f"transactional id {transactional_id}, producer {described.producer_id}, epoch "
            f"{described.producer_epoch}, open for {_seconds_open(described)} s in {where}"
        )
        if not execute:
            print(_DRY_RUN)
            return
        await cluster.fence(transactional_id, min(described.timeout_ms, _TIMEOUT_MS_MAX))
        print(f"aborted the transaction of {transactional_id}; its producer is fenced")


def _check_open(described: Described) -> None:
    name, state = described.transactional_id, described.state
    if state in ("PrepareCommit", "PrepareAbort"):
        decided = "committed" if state == "PrepareCommit" else "aborted"
        raise CommandError(
            f"the transaction of {name} is being {decided} already; its partitions may be waiting for a leader"
        )
    if state != "Ongoing":
        raise CommandError(f"transactional id {name} has no open transaction: it is {state}")


def _seconds_open(described: Described) -> int:
    started_ms = described.started_ms
    return 0 if started_ms is None else max(0, round(time.time() - started_ms / 1000))


async def _abort_hanging(
    reach: Reach, topic: str, partition: int, start_offset: int, *, execute: bool
) -> None:
    async with reach() as cluster:
        producer = await _find(cluster, topic, partition, start_offset)
        owner = (await owners_of(cluster, [producer.producer_id])).get(producer.producer_id)
        if not is_hanging(producer, owner):
            name = "" if owner is None else owner.transactional_id
            raise CommandError(
                f"the transaction at offset {start_offset} of {topic}-{partition} is not hanging: its coordinator "
                f"knows it. Abort all of it with `penstock txn abort {name}`"
            )
        print(
            f"hanging transaction of producer {producer.producer_id}, epoch {producer.producer_epoch}, "
            f"in {topic}-{partition} since offset {start_offset}"
        )
        if not execute:
            print(_DRY_RUN)
            return
        await cluster.write_abort_marker(producer)
        print(f"aborted it in {topic}-{partition}")


async def _find(cluster: Cluster, topic: str, partition: int, start_offset: int) -> PartitionProducer:
    producers = await cluster.producers(topic, cluster.partitions_of(topic, partition))
    for producer in producers:
        if producer.start_offset == start_offset:
            return producer
    begins = sorted(each.start_offset for each in producers if each.start_offset is not None)
    there = f"those open there begin at {', '.join(map(str, begins))}" if begins else "none is open there"
    raise CommandError(f"no transaction begins at offset {start_offset} of {topic}-{partition}: {there}")
