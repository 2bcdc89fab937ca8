"""The version of a request to another node, by what that node lists."""

import pytest

from penstock.client.core.handshake import BrokerInfo
from penstock.cluster.metadata.state import METADATA_VERSION
from penstock.cluster.peer_versions import NoCommonVersion, common_version
from penstock.protocol.messages import envelope, fetch, write_txn_markers

OF_KAFKA = {METADATA_VERSION: (7, 25)}
OF_PENSTOCK = {METADATA_VERSION: (25, 30)}


def test_a_request_to_an_older_node_of_kafka_has_the_newest_version_that_it_knows() -> None:
    kafka_4_0 = BrokerInfo(
        address="h:9092", versions={write_txn_markers.API_KEY: (1, 1)}, supported_features=OF_KAFKA
    )
    assert common_version(kafka_4_0, write_txn_markers.API_KEY, 2) == 1


def test_a_request_has_no_newer_version_than_its_sender_asks_for() -> None:
    peer = BrokerInfo(address="h:9092", versions={fetch.API_KEY: (4, 18)}, supported_features=OF_KAFKA)
    assert common_version(peer, fetch.API_KEY, 17) == 17


def test_a_request_without_a_common_version_names_both_ranges() -> None:
    peer = BrokerInfo(
        address="h:9092", versions={write_txn_markers.API_KEY: (7, 9)}, supported_features=OF_KAFKA
    )
    with pytest.raises(NoCommonVersion, match=r"h:9092 serves WriteTxnMarkers .* 7 to 9, .* sends 1 to 2"):
        common_version(peer, write_txn_markers.API_KEY, 2)


def test_a_node_of_kafka_does_not_serve_what_it_does_not_list() -> None:
    peer = BrokerInfo(address="h:9092", versions={}, supported_features=OF_KAFKA)
    with pytest.raises(NoCommonVersion, match="h:9092 does not serve Envelope requests"):
        common_version(peer, envelope.API_KEY, 0)


def test_a_node_of_penstock_serves_requests_between_nodes_although_it_does_not_list_them() -> None:
    peer = BrokerInfo(address="h:9092", versions={fetch.API_KEY: (4, 18)}, supported_features=OF_PENSTOCK)
    assert common_version(peer, envelope.API_KEY, 0) == 0
