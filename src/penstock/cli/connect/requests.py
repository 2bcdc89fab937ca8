"""Kafka requests that librdkafka does not have, sent to the broker that answers them. Failures are `CommandError`s."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from penstock.cli.connect.settings import read_settings
from penstock.cli.connect.target import check_reachable
from penstock.cli.errors import CommandError, UsageError, one_line
from penstock.client.blocking.client import GROUP, TRANSACTION, BlockingClient
from penstock.client.errors import ClientError, SettingsError, UnsupportedApi
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode, ProtocolError, is_retriable
from penstock.protocol.messages import describe_cluster, find_coordinator

__all__ = ["GROUP", "TRANSACTION", "RequestClient", "check_error", "error_text"]

_DEADLINE_MS = "15000"

ErrorOf = Callable[[Any], int]


class RequestClient:
    """Retries what is retriable; the caller checks the errors of a response's parts."""

    def __init__(self, servers: str, settings: Iterable[str] = ()) -> None:
        check_reachable(servers)
        properties = {
            "bootstrap.servers": servers,
            "client.id": "penstock-cli",
            "default.api.timeout.ms": _DEADLINE_MS,
            **read_settings(settings),
        }
        try:
            self._cluster = BlockingClient(ClientSettings.from_properties(properties))
        except SettingsError as error:
            raise UsageError(one_line(str(error))) from None
        self._brokers: dict[int, tuple[str, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._cluster.close()

    def ask(self, request: Any) -> Any:
        """Ask any broker; it forwards to the controller as needed. An error of the response as a whole is raised."""
        with _failures():
            return self._cluster.call_any(
                _api_key(request), lambda _: request, lambda response: getattr(response, "error_code", 0)
            )

    def ask_broker(self, node_id: int, request: Any) -> Any:
        """Ask one broker for what only that one knows."""
        address = self.brokers().get(node_id)
        if address is None:
            raise self.unknown_broker(node_id)
        api_key = _api_key(request)
        with _failures(), self._cluster.connection(address) as connection:
            return connection.call(api_key, connection.version(api_key), request)

    def ask_leader(self, topic: str, partition: int, request: Any, error_of: ErrorOf) -> Any:
        """Ask the leader of a partition."""
        with _failures():
            place = TopicPartition(topic, partition)
            return self._cluster.call_leader(
                place, _api_key(request), lambda _version, _leader: request, _retriable(error_of)
            )

    def ask_coordinator(self, kind: int, key: str, request: Any, error_of: ErrorOf) -> Any:
        """Ask the coordinator of a `GROUP` or of the id of a `TRANSACTION`; None if it does not know the API."""
        with _failures():
            try:
                return self._cluster.call_coordinator(
                    kind, key, _api_key(request), lambda _: request, _retriable(error_of)
                )
            except UnsupportedApi:
                return None

    def coordinator_id(self, kind: int, key: str) -> int:
        request = find_coordinator.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        return int(self.ask(request).coordinators[0].node_id)

    def brokers(self) -> dict[int, tuple[str, int]]:
        """The addresses of the running brokers, by id; fetched once."""
        if not self._brokers:
            described = self.ask(describe_cluster.DescribeClusterRequest())
            found = sorted(described.brokers, key=lambda each: each.broker_id)
            self._brokers = {each.broker_id: (each.host, each.port) for each in found}
        return self._brokers

    def unknown_broker(self, node_id: object) -> CommandError:
        return CommandError(f"there is no broker {node_id}: there are {', '.join(map(str, self.brokers()))}")

    def topics(self) -> dict[str, list[int]]:
        """The partitions of every topic."""
        with _failures():
            return {name: sorted(topic.partitions) for name, topic in self._cluster.topics().items()}


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except (ClientError, ProtocolError, OSError) as error:
        raise CommandError(one_line(str(error))) from None


def _api_key(request: Any) -> int:
    """Each API has a module of its own."""
    key: int = sys.modules[type(request).__module__].API_KEY
    return key


def _retriable(error_of: ErrorOf) -> ErrorOf:
    """Retry only what is retriable; the caller checks the rest."""

    def code_of(response: Any) -> int:
        code = int(error_of(response))
        return code if is_retriable(code) else 0

    return code_of


def check_error(part: Any, action: str) -> None:
    """Raise the error of a response, or of a part of one, if it has one."""
    if part.error_code:
        raise CommandError(f"{action}: {error_text(part)}")


def error_text(part: Any) -> str:
    """Describe the error of a response, or of a part of one."""
    try:
        name = ErrorCode(part.error_code).name.lower().replace("_", " ")
    except ValueError:
        name = f"error {part.error_code}"
    message = one_line(getattr(part, "error_message", None) or "")
    return f"{name} ({message.rstrip('.')})" if message else name
