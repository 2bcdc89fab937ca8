"""The fetch encoder that copies no records writes what the generated one does."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from penstock.protocol.errors import ProtocolError
from penstock.protocol.fetch_frame import encode_fetch_response
from penstock.protocol.messages import fetch
from penstock.protocol.wire import RecordsBuffer
from tests.protocol.message_strategies import values


@pytest.mark.parametrize("version", fetch.VERSIONS)
def test_the_buffers_joined_are_what_the_generated_encoder_writes(version: int) -> None:
    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(values("FetchResponse", version))
    def check(response: Any) -> None:
        assert b"".join(encode_fetch_response(response, version)) == fetch.encode_response(response, version)

    check()


def written_by(encode: Callable[[], bytes]) -> bytes | None:
    try:
        return encode()
    except ProtocolError:
        return None


@pytest.mark.parametrize("version", fetch.VERSIONS)
def test_a_message_is_refused_exactly_when_the_generated_encoder_refuses_it(version: int) -> None:
    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(values("FetchResponse", fetch.VERSIONS[-1]))
    def check(response: Any) -> None:
        generated = written_by(lambda: fetch.encode_response(response, version))
        assert written_by(lambda: b"".join(encode_fetch_response(response, version))) == generated

    check()


@pytest.mark.parametrize("version", fetch.VERSIONS)
def test_records_are_passed_on_by_reference(version: int) -> None:
    spans: list[RecordsBuffer] = [memoryview(b"first"), b"second", bytearray(b"third")]
    partitions = [fetch.PartitionData(partition_index=i, records=span) for i, span in enumerate(spans)]
    topic = fetch.FetchableTopicResponse(topic="orders", partitions=partitions)
    buffers = encode_fetch_response(fetch.FetchResponse(responses=[topic]), version)
    for span in spans:
        assert any(buffer is span for buffer in buffers)


@pytest.mark.parametrize("version", [-1, fetch.VERSIONS.start - 1, fetch.VERSIONS.stop])
def test_an_unknown_version_is_refused(version: int) -> None:
    with pytest.raises(ProtocolError, match=f"FetchResponse has no version {version}"):
        encode_fetch_response(fetch.FetchResponse(), version)


def test_a_value_that_its_type_cannot_hold_is_refused() -> None:
    with pytest.raises(ProtocolError, match="out of range"):
        encode_fetch_response(fetch.FetchResponse(throttle_time_ms=1 << 31), 12)
