"""A stand-in for testcontainers' `KafkaContainer` that needs no container: switching is one import.

    from penstock.testcontainers import KafkaContainer   # was: from testcontainers.kafka import KafkaContainer

    with KafkaContainer() as kafka:
        servers = kafka.get_bootstrap_server()

What describes a container (image, network, volumes, command) is taken and ignored. Settings given as the images take
them, `with_env("KAFKA_NUM_PARTITIONS", "3")`, are settings of the broker.
"""

from typing import Any, Self

from penstock.config.table import BROKER
from penstock.embedded import Broker

_ENV_PREFIX = "KAFKA_"
_OURS = (  # where a broker listens and keeps its data, and who it is: nobody outside the container sees that
    "listener",
    "advertised.",
    "inter.broker.",
    "broker.id",
    "node.id",
    "process.roles",
    "controller.",
    "log.dir",
    "zookeeper.",
)
_NO_CONTAINER = "there is no container here: the broker runs inside this process (penstock.testcontainers)"


class KafkaContainer:
    def __init__(
        self, image: str = "confluentinc/cp-kafka:7.6.0", port: int = 9093, **_container_options: Any
    ) -> None:
        self.image = image
        self.port = port
        self.env: dict[str, str] = {}
        self._host_port = 0
        self._broker: Broker | None = None

    # -- what a broker has ----------------------------------------------------------------------------

    def start(self, timeout: float = 30) -> Self:  # noqa: ARG002 - it does not take long
        if self._broker is None:
            self._broker = Broker(config=settings_of(self.env), port=self._host_port).start()
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:  # noqa: ARG002 - nothing stays anyway
        broker, self._broker = self._broker, None
        if broker is not None:
            broker.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def broker(self) -> Broker:
        """The embedded broker itself, for features that a container does not have."""
        if self._broker is None:
            raise RuntimeError("it is not running: use it in a `with` statement, or call start()")
        return self._broker

    def get_bootstrap_server(self) -> str:
        return self.broker.bootstrap_servers

    def get_container_host_ip(self) -> str:
        return self.broker.bootstrap_servers.rpartition(":")[0]

    def get_exposed_port(self, port: int) -> int:  # noqa: ARG002 - there is one
        return int(self.broker.bootstrap_servers.rpartition(":")[2])

    def with_env(self, key: str, value: str) -> Self:
        self.env[key] = str(value)
        return self

    def with_envs(self, **variables: str) -> Self:
        for key, value in variables.items():
            self.with_env(key, value)
        return self

    def with_bind_ports(self, container: int | str, host: int | str | None = None) -> Self:  # noqa: ARG002
        """Listen on this port of the host, rather than on a free one."""
        self._host_port = int(host or 0)
        return self

    # -- what only a container has: taken, and of no effect -------------------------------------------

    def with_kraft(self) -> Self:
        """Nothing to choose: the metadata is always kept by a quorum, and never by ZooKeeper."""
        return self

    def with_cluster_id(self, cluster_id: str) -> Self:  # noqa: ARG002
        return self

    def with_exposed_ports(self, *ports: int | str) -> Self:  # noqa: ARG002
        return self

    def with_name(self, name: str) -> Self:  # noqa: ARG002
        return self

    def with_command(self, command: str | list[str]) -> Self:  # noqa: ARG002
        return self

    def with_volume_mapping(self, host: str, container: str, mode: str = "ro") -> Self:  # noqa: ARG002
        return self

    def with_network(self, network: Any) -> Self:  # noqa: ARG002
        return self

    def with_network_aliases(self, *aliases: str) -> Self:  # noqa: ARG002
        return self

    def with_kwargs(self, **_container_options: Any) -> Self:
        return self

    def get_logs(self) -> tuple[bytes, bytes]:
        """Nothing: the broker's log lines go to this process's `logging`, under the name "penstock"."""
        return b"", b""

    def get_wrapped_container(self) -> Any:
        raise NotImplementedError(_NO_CONTAINER)

    def exec(self, command: str | list[str]) -> Any:
        raise NotImplementedError(_NO_CONTAINER)


def settings_of(env: dict[str, str]) -> dict[str, str]:
    """The broker's settings among the variables of Kafka's images: KAFKA_A_B is a.b; others are left out."""
    settings = {}
    for key, value in env.items():
        name = key.removeprefix(_ENV_PREFIX).lower().replace("_", ".")
        if key.startswith(_ENV_PREFIX) and name in BROKER and not name.startswith(_OURS):
            settings[name] = value
    return settings
