import struct

import pytest

from penstock.protocol.headers import decode_request_header
from penstock.protocol.messages import fetch, produce
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import decode_records
from penstock_bench import frames
from penstock_bench.frames import AnswerCounter, UnexpectedAnswer
from penstock_bench.raw_client import next_offset


def answer(*, error_code: int = 0, base_offset: int = 0, message: str | None = None) -> bytes:
    response = produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(
                name="orders",
                partition_responses=[
                    produce.PartitionProduceResponse(
                        index=3,
                        error_code=error_code,
                        base_offset=base_offset,
                        log_start_offset=0,
                        error_message=message,
                    )
                ],
            )
        ]
    )
    body = bytes(5) + produce.encode_response(response, frames.PRODUCE_VERSION)
    return struct.pack(">i", len(body)) + body


def test_a_produce_frame_is_a_complete_request_with_the_unchanged_batch() -> None:
    batch = frames.batch(100, 3)
    frame = frames.produce_frame("orders", [4, 7], batch)
    assert struct.unpack_from(">i", frame)[0] == len(frame) - 4
    header, position = decode_request_header(frame, 4)
    assert (header.api_key, header.api_version) == (produce.API_KEY, frames.PRODUCE_VERSION)
    request = produce.decode_request(frame, frames.PRODUCE_VERSION, position)
    assert request.acks == -1
    assert [t.name for t in request.topic_data] == ["orders"]
    assert [(p.index, bytes(p.records or b"")) for p in request.topic_data[0].partition_data] == [
        (4, batch),
        (7, batch),
    ]


def test_a_batch_has_the_requested_records() -> None:
    batch = frames.batch(100, 3)
    [(position, _)] = list(iter_batches_strict(batch))
    assert [len(r.value or b"") for r in decode_records(batch, pos=position)] == [100, 100, 100]


def test_a_varied_batch_has_different_records() -> None:
    records = decode_records(frames.varied_batch(100, 160))
    sizes = [len(r.value or b"") for r in records]
    assert len(records) == 160
    assert (min(sizes) >= 50, max(sizes) < 150) == (True, True)
    assert len(set(sizes)) > 50
    assert len({r.key for r in records}) > 100
    assert [r.timestamp - records[0].timestamp for r in records] == list(range(160))


def test_a_fetch_frame_requests_one_partition_from_one_offset() -> None:
    frame = frames.fetch_frame("orders", 2, 17, bytes_max=1000)
    _, position = decode_request_header(frame, 4)
    [topic] = fetch.decode_request(frame, frames.FETCH_VERSION, position).topics
    [partition] = topic.partitions
    assert (topic.topic, partition.partition, partition.fetch_offset) == ("orders", 2, 17)
    assert partition.partition_max_bytes == 1000


def test_the_size_of_a_successful_response_is_known_beforehand() -> None:
    assert AnswerCounter("orders").size_bytes == len(answer(base_offset=1 << 40))


def test_successful_responses_are_counted_wherever_the_bytes_are_split() -> None:
    stream = memoryview(b"".join(answer(base_offset=n) for n in range(3)))
    for cut in range(len(stream)):
        counter = AnswerCounter("orders")
        assert counter.count(stream[:cut]) + counter.count(stream[cut:]) == 3


@pytest.mark.parametrize(
    "refused", [answer(error_code=5), answer(error_code=2, message="the batch is damaged")]
)
def test_an_error_code_or_another_length_of_a_response_is_detected(refused: bytes) -> None:
    stream = memoryview(answer() + refused + answer())
    size = len(answer())
    for cut in (0, 20, size):
        counter = AnswerCounter("orders")
        assert counter.count(stream[:cut]) == cut // size
        with pytest.raises(UnexpectedAnswer, match="refused"):
            counter.count(stream[cut:])


def test_the_next_offset_follows_the_last_complete_batch() -> None:
    first = build_batch([NewRecord(value=b"a", timestamp=1)] * 2, base_offset=10)
    second = build_batch([NewRecord(value=b"b", timestamp=1)] * 3, base_offset=12)
    assert next_offset(first + second, 10) == 15
    assert next_offset(first + second[:-1], 10) == 12
    assert next_offset(first + second[:5], 10) == 12


def test_a_fetch_without_a_complete_batch_is_an_error_and_is_not_retried_forever() -> None:
    batch = build_batch([NewRecord(value=b"a", timestamp=1)])
    with pytest.raises(UnexpectedAnswer, match="no complete batch"):
        next_offset(batch[:-1], 0)
