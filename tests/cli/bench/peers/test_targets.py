import pytest

from penstock.cli.bench.peers.clients import PACKAGES, missing_package
from penstock.cli.bench.peers.servers.penstock import PenstockServer
from penstock.cli.bench.peers.targets import (
    PAGE_CACHE,
    SERVERS,
    SYNCED,
    TARGETS,
    TRANSACTION_TARGETS,
    one_of_each_server,
    server_named,
    speaks_kafka,
)


def test_every_target_has_a_name_of_its_own_and_a_server_that_a_client_speaks_to() -> None:
    assert len({target.name for target in TARGETS}) == len(TARGETS)
    assert all(server_named(target.server).dialect in PACKAGES for target in TARGETS)
    assert {target.server for target in (*TARGETS, *TRANSACTION_TARGETS)} == {
        server.name for server in SERVERS
    }


def test_whatever_acknowledges_from_the_page_cache_speaks_kafka_and_has_a_counterpart() -> None:
    cached = [target for target in TARGETS if target.durability == PAGE_CACHE]
    assert [target.is_ours for target in cached] == [True, False]
    assert all(speaks_kafka(target) for target in cached)
    assert {t.server for t in cached} < {t.server for t in TARGETS if t.durability == SYNCED}


def test_of_each_server_one_target_is_enough_for_what_concerns_the_server_alone() -> None:
    servers = [target.server for target in one_of_each_server(TARGETS)]
    assert sorted(servers) == sorted({target.server for target in TARGETS})


def test_a_build_that_is_not_there_says_how_to_make_it() -> None:
    assert "make compiled" in str(PenstockServer("Penstock, compiled", None).missing())


def test_a_client_that_is_not_there_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_package("kafka") is None
    monkeypatch.setitem(PACKAGES, "redis", "no-such-package")
    assert "pip install 'penstock-broker[bench]'" in str(missing_package("redis"))
