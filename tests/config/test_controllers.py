import pytest

from penstock.config.broker import BrokerConfig
from penstock.config.controllers import controller_listener, controllers_to_join
from penstock.config.property import ConfigError

NAMED = {"controller.listener.names": "CONTROLLER"}


def config(**settings: str) -> BrokerConfig:
    return BrokerConfig(NAMED | {name.replace("_", "."): value for name, value in settings.items()})


def test_a_node_without_settings_about_controllers_starts_a_cluster() -> None:
    assert controllers_to_join(BrokerConfig()) == ()
    assert controller_listener(BrokerConfig()) is None


def test_a_broker_joins_the_cluster_of_the_bootstrap_servers() -> None:
    named = config(process_roles="broker", controller_quorum_bootstrap_servers="a:1, [::1]:2")
    assert controllers_to_join(named) == (("a", 1), ("::1", 2))
    assert controller_listener(named) == "CONTROLLER"


def test_a_broker_joins_the_cluster_of_a_static_quorum() -> None:
    named = config(process_roles="broker", controller_quorum_voters="1@a:1,2@b:2")
    assert controllers_to_join(named) == (("a", 1), ("b", 2))


def test_a_controller_that_is_one_of_the_bootstrap_servers_starts_a_cluster() -> None:
    listeners = "PLAINTEXT://h:9092,CONTROLLER://h:9093"
    alone = config(listeners=listeners, controller_quorum_bootstrap_servers="h:9093,other:9093")
    assert controllers_to_join(alone) == ()
    joins = config(listeners=listeners, controller_quorum_bootstrap_servers="other:9093")
    assert controllers_to_join(joins) == (("other", 9093),)


def test_a_controller_ignores_a_static_quorum() -> None:
    assert controllers_to_join(config(controller_quorum_voters="1@a:1,2@b:2")) == ()


@pytest.mark.parametrize("address", ["a", "a:0", "a:70000", "PLAINTEXT://a:1"])
def test_an_invalid_address_of_a_controller_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"controller\.quorum\.bootstrap\.servers: expected host:port"):
        controllers_to_join(config(controller_quorum_bootstrap_servers=address))


def test_controllers_need_the_name_of_their_listener() -> None:
    unnamed = BrokerConfig({"controller.quorum.bootstrap.servers": "a:1"})
    with pytest.raises(ConfigError, match=r"controller\.listener\.names is empty"):
        controllers_to_join(unnamed)
