"""DescribeCluster in every version, against a live broker."""

import pytest

from penstock.protocol.messages.describe_cluster import DescribeClusterRequest
from penstock.security.operations import CLUSTER_OPERATIONS, bit_field
from tests.server.live import Client, Live, code, one, versions

VERSIONS = versions(DescribeClusterRequest)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_cluster_is_described(live: Live, client: Client, version: int) -> None:
    response = await client.send(DescribeClusterRequest(), version)
    assert (response.error_code, response.cluster_id) == (0, live.services.cluster_id)
    assert (response.controller_id, response.endpoint_type) == (1, 1)
    broker = one(response.brokers)
    assert (broker.broker_id, broker.host, broker.port) == (1, live.host, live.port)
    assert (broker.rack, broker.is_fenced) == (None, False)
    assert response.cluster_authorized_operations == -(2**31)
    asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
    response = await client.send(asked, version)
    assert response.cluster_authorized_operations == bit_field(CLUSTER_OPERATIONS)


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize(
    ("endpoint_type", "expected"),
    [(2, "MISMATCHED_ENDPOINT_TYPE"), (0, "UNSUPPORTED_ENDPOINT_TYPE"), (9, "UNSUPPORTED_ENDPOINT_TYPE")],
)
async def test_a_broker_does_not_describe_controllers(
    client: Client, version: int, endpoint_type: int, expected: str
) -> None:
    response = await client.send(DescribeClusterRequest(endpoint_type=endpoint_type), version)
    assert (code(response.error_code), response.brokers) == (expected, [])
    assert response.error_message
