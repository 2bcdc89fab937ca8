"""The records of a coordinator's changes in batches, and their size limit."""

import random
from typing import cast

import pytest

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.replica import Replica
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import NewRecord
from penstock.runtime.clock import ManualClock
from tests.cluster.coordination.slow_replica import (
    Partition,
    RecordedState,
    SlowReplica,
    change,
    in_a_transaction,
    keys,
    partition_of,
    record,
    run,
    turn,
)


def test_a_change_that_does_not_fit_into_one_batch_is_split_and_appended_together() -> None:
    async def scenario() -> None:
        replica = SlowReplica(message_bytes_max=1000)
        partition = partition_of(replica)
        written = partition.write(change(partition, *(record(name, 300) for name in "abcd")))
        await turn()
        assert [keys(each) for each in replica.batches] == [[b"a", b"b"], [b"c", b"d"]]
        assert replica.append_count == 1

        replica.move_high_watermark(2)
        assert not written.done()
        replica.move_high_watermark(4)
        assert written.done()

    run(scenario())


def test_the_records_of_one_change_are_in_one_batch_when_they_fit() -> None:
    async def scenario() -> None:
        replica = SlowReplica(message_bytes_max=1000)
        partition = partition_of(replica)
        partition.write(change(partition, record("other", 700)))
        partition.write(change(partition, record("member gone", 10), record("next epoch", 100)))
        await turn()

        assert [keys(each) for each in replica.batches] == [[b"other"], [b"member gone", b"next epoch"]]

    run(scenario())


def test_a_record_that_is_too_large_is_refused_before_anything_is_written_or_changed() -> None:
    async def scenario() -> None:
        replica, failed = SlowReplica(message_bytes_max=1000), list[Partition]()
        partition = partition_of(replica, failed.append)
        for write in (partition.write, partition.submit, in_a_transaction(partition)):
            with pytest.raises(CoordinatorError, match="1000") as refused:
                write(change(partition, record("a"), record("b", 1001)))
            assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        await turn()

        assert (replica.batches, partition.state.seen, failed) == ([], [], [])

    run(scenario())


def test_a_record_of_the_maximum_size_is_accepted_even_if_it_does_not_compress() -> None:
    async def scenario() -> None:
        replica = SlowReplica(message_bytes_max=1000)
        partition: Partition = CoordinatorPartition(
            cast("Replica", replica), RecordedState(), ManualClock(), codec=Codec.GZIP
        )
        noise = random.Random(1).randbytes(partition.payload_bytes_max)
        partition.write(change(partition, NewRecord(b"", noise)))
        await turn()

        assert len(replica.batches[0]) <= 1000

    run(scenario())
