import pytest

from penstock_bench.peers.clients import CLIENTS, missing_package
from penstock_bench.peers.targets import (
    CLUSTER_TARGETS,
    KAFKA,
    OTHERS,
    PAGE_CACHE,
    PRODUCTS,
    SYNCED,
    TARGETS,
    TRANSACTION_TARGETS,
    Target,
    comparable_pairs,
    one_of_each_product,
    speaks_kafka,
)


@pytest.mark.parametrize("targets", [TARGETS, CLUSTER_TARGETS])
def test_every_target_has_a_name_of_its_own_and_a_server_that_a_client_speaks_to(
    targets: tuple[Target, ...],
) -> None:
    assert len({target.name for target in targets}) == len(targets)
    assert all(target.product.dialect in CLIENTS for target in targets)


def test_every_product_has_a_target() -> None:
    assert {each.product_name for each in (*TARGETS, *TRANSACTION_TARGETS, *CLUSTER_TARGETS)} == set(PRODUCTS)


def test_targets_with_acknowledgements_from_the_page_cache_speak_kafka_and_have_a_counterpart() -> None:
    cached = [target for target in TARGETS if target.durability == PAGE_CACHE]
    assert [target.is_ours for target in cached] == [True, False]
    assert all(speaks_kafka(target) for target in cached)
    assert {t.product_name for t in cached} < {t.product_name for t in TARGETS if t.durability == SYNCED}


def test_each_durability_of_clusters_is_that_of_penstock_and_of_others() -> None:
    for durability in (SYNCED, PAGE_CACHE):
        are_ours = [target.is_ours for target in CLUSTER_TARGETS if target.durability == durability]
        assert are_ours.count(True) == 1
        assert are_ours.count(False) >= 2


def test_penstock_is_compared_with_each_peer_that_syncs_and_with_kafka_at_the_same_flush_setting() -> None:
    assert len(OTHERS) == 4
    assert ("Penstock", "RabbitMQ, quorum queue") in OTHERS
    assert KAFKA == (("Penstock", "Kafka, flush.messages=1"), ("Penstock, page cache", "Kafka"))


def test_penstock_is_compared_with_targets_that_acknowledge_at_the_same_point() -> None:
    pairs = comparable_pairs(TARGETS)
    assert ("Penstock, page cache", "Kafka") in pairs
    assert ("Penstock", "Kafka, flush.messages=1") in pairs
    assert ("Penstock", "Kafka") not in pairs
    assert not any(theirs.startswith("Penstock") for _, theirs in pairs)


def test_measurements_of_a_server_alone_use_one_target_of_each_server() -> None:
    servers = [target.product_name for target in one_of_each_product(TARGETS)]
    assert sorted(servers) == sorted({target.product_name for target in TARGETS})


def test_a_missing_client_library_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert missing_package("kafka") is None
    monkeypatch.setitem(CLIENTS, "redis", ("no-such-package", "", ""))
    assert "pip install 'penstock-broker[bench]'" in str(missing_package("redis"))
