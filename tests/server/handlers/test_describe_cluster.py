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
async def test_the_controllers_are_described_on_the_same_port(
    live: Live, client: Client, version: int
) -> None:
    response = await client.send(DescribeClusterRequest(endpoint_type=2), version)
    assert (code(response.error_code), response.endpoint_type, response.controller_id) == ("NONE", 2, 1)
    controller = one(response.brokers)
    assert (controller.broker_id, controller.host, controller.port) == (1, live.host, live.port)


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize("endpoint_type", [0, 9])
async def test_endpoints_of_another_type_are_refused(
    client: Client, version: int, endpoint_type: int
) -> None:
    response = await client.send(DescribeClusterRequest(endpoint_type=endpoint_type), version)
    assert (code(response.error_code), response.brokers) == ("UNSUPPORTED_ENDPOINT_TYPE", [])
    assert response.error_message
