"""ApiVersions in every version, and in an unknown one."""

import asyncio
import struct

import pytest

from penstock.protocol.apis import APIS
from penstock.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    decode_response,
)
from penstock.server.handlers import HANDLERS, TELEMETRY
from tests.server.live import Client, Live, code, one, versions

VERSIONS = versions(ApiVersionsRequest)
CLIENT = {"client_software_name": "test-client", "client_software_version": "1.0"}


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_api_is_listed_with_its_supported_versions(client: Client, version: int) -> None:
    response: ApiVersionsResponse = await client.send(ApiVersionsRequest(**CLIENT), version)
    assert response.error_code == 0
    listed = {a.api_key: (a.min_version, a.max_version) for a in response.api_keys}
    shown = [
        key
        for key, handler in HANDLERS.items()
        if not handler.is_internal and key not in TELEMETRY  # nobody wants metrics of clients here
    ]
    assert len(listed) == len(response.api_keys) == len(shown)
    for key in shown:
        assert listed[key] == (
            0 if key == 0 else APIS[key].versions[0],
            5 if key == 22 else APIS[key].versions[-1],
        )
    assert listed[0] == (0, 13)  # librdkafka wants to see 0
    assert listed[1] == (4, 18)
    assert listed[18] == (0, 4)


@pytest.mark.parametrize("version", VERSIONS)
async def test_features_are_listed_from_v3_on(client: Client, version: int) -> None:
    response: ApiVersionsResponse = await client.send(ApiVersionsRequest(**CLIENT), version)
    finalized = {f.name: f.max_version_level for f in response.finalized_features}
    supported = {f.name: f.min_version for f in response.supported_features}
    if version < 3:
        assert (finalized, supported, response.finalized_features_epoch) == ({}, {}, -1)
        return
    assert finalized["metadata.version"] > 0
    assert response.finalized_features_epoch >= 0
    assert "metadata.version" in supported
    # Clients before v4 cannot read a range that starts at 0 (KAFKA-17011).
    assert version >= 4 or all(low > 0 for low in supported.values())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "number"), [("", "1"), ("ok", ""), ("white space", "1"), ("-ok", "1"), ("ok", "1."), ("é", "1")]
)
async def test_a_client_with_an_unprintable_name_is_refused(
    client: Client, version: int, name: str, number: str
) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version=number)
    if version < 3:  # the fields do not exist
        request = ApiVersionsRequest()
    response = await client.send(request, version)
    if version < 3:
        assert response.error_code == 0
    else:
        assert (code(response.error_code), response.api_keys) == ("INVALID_REQUEST", [])


@pytest.mark.parametrize("version", [5, 99, -1, 32767])
async def test_an_unknown_version_is_answered_in_v0(live: Live, version: int) -> None:
    reader, writer = await asyncio.open_connection(live.host, live.port)
    body = struct.pack(">hhi", 18, version, 77) + struct.pack(">h", -1) + b"\xff whatever follows"
    writer.write(struct.pack(">i", len(body)) + body)
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    answer = await reader.readexactly(size)
    assert struct.unpack_from(">i", answer) == (77,)
    response = decode_response(answer, 0, 4)
    assert code(response.error_code) == "UNSUPPORTED_VERSION"
    listed = one(response.api_keys)
    assert (listed.api_key, listed.min_version, listed.max_version) == (18, 0, 4)
    # The connection lives on: the client asks again in a version that it has just learnt of.
    body = struct.pack(">hhih", 18, 0, 78, -1)
    writer.write(struct.pack(">i", len(body)) + body)
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    assert decode_response(await reader.readexactly(size), 0, 4).error_code == 0
    writer.close()
