import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from penstock.client.connection import Connection
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.cli.conftest import TIMEOUT_SECONDS, Penstock, run_command
from tests.server.live import Client, batch
from tests.support.broker import BrokerProcess
from tests.support.cluster import eventually
from tests.support.plugin import running_broker


@pytest.fixture
def transactional_id() -> str:
    return f"cli-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def producer(shared_broker: BrokerProcess, transactional_id: str) -> Producer:
    made = Producer(
        {
            "bootstrap.servers": shared_broker.bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 50_000,
            "log_level": 0,
        }
    )
    made.init_transactions(TIMEOUT_SECONDS)
    return made


def write_in_transaction(producer: Producer, topic: str, *values: str) -> None:
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(TIMEOUT_SECONDS) == 0


def described(penstock: Penstock, transactional_id: str) -> dict[str, object]:
    (found,) = json.loads(penstock("txn", "describe", transactional_id, "--json").stdout)
    assert isinstance(found, dict)
    return found


def commit(penstock: Penstock, producer: Producer, transactional_id: str) -> None:
    """Commit, and wait for the markers: the producer is answered as soon as it is decided, as by Kafka."""
    producer.commit_transaction(TIMEOUT_SECONDS)
    eventually(
        lambda: described(penstock, transactional_id)["state"] == "CompleteCommit", "all markers written"
    )


def test_transactional_ids_are_listed_with_their_states(
    penstock: Penstock, producer: Producer, transactional_id: str, topic: str
) -> None:
    listed = json.loads(penstock("txn", "list", "--json").stdout)
    (found,) = [each for each in listed if each["transactionalId"] == transactional_id]
    assert (found["state"], found["coordinator"]) == ("Empty", 1)
    write_in_transaction(producer, topic, "a")
    lines = penstock("txn", "list", "--state", "Ongoing").stdout.splitlines()
    assert lines[0].split() == ["TRANSACTIONAL", "ID", "PRODUCER", "STATE", "COORDINATOR"]
    assert [transactional_id, str(found["producerId"]), "Ongoing", "1"] in [line.split() for line in lines]
    one = json.loads(penstock("txn", "list", "--json", "--producer-id", str(found["producerId"])).stdout)
    assert [each["transactionalId"] for each in one] == [transactional_id]
    assert transactional_id not in penstock("txn", "list", "--longer-than", "3600").stdout
    commit(penstock, producer, transactional_id)
    assert transactional_id not in penstock("txn", "list", "--longer-than", "0").stdout


def test_describe_shows_how_a_transactional_id_stands(
    penstock: Penstock, producer: Producer, transactional_id: str, topic: str
) -> None:
    before = time.time() * 1000
    write_in_transaction(producer, topic, "a")
    found = described(penstock, transactional_id)
    assert isinstance(found["startedMs"], int)
    assert before - 1000 <= found["startedMs"] <= time.time() * 1000 + 1000
    assert (found["state"], found["timeoutMs"], found["producerEpoch"]) == ("Ongoing", 50_000, 0)
    assert found["partitions"] == [{"topic": topic, "partition": 0}]
    row = penstock("txn", "describe", transactional_id).stdout.splitlines()[1].split()
    assert row[:2] == [transactional_id, "Ongoing"]
    assert row[-1] == f"{topic}-0"
    commit(penstock, producer, transactional_id)
    found = described(penstock, transactional_id)
    assert (found["state"], found["partitions"]) == ("CompleteCommit", [])


def test_describe_shows_the_open_transactions_of_a_topic(
    penstock: Penstock, producer: Producer, transactional_id: str, topic: str
) -> None:
    write_in_transaction(producer, topic, "a")
    commit(penstock, producer, transactional_id)
    write_in_transaction(producer, topic, "b")
    (found,) = json.loads(penstock("txn", "describe", "--topic", topic, "--json").stdout)
    assert (found["partition"], found["startOffset"]) == (0, 2)
    assert (found["transactionalId"], found["hanging"]) == (transactional_id, False)
    row = penstock("txn", "describe", "--topic", topic, "--partition", "0").stdout.splitlines()[1].split()
    assert row[-3:] == ["2", transactional_id, "open"]
    assert "knows no producers" in penstock("txn", "describe", "--topic", topic, "--partition", "1").stdout


def test_an_abort_is_shown_first_and_then_ends_the_transaction_and_fences_its_producer(
    penstock: Penstock, producer: Producer, transactional_id: str, topic: str
) -> None:
    write_in_transaction(producer, topic, "a", "b")
    lines = penstock("txn", "abort", transactional_id).stdout.splitlines()
    assert lines[0].startswith(f"transactional id {transactional_id}, producer ")
    assert lines[0].endswith(f" s in {topic}-0")
    assert lines[1] == "nothing was changed: add --execute to do it"
    assert described(penstock, transactional_id)["state"] == "Ongoing"
    done = penstock("txn", "abort", transactional_id, "--execute").stdout.splitlines()[1]
    assert done == f"aborted the transaction of {transactional_id}; its producer is fenced"
    read = ("consume", topic, "--no-follow", "--format", "raw", "--isolation")
    assert penstock(*read, "read_committed").stdout == ""
    assert penstock(*read, "read_uncommitted").stdout == "a\nb\n"
    with pytest.raises(KafkaException, match="fenced"):
        producer.commit_transaction(TIMEOUT_SECONDS)


