import pytest

from penstock_bench.peers.clients import CLIENTS, missing_package
from penstock_bench.peers.targets import (
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
    assert all(server_named(target.server).dialect in CLIENTS for target in TARGETS)
    assert {target.server for target in (*TARGETS, *TRANSACTION_TARGETS)} == {
        server.name for server in SERVERS
    }


def test_targets_with_acknowledgements_from_the_page_cache_speak_kafka_and_have_a_counterpart() -> None:
    cached = [target for target in TARGETS if target.durability == PAGE_CACHE]
    assert [target.is_ours for target in cached] == [True, False]
    assert all(speaks_kafka(target) for target in cached)
    assert {t.server for t in cached} < {t.server for t in TARGETS if t.durability == SYNCED}


def test_measurements_of_a_server_alone_use_one_target_of_each_server() -> None:
    servers = [target.server for target in one_of_each_server(TARGETS)]
    assert sorted(servers) == sorted({target.server for target in TARGETS})


def test_a_missing_client_library_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert missing_package("kafka") is None
    monkeypatch.setitem(CLIENTS, "redis", ("no-such-package", "", ""))
    assert "pip install 'penstock-broker[bench]'" in str(missing_package("redis"))
