"""Request and response headers, of known and unknown APIs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.apis import APIS
from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)

KNOWN = [(spec.key, version) for spec in APIS.values() for version in spec.versions]


@given(st.sampled_from(KNOWN), st.integers(-(2**31), 2**31 - 1), st.text(max_size=200))
def test_a_request_header_round_trips(api: tuple[int, int], correlation_id: int, client: str) -> None:
    header = RequestHeader(
        api_key=api[0], api_version=api[1], correlation_id=correlation_id, client_id=client
    )
    out = bytearray()
    encode_request_header(out, header)
    assert decode_request_header(memoryview(bytes(out) + b"body")) == (header, len(out))
    assert decode_request_header(b"1234" + out, 4) == (header, 4 + len(out))


@given(st.sampled_from(KNOWN), st.integers(-(2**31), 2**31 - 1))
def test_a_response_header_round_trips(api: tuple[int, int], correlation_id: int) -> None:
    out = bytearray()
    encode_response_header(out, *api, correlation_id)
    assert decode_response_header(bytes(out) + b"body", *api) == (correlation_id, len(out))


def test_the_client_id_is_never_a_compact_string() -> None:
    legacy, flexible = bytearray(), bytearray()
    encode_request_header(legacy, RequestHeader(api_key=3, api_version=8, correlation_id=5, client_id="me"))
    encode_request_header(flexible, RequestHeader(api_key=3, api_version=9, correlation_id=5, client_id="me"))
    assert legacy == b"\x00\x03\x00\x08\x00\x00\x00\x05\x00\x02me"
    assert flexible == b"\x00\x03\x00\x09\x00\x00\x00\x05\x00\x02me\x00"


def test_a_null_client_id_is_an_empty_one() -> None:
    header, pos = decode_request_header(b"\x00\x03\x00\x08\x00\x00\x00\x05\xff\xff")
    assert (header.client_id, pos) == ("", 10)


def test_unknown_tagged_fields_of_a_header_are_skipped() -> None:
    data = b"\x00\x03\x00\x09\x00\x00\x00\x05\x00\x00\x01\x09\x02xx"
    assert decode_request_header(data + b"body")[1] == len(data)
    assert decode_response_header(b"\x00\x00\x00\x07\x01\x09\x02xx", 3, 9) == (7, 9)


def test_an_api_versions_response_has_no_tagged_fields_in_its_header() -> None:
    for version in (0, 3, 4, 99):
        out = bytearray()
        encode_response_header(out, 18, version, 7)
        assert out == b"\x00\x00\x00\x07"
        assert decode_response_header(out, 18, version) == (7, 4)


def test_a_request_of_an_unknown_version_still_yields_its_fixed_fields() -> None:
    for rest in (b"", b"\xff", b"\x00\x09short", b"\x7f\xff" + bytes(10)):
        header, _ = decode_request_header(b"\x00\x12\x00\x63\x00\x00\x00\x05" + rest)
        assert (header.api_key, header.api_version, header.correlation_id) == (18, 99, 5)


def test_a_request_of_an_unknown_api_still_yields_its_fixed_fields() -> None:
    header, pos = decode_request_header(b"\x7f\x00\x00\x01\x00\x00\x00\x05anything")
    assert (header, pos) == (RequestHeader(api_key=0x7F00, api_version=1, correlation_id=5), 8)


@pytest.mark.parametrize("size", range(12))
def test_a_header_that_is_cut_short_is_refused(size: int) -> None:
    out = bytearray()
    encode_request_header(out, RequestHeader(api_key=3, api_version=9, correlation_id=5, client_id="me"))
    with pytest.raises(ProtocolError):
        decode_request_header(out[:size])


@pytest.mark.parametrize("size", range(5))
def test_a_response_header_that_is_cut_short_is_refused(size: int) -> None:
    with pytest.raises(ProtocolError):
        decode_response_header(bytes(size), 3, 9)
