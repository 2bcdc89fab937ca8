"""`penstock txn …`: list, describe and abort transactions.

There are two ways to abort, for two cases that look alike. A transaction that a coordinator knows is aborted by it,
everywhere at once: its producer is fenced. A hanging one, which no coordinator knows (records that came in after their
transaction was complete, see KIP-890), is ended by a marker written straight into the partition. That would split a
known transaction, so it is refused there.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import typer

from penstock.cli.connect.requests import RequestClient
from penstock.cli.connect.target import Target, connects
from penstock.cli.errors import CommandError, UsageError
from penstock.cli.output import AsJson, print_result
from penstock.cli.record_format import format_time
from penstock.cli.txn import transactions
from penstock.cli.txn.transactions import PartitionProducer, Transaction

app = typer.Typer(help="List, describe and abort transactions.", no_args_is_help=True)

State = Literal["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]
_TIMEOUT_MS_MAX = 60_000
_DRY_RUN = "nothing was changed: add --execute to do it"
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")


@app.command("list")
@connects
def list_(
    target: Target,
    *,
    state: State | None = typer.Option(None, help="List only ids in this state."),
    producer_id: int | None = typer.Option(
        None, min=0, metavar="N", help="List only the id of this producer."
    ),
    longer_than: float | None = typer.Option(
        None, min=0, metavar="SECONDS", help="List only transactions that have been open for longer."
    ),
    as_json: bool = AsJson,
) -> None:
    """List the transactional ids of all coordinators, with their states."""
    with target.requests() as client:
        found = transactions.list_all(
            client,
            states=[state] if state is not None else _OPEN if longer_than is not None else [],
            producer_ids=[] if producer_id is None else [producer_id],
            longer_than_ms=-1 if longer_than is None else round(longer_than * 1000),
        )
    print_result(
        found,
        ("transactional id", "producer", "state", "coordinator"),
        found,
        as_json=as_json,
        empty="no transactional ids" if (state, producer_id, longer_than) == (None,) * 3 else "no such ids",
    )


@app.command()
@connects
def describe(
    target: Target,
    *,
    ids: list[str] = typer.Argument(None, metavar="ID", help="Transactional ids."),
    topic: str | None = typer.Option(None, metavar="TOPIC", help="Show the producers of this topic instead."),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="all", help="Show only this partition of the topic."
    ),
    as_json: bool = AsJson,
) -> None:
    """Show the transactions of transactional ids, or the producers and open transactions of a topic.

    An open transaction that no coordinator knows is hanging: read_committed consumers wait for it forever.
    `penstock txn abort` ends it.

    For example:

      penstock txn describe payments-1
      penstock txn describe --topic orders --partition 0
    """
    if bool(ids) == (topic is not None):
        raise UsageError("say what to describe: either transactional ids or --topic TOPIC")
    with target.requests() as client:
        if topic is None:
            _show_ids([transactions.describe(client, each) for each in ids], as_json=as_json)
            return
        producers = transactions.partition_producers(client, topic, partition)
        has_open = {each.producer_id for each in producers if each.start_offset is not None}
        owners = transactions.describe_owners(client, has_open)
    print_result(
        [_producer_json(each, owners) for each in producers],
        ("partition", "producer", "epoch", "last write", "open since", "transactional id", "transaction"),
        [_producer_row(each, owners.get(each.producer_id)) for each in producers],
        as_json=as_json,
        empty=f"topic {topic} knows no producers: none was idempotent, or they have expired",
    )


def _show_ids(found: list[Transaction], *, as_json: bool) -> None:
    columns = "transactional id, state, producer, epoch, coordinator, timeout ms, open for s, partitions"
    rows = [
        (
            each.transactional_id,
            each.state,
            each.producer_id,
            each.producer_epoch,
            each.coordinator,
            each.timeout_ms,
            each.open_s,
            each.places or None,
        )
        for each in found
    ]
    shown = [
        {
            **msgspec.to_builtins(each),
            "partitions": [{"topic": topic, "partition": number} for topic, number in each.partitions],
        }
        for each in found
    ]
    print_result(shown, columns.split(", "), rows, as_json=as_json)


def _producer_json(producer: PartitionProducer, owners: Mapping[int, Transaction]) -> dict[str, Any]:
    owner = owners.get(producer.producer_id)
    return {
        **msgspec.to_builtins(producer),
        "transactionalId": None if owner is None else owner.transactional_id,
        "hanging": producer.is_hanging(owner),
    }


def _producer_row(producer: PartitionProducer, owner: Transaction | None) -> tuple[object, ...]:
    is_open = producer.start_offset is not None
    return (
        producer.partition,
        producer.producer_id,
        producer.producer_epoch,
        format_time(producer.last_timestamp_ms),
        producer.start_offset,
        None if owner is None else owner.transactional_id,
        "hanging" if producer.is_hanging(owner) else "open" if is_open else None,
    )


@app.command()
@connects
def abort(
    target: Target,
    *,
    transactional_id: str | None = typer.Argument(
        None, metavar="ID", help="Abort the open transaction of this transactional id."
    ),
    topic: str | None = typer.Option(
        None, metavar="TOPIC", help="Topic of the hanging transaction to abort."
    ),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", help="Partition of the hanging transaction."
    ),
    start_offset: int | None = typer.Option(
        None,
        min=0,
        metavar="OFFSET",
        help="First offset of the hanging transaction (see `penstock txn describe`).",
    ),
    execute: bool = typer.Option(False, "--execute", help="Abort it (default: dry run)."),
) -> None:
    """Abort an open transaction. A dry run unless --execute is given.

    The producer of the transaction is fenced: its requests fail until it restarts.

    For example:

      penstock txn abort payments-1 --execute
      penstock txn abort --topic orders --partition 0 --start-offset 1234
    """
    match transactional_id, topic, partition, start_offset:
        case str(name), None, None, None:
            with target.requests() as client:
                _abort_known(client, name, execute=execute)
        case None, str(name), int(number), int(offset):
            with target.requests() as client:
                _abort_hanging(client, name, number, offset, execute=execute)
        case _:
            raise UsageError(
                "say what to abort: either a transactional id, or --topic, --partition and --start-offset"
            )


def _abort_known(client: RequestClient, transactional_id: str, *, execute: bool) -> None:
    transaction = transactions.describe(client, transactional_id)
    _check_open(transaction)
    print(
        f"transactional id {transactional_id}, producer {transaction.producer_id}, epoch "
        f"{transaction.producer_epoch}, open for {transaction.open_s or 0} s in {transaction.places}"
    )
    if not execute:
        print(_DRY_RUN)
        return
    transactions.fence(client, transactional_id, min(transaction.timeout_ms, _TIMEOUT_MS_MAX))
    print(f"aborted the transaction of {transactional_id}; its producer is fenced")


def _check_open(transaction: Transaction) -> None:
    name, state = transaction.transactional_id, transaction.state
    if state in ("PrepareCommit", "PrepareAbort"):
        decision = "committed" if state == "PrepareCommit" else "aborted"
        raise CommandError(
            f"the transaction of {name} is being {decision} already; its partitions may be waiting for a leader: see "
            "`penstock cluster status`"
        )
    if state != "Ongoing":
        raise CommandError(f"transactional id {name} has no open transaction: it is {state}")


def _abort_hanging(
    client: RequestClient, topic: str, partition: int, start_offset: int, *, execute: bool
) -> None:
    producer = transactions.find_open(client, topic, partition, start_offset)
    owner = transactions.describe_owners(client, [producer.producer_id]).get(producer.producer_id)
    if not producer.is_hanging(owner):
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
    transactions.write_abort_marker(client, producer)
    print(f"aborted it in {topic}-{partition}")
