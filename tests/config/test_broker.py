import pytest

from penstock.config.broker import BrokerConfig, ConfigSource, load, unknown_names
from penstock.config.property import ConfigError
from penstock.config.settings import logs, network, replication, security


def test_without_settings_the_defaults_are_kafkas() -> None:
    config = load()
    assert config[replication.NUM_PARTITIONS] == 1
    assert config[network.SOCKET_REQUEST_MAX_BYTES] == 104_857_600
    assert config[logs.LOG_RETENTION_MS] is None
    assert config.node_id == 1


def test_a_setting_on_the_command_line_wins_over_the_file() -> None:
    config = load("num.partitions=3\nbroker.rack=a\n", ["num.partitions=5"])
    assert config[replication.NUM_PARTITIONS] == 5
    assert config[network.BROKER_RACK] == "a"


def test_an_unknown_setting_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(
        ConfigError, match=r"Unknown broker config name: num.partition. Did you mean num.partitions\?"
    ):
        load(None, ["num.partition=3"])


def test_settings_of_a_file_that_have_no_meaning_here_are_skipped_and_reported() -> None:
    text = "zookeeper.connect=localhost:2181\nnum.partitions=3\nconfluent.balancer.enable=true\n"
    config = load(text)
    assert config[replication.NUM_PARTITIONS] == 3
    assert unknown_names(text) == ["zookeeper.connect", "confluent.balancer.enable"]
    assert set(config.static) == {"num.partitions"}


@pytest.mark.parametrize("name", ["penstock.admin.listner", "ssl.client.auht"])
def test_a_misspelt_setting_of_security_or_of_penstock_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"Unknown broker config name: {name}\. Did you mean"):
        load(f"{name}=required\n")


def test_a_setting_without_a_value_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'num.partitions' is not a setting: write it as name=value"):
        load(None, ["num.partitions"])


def test_a_properties_file_of_kafka_is_accepted_unchanged() -> None:
    text = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
