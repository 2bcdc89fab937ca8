"""InitProducerId and the rules of the idempotent producer (KIP-98, KIP-360), over restarts too."""

from pathlib import Path

import pytest

from penstock.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.protocol.messages.produce import ProduceRequest
from tests.server.live import Client, TopicHandle, batch, code, running_broker, values_in, versions

VERSIONS = versions(InitProducerIdRequest)


async def init(
    client: Client, version: int = VERSIONS[-1], *, producer_id: int = -1, producer_epoch: int = -1
) -> InitProducerIdResponse:
    request = InitProducerIdRequest(
        transactional_id=None,
        transaction_timeout_ms=1000,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    response: InitProducerIdResponse = await client.send(request, version)
    return response


async def send(
    client: Client, topic: TopicHandle, producer_id: int, epoch: int, sequence: int, *values: bytes
) -> tuple[str, int]:
    records = batch(*(values or (b"v",)), producer_id=producer_id, epoch=epoch, sequence=sequence)
    answer = await client.produce(topic, records)
    return code(answer.error_code), answer.base_offset


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_producer_gets_an_id_of_its_own(client: Client, version: int) -> None:
    answers = [await init(client, version) for _ in range(3)]
    assert all((a.error_code, a.producer_epoch) == (0, 0) for a in answers)
    assert len({a.producer_id for a in answers}) == 3


@pytest.mark.parametrize("version", range(3, 7))
async def test_producer_id_and_epoch_must_be_given_together(client: Client, version: int) -> None:
    for producer_id, producer_epoch in [(5, -1), (-1, 5)]:
        answer = await init(client, version, producer_id=producer_id, producer_epoch=producer_epoch)
        assert code(answer.error_code) == "INVALID_REQUEST"
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


async def test_producer_ids_are_never_allocated_twice_across_restarts(tmp_path: Path) -> None:
    given: list[int] = []
    for _ in range(3):
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            given += [(await init(client)).producer_id for _ in range(3)]
    assert len(set(given)) == 9


@pytest.mark.parametrize("version", versions(ProduceRequest))
async def test_a_retried_batch_is_answered_with_its_first_offset(client: Client, version: int) -> None:
    topic = await client.create_topic()
    producer_id = (await init(client)).producer_id
    batches = [batch(b"a", b"b", producer_id=producer_id, epoch=0, sequence=2 * i) for i in range(6)]
    for i, records in enumerate(batches):
        assert (await client.produce(topic, records, version=version)).base_offset == 2 * i
    for i in range(1, 6):  # the last five are remembered
        answer = await client.produce(topic, batches[i], version=version)
        assert (code(answer.error_code), answer.base_offset) == ("NONE", 2 * i)
    assert len(values_in(await client.fetch(topic))) == 12


async def test_a_retry_of_an_evicted_batch_is_a_duplicate_sequence(client: Client) -> None:
    topic = await client.create_topic()
    producer_id = (await init(client)).producer_id
    for sequence in range(6):
        await send(client, topic, producer_id, 0, sequence)
    answer = await send(client, topic, producer_id, 0, 0)
    assert answer == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)


async def test_a_gap_in_the_sequence_is_out_of_order(client: Client) -> None:
    topic = await client.create_topic()
    producer_id = (await init(client)).producer_id
    assert await send(client, topic, producer_id, 0, 0) == ("NONE", 0)
    assert await send(client, topic, producer_id, 0, 2) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
    assert await send(client, topic, producer_id, 0, 1) == ("NONE", 1)


async def test_a_newer_epoch_fences_the_older_one(client: Client) -> None:
    topic = await client.create_topic()
    producer_id = (await init(client)).producer_id
    assert await send(client, topic, producer_id, 1, 0) == ("NONE", 0)
    assert await send(client, topic, producer_id, 0, 1) == ("INVALID_PRODUCER_EPOCH", -1)
    assert await send(client, topic, producer_id, 2, 1) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
    assert await send(client, topic, producer_id, 2, 0) == ("NONE", 1)


async def test_an_unknown_producer_may_continue_at_any_sequence(client: Client) -> None:
    """KAFKA-7190: its state may have expired with its records."""
    topic = await client.create_topic()
    assert await send(client, topic, (await init(client)).producer_id, 0, 17) == ("NONE", 0)


async def test_sequences_wrap_to_zero(client: Client) -> None:
    topic = await client.create_topic()
    producer_id = (await init(client)).producer_id
    last = 2**31 - 1
    assert await send(client, topic, producer_id, 0, last - 1, b"a", b"b", b"c") == ("NONE", 0)
    assert await send(client, topic, producer_id, 0, 1) == ("NONE", 3)
    assert await send(client, topic, producer_id, 0, last - 1, b"a", b"b", b"c") == ("NONE", 0)


async def test_pipelined_batches_are_stored_in_order(client: Client) -> None:
    topic = await client.create_topic()
    producer_id = (await init(client)).producer_id
    sent = [send(client, topic, producer_id, 0, i, str(i).encode()) for i in range(50)]
    assert [await answer for answer in sent] == [("NONE", i) for i in range(50)]
    assert values_in(await client.fetch(topic)) == [str(i).encode() for i in range(50)]


async def test_each_partition_has_its_own_sequences(client: Client) -> None:
    topic = await client.create_topic(partitions=2)
    producer_id = (await init(client)).producer_id
    for partition in (0, 1):
        records = batch(b"v", producer_id=producer_id, epoch=0, sequence=0)
        assert (await client.produce(topic, records, partition=partition)).error_code == 0


@pytest.mark.parametrize("recompressed", [False, True])
async def test_producer_state_survives_a_restart(tmp_path: Path, recompressed: bool) -> None:
    configs = {"compression.type": "gzip"} if recompressed else {}
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic(configs=configs)
        producer_id = (await init(client)).producer_id
        for sequence in range(3):
            assert await send(client, topic, producer_id, 4, sequence) == ("NONE", sequence)
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        assert await send(client, topic, producer_id, 4, 2) == ("NONE", 2)
        assert await send(client, topic, producer_id, 4, 4) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
        assert await send(client, topic, producer_id, 3, 0) == ("INVALID_PRODUCER_EPOCH", -1)
        assert await send(client, topic, producer_id, 4, 3) == ("NONE", 3)
        assert len(values_in(await client.fetch(topic))) == 4


async def test_all_batches_that_were_in_flight_are_recognised_after_a_restart(tmp_path: Path) -> None:
    """Their answers may have been lost with the connection: the producer sends each of them again, oldest first."""
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        producer_id = (await init(client)).producer_id
        for sequence in range(6):
            assert await send(client, topic, producer_id, 0, sequence) == ("NONE", sequence)
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        for sequence in range(1, 6):
            assert await send(client, topic, producer_id, 0, sequence) == ("NONE", sequence)
        assert await send(client, topic, producer_id, 0, 0) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
        assert len(values_in(await client.fetch(topic))) == 6
