"""Responses with records are encoded without a copy of the records, to the bytes that the copying encoder writes."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import encode_response_buffers, encode_response_frame
from penstock.protocol.messages import fetch, share_fetch
from penstock.protocol.wire import Buffer, RecordsBuffer
from tests.protocol.message_strategies import CASE_OF, values

MODULES = {"FetchResponse": fetch, "ShareFetchResponse": share_fetch}


def encoded(module: ModuleType, response: Any, version: int) -> list[Buffer]:
    return encode_response_buffers(module.API_KEY, module.encode_response_into, response, version, 7)


@pytest.mark.parametrize("name", list(MODULES))
def test_the_buffers_joined_are_the_frame_that_the_copying_encoder_writes(name: str) -> None:
    for versions in CASE_OF[name].alike():
        compare_encoders(name, versions)


def compare_encoders(name: str, versions: list[int]) -> None:
    module = MODULES[name]

    @settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(values(name, versions[0]))
    def check(response: Any) -> None:
        for version in versions:
            frame = encode_response_frame(module.API_KEY, module.encode_response_into, response, version, 7)
            assert b"".join(encoded(module, response, version)) == frame[0]

    check()


@pytest.mark.parametrize("name", list(MODULES))
def test_records_are_passed_on_by_reference(name: str) -> None:
    module: Any = MODULES[name]
    spans: list[RecordsBuffer] = [memoryview(b"first"), b"second", bytearray(b"third")]
    partitions = [module.PartitionData(partition_index=i, records=span) for i, span in enumerate(spans)]
    topic_type = fetch.FetchableTopicResponse if module is fetch else share_fetch.ShareFetchableTopicResponse
    topic: Any = topic_type(partitions=partitions)
    for version in module.VERSIONS:
        response = getattr(module, name)(responses=[topic])
        buffers = encoded(module, response, version)
        assert all(any(buffer is span for buffer in buffers) for span in spans)


def test_a_value_that_its_type_cannot_hold_is_refused() -> None:
    with pytest.raises(ProtocolError, match="out of range"):
        encoded(fetch, fetch.FetchResponse(throttle_time_ms=1 << 31), 12)