log.dirs=/var/lib/one, /var/lib/two
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""
    config = load(text)
    assert config.log_dirs == ("/var/lib/one", "/var/lib/two")
    assert [(each.name, each.host, each.port) for each in config.advertised_listeners] == [
        ("PLAINTEXT", "localhost", 9092),
        ("CONTROLLER", "localhost", 9093),
    ]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["node.id=1", "broker.id=2"], "node.id is 1 but broker.id is 2"),
        (["advertised.listeners=SSL://a:1"], "advertised.listeners names SSL, which is not among listeners"),
        (["inter.broker.listener.name=SSL"], "inter.broker.listener.name is SSL"),
        (["broker.heartbeat.interval.ms=10000"], "broker.heartbeat.interval.ms is 10000, which is more than"),
        (["queued.max.request.bytes=5"], "it must be -1 or at least socket.request.max.bytes"),
        (["listeners=PLAINTEXT://:1,PLAINTEXT://:2"], "PLAINTEXT comes twice in listeners"),
        (["listeners=EXTERNAL://:1"], "no security protocol is defined for listener EXTERNAL"),
        (["listeners=9092"], "expected NAME://host:port"),
        (["listeners=PLAINTEXT://:70000"], "expected NAME://host:port"),
        (["listeners="], "at least one address is needed"),
        (["listener.security.protocol.map=A:B"], "expected NAME:PROTOCOL"),
    ],
)
def test_contradictory_settings_are_refused(settings: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        load(None, settings)


def test_a_setting_for_one_listener_and_mechanism_applies_only_there() -> None:
    config = load(
        None,
        [
            "ssl.client.auth=requested",
            "listener.name.external.ssl.client.auth=required",
            "listener.name.external.scram-sha-256.sasl.jaas.config=x",
        ],
    )
    assert config.for_listener("EXTERNAL", security.SSL_CLIENT_AUTH) == "required"
    assert config.for_listener("INTERNAL", security.SSL_CLIENT_AUTH) == "requested"
    assert config.for_listener("EXTERNAL", security.SASL_JAAS_CONFIG, "SCRAM-SHA-256") == "x"
    assert config.for_listener("EXTERNAL", security.SASL_JAAS_CONFIG, "PLAIN") is None


def test_a_setting_that_no_listener_can_have_is_refused_for_a_listener() -> None:
    with pytest.raises(ConfigError, match=r"Unknown broker config name: listener.name.a.num.partitions"):
        load(None, ["listener.name.a.num.partitions=1"])


def test_dynamic_settings_override_static_ones_and_this_brokers_the_clusters() -> None:
    static = BrokerConfig({"max.connections": "1", "log.cleaner.threads": "1", "background.threads": "1"})
    config = static.with_dynamic(
        cluster_wide={"max.connections": "2", "log.cleaner.threads": "2"}, per_broker={"max.connections": "3"}
    )
    assert config[network.MAX_CONNECTIONS] == 3
    assert config[logs.LOG_CLEANER_THREADS] == 2
    assert static[network.MAX_CONNECTIONS] == 1


def test_a_dynamic_setting_that_this_version_does_not_know_is_skipped() -> None:
    config = BrokerConfig(cluster_wide={"from.the.future": "1", "max.connections": "none"})
    assert config.settings() == {}


def test_a_setting_in_a_higher_layer_wins_over_its_synonym_below() -> None:
    config = BrokerConfig({"log.retention.hours": "1"}, cluster_wide={"log.retention.ms": "5"})
    names = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert [(each.name, each.source) for each in config.lookup(names)] == [
        ("log.retention.ms", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("log.retention.hours", ConfigSource.STATIC_BROKER),
        ("log.retention.hours", ConfigSource.DEFAULT),
    ]


def test_a_dynamic_value_of_a_setting_that_needs_a_restart_is_ignored() -> None:
    """An earlier version accepted `advertised.listeners` while running."""
    stored = {"advertised.listeners": "PLAINTEXT://elsewhere:1", "max.connections": "3"}
    config = BrokerConfig(per_broker=stored)
    assert config.per_broker == {"max.connections": "3"}
    assert [each.host for each in config.advertised_listeners] == [""]


@pytest.mark.parametrize("setting", ["process.roles=", "group.coordinator.rebalance.protocols= ,"])
def test_a_list_that_needs_a_value_is_refused_without_one(setting: str) -> None:
    with pytest.raises(ConfigError, match="At least one value must be named"):
        load(None, [setting])


def test_listeners_of_controllers_are_those_that_are_named_and_listened_on() -> None:
    listening = "listeners=CONTROLLER://:1,PLAINTEXT://:2,BACKUP://:3"
    protocols = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,BACKUP:PLAINTEXT"
    config = load(None, [listening, protocols, "controller.listener.names=BACKUP,controller,ELSEWHERE"])
    assert config.controller_listeners == ("BACKUP", "CONTROLLER")
    assert config.quorum_listeners == ("BACKUP", "CONTROLLER")
    assert config.inter_broker_listener == "PLAINTEXT"


def test_without_a_listener_of_controllers_the_brokers_serve_the_quorum_too() -> None:
    config = load(None, ["listeners=PLAINTEXT://:2", "controller.listener.names=CONTROLLER"])
    assert config.controller_listeners == ()
    assert config.quorum_listeners == ("PLAINTEXT",)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["process.roles=controller"], "controller.listener.names has no PLAINTEXT"),
        (
            ["listeners=CONTROLLER://:1", "controller.listener.names=CONTROLLER"],
            "add one for brokers and clients",
        ),
    ],
)
def test_listeners_that_do_not_fit_the_roles_are_refused(settings: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        load(None, settings)


def test_a_node_that_is_only_a_controller_needs_no_listener_for_brokers() -> None:
    names = "controller.listener.names=CONTROLLER"
    config = load(None, ["process.roles=controller", "listeners=CONTROLLER://:1", names])
    assert not config.is_broker
    assert config.quorum_listeners == ("CONTROLLER",)
    assert config.inter_broker_listener == "CONTROLLER"
