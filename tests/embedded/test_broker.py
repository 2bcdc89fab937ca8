"""One broker inside the test's own process, as a user's suite has it."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from penstock.config.property import ConfigError
from penstock.embedded import Broker
from penstock.server.broker import StartFailed


def is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
        return True
    return False


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def test_a_client_reads_its_own_records() -> None:
    with Broker() as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
        producer = Producer(servers)
        producer.produce("orders", b"one")
        assert producer.flush(10) == 0
        consumer = Consumer({**servers, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        message = consumer.poll(10)
        assert message is not None
        assert message.value() == b"one"
        consumer.close()


def test_the_hosts_event_loop_continues_while_the_broker_starts_and_stops() -> None:
    async def host() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        async with Broker(topics={"orders": 1}) as broker:
            topic = broker.topic("orders")
            topic.produce(b"one")
            assert [each.value for each in await topic.await_records()] == [b"one"]
        counting.cancel()
        return turns

    assert asyncio.run(host()) > 10


def test_several_brokers_are_independent() -> None:
    with contextlib.ExitStack() as running:
        brokers = [running.enter_context(Broker(topics={"orders": 1})) for _ in range(10)]
        for number, broker in enumerate(brokers):
            broker.topic("orders").produce(b"%d" % number)
        assert [[each.value for each in broker.records("orders")] for broker in brokers] == [
            [b"%d" % number] for number in range(10)
        ]


@pytest.mark.parametrize("storage", ["memory", "temporary"])
def test_a_stopped_broker_leaves_nothing_behind(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Broker(topics={"warm-up": 1}):
        pass  # what Python itself keeps open from the first time on is open now
    descriptors, others = set(os.listdir("/proc/self/fd")), threads()
    broker = Broker(storage="temporary" if storage == "temporary" else "memory", topics={"orders": 3}).start()
    address = broker.bootstrap_servers
    broker.topic("orders").produce(b"one")
    assert threads() > others
    assert len(os.listdir(tmp_path)) == (1 if storage == "temporary" else 0)
    broker.stop()
    broker.stop()  # once more does nothing
    assert threads() <= others
    assert os.listdir(tmp_path) == []
    assert set(os.listdir("/proc/self/fd")) <= descriptors
    assert not is_listening(address)


def test_a_broker_does_not_change_its_process() -> None:
    def seen() -> tuple[object, ...]:
        return (
            [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
            signal.set_wakeup_fd(-1),
            logging.root.level,
            list(logging.root.handlers),
            logging.getLogger("penstock").level,
            list(logging.getLogger("penstock").handlers),
            logging.logThreads,
            resource.getrlimit(resource.RLIMIT_NOFILE),
            gc.get_threshold(),
            type(asyncio.get_event_loop_policy()),
        )

    before = seen()
    with Broker(topics={"orders": 1}) as broker:
        broker.topic("orders").produce(b"one")
        assert seen() == before
    assert seen() == before


def test_settings_have_kafkas_names() -> None:
    with Broker(config={"num.partitions": 3, "auto.create.topics.enable": False}) as broker:
        assert broker.create_topic("orders").partitions == 3
        assert broker.create_topic("other", 2).partitions == 2


def test_an_unknown_setting_is_refused_by_name_and_nothing_is_left_behind() -> None:
    others = threads()
    with pytest.raises(ConfigError, match="num\\.partitons"):
        Broker(config={"num.partitons": 3}).start()
    assert threads() <= others


def test_a_directory_that_another_broker_uses_is_refused(tmp_path: Path) -> None:
    with Broker(directory=tmp_path / "data"):
        others = threads()
        with pytest.raises(StartFailed, match="another process is using"):
            Broker(directory=tmp_path / "data").start()
        assert threads() <= others


def test_a_users_directory_keeps_the_records(tmp_path: Path) -> None:
    with Broker(directory=tmp_path / "data", topics={"orders": 1}) as broker:
        broker.topic("orders").produce(b"one")
    with Broker(directory=tmp_path / "data") as broker:
        assert [each.value for each in broker.records("orders")] == [b"one"]


@pytest.mark.parametrize("storage", ["memory", "temporary"])
def test_acknowledged_records_survive_a_kill(storage: str) -> None:
    with Broker(storage="temporary" if storage == "temporary" else "memory", topics={"orders": 1}) as broker:
        address = broker.bootstrap_servers
        broker.topic("orders").produce(b"one", b"two")
        broker.kill()
        assert not is_listening(address)
        broker.restart()
        assert broker.bootstrap_servers == address
        broker.topic("orders").assert_values([b"one", b"two"])


def test_a_kill_in_memory_loses_unsynced_records() -> None:
    with Broker() as broker:
        topic = broker.create_topic("orders", 1, config={"flush.messages": 1_000_000, "flush.ms": 10**12})
        topic.produce(b"one")
        assert len(topic.records()) == 1
        broker.kill()
        broker.restart()
        topic.assert_empty()


def test_a_killed_broker_resets_its_connections() -> None:
    with Broker() as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(
                b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\0\0"
            )  # ApiVersions: once answered, it is accepted
            assert client.recv(4)
            broker.kill()
            with pytest.raises(ConnectionResetError):
                while client.recv(65536):
                    pass


def test_a_failed_disk_refuses_writes_and_works_again_after_a_restart() -> None:
    with Broker(topics={"orders": 1}) as broker:
        topic = broker.topic("orders")
        topic.produce(b"one")
        broker.fail_disk()
        outcomes: list[object] = []
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 500, "log_level": 0}
        )
        producer.produce("orders", b"lost", callback=lambda error, _: outcomes.append(error))
        producer.flush(10)
        assert len(outcomes) == 1
        assert outcomes[0] is not None
        broker.heal()
        broker.restart()
        topic.produce(b"two")
        topic.assert_values([b"one", b"two"])


def test_time_moved_forward_ends_the_retention_of_records() -> None:
    with Broker() as broker:
        topic = broker.create_topic("orders", 1, config={"retention.ms": 3_600_000})
        topic.produce(b"old")
        broker.advance(2 * 3_600_000)
        while topic.records():
            pass  # the sweep has begun; the test's time limit ends it
        topic.produce(b"new", timestamp_ms=broker.now_ms())
        topic.assert_values([b"new"])


def test_time_moved_forward_expires_the_members_of_a_group() -> None:
    with Broker(topics={"orders": 1}) as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
        patient = {"session.timeout.ms": 45_000, "heartbeat.interval.ms": 20_000, "group.id": "g"}
        consumer = Consumer({**servers, **patient})
        admin = AdminClient(servers)
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(0.05)
        assert len(admin.describe_consumer_groups(["g"])["g"].result(10).members) == 1
        broker.advance(60_000)
        while admin.describe_consumer_groups(["g"])["g"].result(10).members:
            pass  # its expiry has begun; the test's time limit ends it
        consumer.close()


def test_a_broker_cannot_be_used_before_it_is_started() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        _ = Broker().bootstrap_servers
    with Broker() as broker, pytest.raises(RuntimeError, match="started already"):
        broker.start()
