"""The share fetch encoder that copies no records writes what the generated one does."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import share_fetch
from penstock.protocol.share_fetch_frame import encode_share_fetch_response
from penstock.protocol.wire import RecordsBuffer
from tests.protocol.message_strategies import values


@pytest.mark.parametrize("version", share_fetch.VERSIONS)
def test_the_buffers_joined_are_what_the_generated_encoder_writes(version: int) -> None:
    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(values("ShareFetchResponse", version))
    def check(response: Any) -> None:
        joined = b"".join(encode_share_fetch_response(response, version))
        assert joined == share_fetch.encode_response(response, version)

    check()


def test_records_are_passed_on_by_reference() -> None:
    spans: list[RecordsBuffer] = [memoryview(b"first"), b"second", bytearray(b"third")]
    partitions = [share_fetch.PartitionData(partition_index=i, records=span) for i, span in enumerate(spans)]
    topic = share_fetch.ShareFetchableTopicResponse(partitions=partitions)
    buffers = encode_share_fetch_response(share_fetch.ShareFetchResponse(responses=[topic]), 2)
    for span in spans:
        assert any(buffer is span for buffer in buffers)


@pytest.mark.parametrize("version", [-1, 0, 3])
def test_an_unknown_version_is_refused(version: int) -> None:
    with pytest.raises(ProtocolError, match=f"ShareFetchResponse has no version {version}"):
        encode_share_fetch_response(share_fetch.ShareFetchResponse(), version)


def test_a_value_that_its_type_cannot_hold_is_refused() -> None:
    with pytest.raises(ProtocolError, match="out of range"):
        encode_share_fetch_response(share_fetch.ShareFetchResponse(throttle_time_ms=1 << 31), 2)