def test_without_an_open_transaction_there_is_nothing_to_abort(
    penstock: Penstock, producer: Producer, transactional_id: str, topic: str
) -> None:
    write_in_transaction(producer, topic, "a")
    commit(penstock, producer, transactional_id)
    failed = penstock("txn", "abort", transactional_id, "--execute", fails=True)
    assert failed.stderr == (
        f"penstock: transactional id {transactional_id} has no open transaction: it is CompleteCommit\n"
    )
    write_in_transaction(producer, topic, "its producer was not fenced")
    producer.commit_transaction(TIMEOUT_SECONDS)


def test_a_marker_is_refused_where_a_coordinator_knows_the_transaction(
    penstock: Penstock, producer: Producer, transactional_id: str, topic: str
) -> None:
    write_in_transaction(producer, topic, "a")
    place = ("txn", "abort", "--topic", topic, "--partition", "0", "--execute", "--start-offset")
    failed = penstock(*place, "0", fails=True)
    assert failed.stderr.endswith(f"Abort all of it with `penstock txn abort {transactional_id}`\n")
    failed = penstock(*place, "7", fails=True)
    assert failed.stderr == (
        f"penstock: no transaction begins at offset 7 of {topic}-0: those open there begin at 0\n"
    )
    producer.commit_transaction(TIMEOUT_SECONDS)
    assert "none is open there" in penstock(*place, "0", fails=True).stderr


@pytest.fixture
def unverified_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker that accepts records of transactions that it does not know, as Kafka did before KIP-890."""
    with running_broker(tmp_path, {"transaction.partition.verification.enable": "false"}) as broker:
        yield broker


async def leave_hanging(broker: BrokerProcess) -> str:
    """Write a record of a transaction that no coordinator knows of; gives its topic."""
    client = Client(await Connection.open("127.0.0.1", broker.port))
    topic = await client.create_topic()
    given = await client.send(InitProducerIdRequest(transactional_id=None))
    records = batch(
        b"lost", producer_id=given.producer_id, epoch=given.producer_epoch, sequence=0, is_transactional=True
    )
    written = await client.produce(topic, records, version=11, transactional_id="nobody")
    assert written.error_code == 0, written
    await client.close()
    return topic.name


def test_a_hanging_transaction_is_found_and_ended(unverified_broker: BrokerProcess) -> None:
    topic = asyncio.run(leave_hanging(unverified_broker))
    server = ("-b", unverified_broker.bootstrap)
    row = run_command("txn", "describe", "--topic", topic, *server).stdout.splitlines()[1].split()
    assert row[-3:] == ["0", "-", "hanging"]
    asked = ("txn", "abort", "--topic", topic, "--partition", "0", "--start-offset", "0", *server)
    assert run_command(*asked).stdout.splitlines()[-1] == "nothing was changed: add --execute to do it"
    done = run_command(*asked, "--execute")
    assert done.stdout.splitlines()[-1:] == [f"aborted it in {topic}-0"], done
    (found,) = json.loads(run_command("txn", "describe", "--topic", topic, "--json", *server).stdout)
    assert (found["startOffset"], found["hanging"]) == (None, False)
    assert run_command("consume", topic, "--no-follow", *server).stdout == ""


def test_an_unknown_transactional_id_is_answered_with_the_nearest_one(
    penstock: Penstock, producer: Producer, transactional_id: str
) -> None:
    for command in ("describe", "abort"):
        failed = penstock("txn", command, transactional_id + "x", fails=True)
        assert failed.stderr == (
            f"penstock: there is no transactional id {transactional_id}x: did you mean {transactional_id}?\n"
        )


def test_missing_arguments_and_unknown_names_are_one_line(penstock: Penstock, topic: str) -> None:
    assert "either transactional ids or --topic" in penstock("txn", "describe", fails=True).stderr
    for arguments in (("--topic", topic), ("an-id", "--topic", topic)):
        failed = penstock("txn", "abort", *arguments, fails=True)
        assert "either a transactional id, or --topic, --partition and --start-offset" in failed.stderr
    failed = penstock("txn", "describe", "--topic", f"{topic}x", fails=True)
    assert failed.stderr == f"penstock: there is no topic {topic}x: did you mean {topic}?\n"
    failed = penstock("txn", "describe", "--topic", topic, "--partition", "9", fails=True)
    assert failed.stderr == f"penstock: topic {topic} has no partition 9: it has 0 to 1\n"


def test_without_a_broker_it_is_one_line() -> None:
    done = run_command("txn", "list", "-b", "127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("penstock: no broker at 127.0.0.1:1 (connection refused): ")
    assert done.stderr.count("\n") == 1
