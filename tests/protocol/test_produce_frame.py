"""The fast codec of a Produce of one batch behaves like the generated one."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.protocol import produce_frame
from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import encode_response_header
from penstock.protocol.messages import produce
from tests.protocol.message_strategies import values

_SETTINGS = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
HEADER = bytes(10)
FLEXIBLE = range(produce.FLEXIBLE_FROM, produce.VERSIONS.stop)


def request(**changes: Any) -> produce.ProduceRequest:
    """One batch, as a synchronous client sends it."""
    data = produce.PartitionProduceData(index=7, records=memoryview(b"the batch" * 30))
    topic = produce.TopicProduceData(partition_data=[data], **changes)
    return produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def response(**changes: Any) -> produce.ProduceResponse:
    part = produce.PartitionProduceResponse(index=7, base_offset=2**40, log_start_offset=3)
    return produce.ProduceResponse(
        responses=[produce.TopicProduceResponse(partition_responses=[part], **changes)], throttle_time_ms=5
    )


def named(version: int) -> dict[str, Any]:
    return {"topic_id": bytes(range(16))} if version >= 13 else {"name": "ordérs"}


def outcome(of: Callable[[], Any]) -> Any:
    try:
        return of()
    except ProtocolError as error:
        return str(error)


def decoded(buf: bytes | memoryview, version: int) -> produce.ProduceRequest:
    """As the dispatcher does it."""
    return produce_frame.decode_request(memoryview(HEADER + buf), version, len(HEADER))


def encoded(message: produce.ProduceResponse, version: int) -> bytes:
    """The body, with the header and the size in front of it checked."""
    (frame,) = produce_frame.encode_response(message, version, 77)
    header = bytearray(4)
    encode_response_header(header, 0, version, 77)
    header[:4] = (len(frame) - 4).to_bytes(4, "big")
    assert bytes(frame).startswith(header)
    return bytes(frame[len(header) :])


@pytest.mark.parametrize("version", FLEXIBLE)
def test_one_batch_is_read_and_answered_without_the_generated_codec(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = produce.encode_request(request(**named(version)), version)
    answer = produce.encode_response(response(**named(version)), version)
    monkeypatch.setattr(produce, "decode_request", None)
    monkeypatch.setattr(produce, "encode_response_into", None)
    assert decoded(data, version) == request(**named(version))
    assert encoded(response(**named(version)), version) == answer


@pytest.mark.parametrize("version", produce.VERSIONS)
def test_any_request_is_read_as_the_generated_decoder_reads_it(version: int) -> None:
    @_SETTINGS
    @given(values("ProduceRequest", version))
    def check(message: Any) -> None:
        data = produce.encode_request(message, version)
        assert decoded(data, version) == produce.decode_request(data, version)

    check()


@pytest.mark.parametrize("version", FLEXIBLE)
def test_damaged_bytes_are_read_or_refused_as_the_generated_decoder_does(version: int) -> None:
    whole = produce.encode_request(request(**named(version)), version)

    @settings(_SETTINGS, max_examples=400)
    @given(st.integers(0, len(whole) - 1), st.integers(0, 255), st.integers(0, len(whole) + 2))
    def check(position: int, byte: int, size: int) -> None:
        data = bytearray(whole + b"\0\0")
        data[position] = byte
        view = memoryview(data)[:size] if byte % 2 else memoryview(data)[: len(whole)]
        assert outcome(lambda: decoded(view, version)) == outcome(
            lambda: produce.decode_request(view, version)
        )

    check()


@pytest.mark.parametrize("version", produce.VERSIONS)
def test_any_response_is_written_or_refused_as_the_generated_encoder_does(version: int) -> None:
    @_SETTINGS
    @given(values("ProduceResponse", produce.VERSIONS[-1]))
    def check(message: Any) -> None:
        assert outcome(lambda: encoded(message, version)) == outcome(
            lambda: produce.encode_response(message, version)
        )

    check()


@pytest.mark.parametrize(
    "changes",
    [{"name": "x" * 300, "topic_id": b"\x01" * 16}, {"name": "", "topic_id": b"short"}, {"name": "\ud800"}],
)
@pytest.mark.parametrize("version", FLEXIBLE)
def test_odd_names_are_written_or_refused_as_the_generated_encoder_does(
    version: int, changes: dict[str, Any]
) -> None:
    message = response(**changes)
    assert outcome(lambda: encoded(message, version)) == outcome(
        lambda: produce.encode_response(message, version)
    )


@pytest.mark.parametrize("version", [2, 14])
def test_an_unknown_version_is_refused(version: int) -> None:
    with pytest.raises(ProtocolError, match=f"ProduceRequest has no version {version}"):
        decoded(b"", version)
    with pytest.raises(ProtocolError, match=f"ProduceResponse has no version {version}"):
        encoded(response(), version)
