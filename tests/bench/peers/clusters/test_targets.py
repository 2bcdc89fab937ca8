from penstock_bench.peers.clients import CLIENTS
from penstock_bench.peers.clusters.targets import CLUSTER_TARGETS, CLUSTERS, cluster_named
from penstock_bench.peers.targets import PAGE_CACHE, SYNCED


def test_every_cluster_has_a_target_and_a_client_that_speaks_to_it() -> None:
    assert len({target.name for target in CLUSTER_TARGETS}) == len(CLUSTER_TARGETS)
    assert {target.server for target in CLUSTER_TARGETS} == {cluster.name for cluster in CLUSTERS}
    assert all(cluster_named(target.server).dialect in CLIENTS for target in CLUSTER_TARGETS)


def test_each_durability_is_that_of_penstock_and_of_others() -> None:
    for durability in (SYNCED, PAGE_CACHE):
        are_ours = [target.is_ours for target in CLUSTER_TARGETS if target.durability == durability]
        assert are_ours.count(True) == 1
        assert are_ours.count(False) >= 2
