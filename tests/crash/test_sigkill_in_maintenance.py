"""SIGKILL while the broker deletes and compacts segments: every record to keep is kept, once, at its offset."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.idempotent_producer import IdempotentProducer
from tests.crash.killing import Killer, await_retention, create_topic, read_all, soak_seconds, verify_data
from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker

KILLS = 8
KEYS = 97
BUSY = {
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": "50",
    "log.cleaner.backoff.ms": "20",
    "log.flush.offset.checkpoint.interval.ms": "100",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path, BUSY) as started:
        yield started


def _start_compacting(broker: BrokerProcess) -> IdempotentProducer:
    config = {"cleanup.policy": "compact", "segment.bytes": "20000", "min.cleanable.dirty.ratio": "0.01"}
    create_topic(broker, "compacted", 1, config)
    load = IdempotentProducer(broker.bootstrap, "compacted", key_count=KEYS)
    load.start()
    return load


def _check_compacted(broker: BrokerProcess, load: IdempotentProducer) -> None:
    load.finish()
    stored = read_all(broker, "compacted", 0)
    sent = dict(enumerate(load.sent[0]))
    assert stored.items() <= sent.items(), "remaining records keep their offsets"
    last_of_key = {key: offset for offset, key in enumerate(load.keys[0])}
    assert set(last_of_key.values()) <= stored.keys(), "the last record of each key is kept"
    assert len(stored) < len(sent), "something was compacted away"


def _start_retaining(broker: BrokerProcess) -> IdempotentProducer:
    create_topic(broker, "retained", 1, {"retention.bytes": "60000", "segment.bytes": "10000"})
    load = IdempotentProducer(broker.bootstrap, "retained")
    load.start()
    return load


def _check_retained(broker: BrokerProcess, load: IdempotentProducer) -> None:
    load.finish()
    await_retention(broker, "retained", 0)  # otherwise it deletes records that the reader is about to read
    stored = read_all(broker, "retained", 0)
    sent = load.sent[0]
    first = min(stored)
    assert list(stored) == list(range(first, len(sent))), "no gap from the first record left to the last"
    assert list(stored.values()) == sent[first:]
    assert first > 0, "something was deleted"


@pytest.mark.timeout(240)
def test_compaction_and_retention_lose_no_record_to_keep(broker: BrokerProcess, killer: Killer) -> None:
    compacting, retaining = _start_compacting(broker), _start_retaining(broker)
    killer.kill_times(KILLS, compacting, retaining)
    _check_compacted(broker, compacting)
    _check_retained(broker, retaining)
    verify_data(broker)


@pytest.mark.soak
def test_compaction_and_retention_survive_a_long_time_of_kills(broker: BrokerProcess, killer: Killer) -> None:
    compacting, retaining = _start_compacting(broker), _start_retaining(broker)
    killer.kill_for(soak_seconds(), compacting, retaining)
    _check_compacted(broker, compacting)
    _check_retained(broker, retaining)
    verify_data(broker)
