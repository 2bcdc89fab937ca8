"""The mirrors of a cluster, as its brokers report them together."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from penstock.cli.connect.requests import RequestClient, check_error
from penstock.cli.errors import CommandError, not_found, one_line
from penstock.client.mirrors import (
    OUTCOME,
    PROGRESS,
    RESOURCE_TYPE,
    MirrorProgress,
    PartitionProgress,
    ReadyPartition,
    outcome_in,
    progress_in,
)
from penstock.protocol.messages import describe_configs, incremental_alter_configs, list_config_resources

SERVERS, TOPICS, STATE = "bootstrap.servers", "topics", "state"
CLIENT, SOURCE_CLUSTER, THROTTLE = "client.properties", "source.cluster.id", "throttle.bytes.per.second"
FACTOR, MAY_ADOPT = "replication.factor", "may.adopt.topics"
_SETTINGS: Final = (SERVERS, TOPICS, STATE, SOURCE_CLUSTER, THROTTLE)
_SET: Final = 0
_POLL_S: Final = 0.2

T = TypeVar("T")


class MirrorReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    state: str
    servers: str
    topics: str
    source_cluster: str | None
    throttle: int
    partitions: list[PartitionProgress]
    is_followed: bool
    """Whether the active controller has looked at the source."""
    error: str
    troubles: Mapping[str, str]
    outcome: list[ReadyPartition]
    copied_bytes: int
    """By all brokers, each since its start."""

    @property
    def lag(self) -> int | None:
        """Of all partitions together; None while that of any is unknown."""
        lags = [each.lag for each in self.partitions]
        return None if None in lags else sum(each or 0 for each in lags)

    @property
    def failures(self) -> list[str]:
        """Each reason once, with what it is about."""
        found = [] if not self.error else [self.error]
        found += [f"{topic}: {reason}" for topic, reason in sorted(self.troubles.items())]
        found += [
            f"{each.topic}-{each.partition}: {each.trouble}"
            for each in self.partitions
            if each.trouble and each.trouble != self.error
        ]
        return [one_line(each) for each in found]


class MirrorClient:
    def __init__(self, client: RequestClient) -> None:
        self._client = client

    def names(self) -> list[str]:
        request = list_config_resources.ListConfigResourcesRequest(resource_types=[RESOURCE_TYPE])
        response = self._client.ask(request)
        return [each.resource_name for each in response.config_resources]

    def change(self, name: str, settings: Mapping[str, str], action: str) -> None:
        m = incremental_alter_configs
        resource = m.AlterConfigsResource(
            resource_type=RESOURCE_TYPE,
            resource_name=name,
            configs=[
                m.AlterableConfig(name=key, config_operation=_SET, value=value)
                for key, value in settings.items()
            ],
        )
        response = self._client.ask(m.IncrementalAlterConfigsRequest(resources=[resource]))
        check_error(response.responses[0], action)

    def report(self, name: str) -> MirrorReport:
        """What all brokers report. A broker that is down reports nothing of the partitions it led."""
        if name not in self.names():
            raise not_found("mirror", name, self.names(), "list them with `penstock mirror list`")
        answers, silent = self._describe_everywhere(name)
        settings: dict[str, str] = {}
        for answer in answers.values():
            settings |= {
                each.name: each.value
                for result in answer.results
                for each in result.configs
                if each.name in _SETTINGS and each.value is not None
            }
        found = [each for answer in answers.values() if (each := progress_in(answer)) is not None]
        first = next((each for each in found if each.is_followed), MirrorProgress(broker=-1))
        return MirrorReport(
            name=name,
            state=settings.get(STATE, "unknown"),
            servers=settings.get(SERVERS, ""),
            topics=settings.get(TOPICS, ""),
            source_cluster=settings.get(SOURCE_CLUSTER),
            throttle=int(settings.get(THROTTLE, "0")),
            partitions=sorted(
                (part for each in found for part in each.partitions),
                key=lambda each: (each.topic, each.partition),
            ),
            is_followed=first.is_followed,
            error="; ".join(each for each in (first.error, *silent) if each),
            troubles=first.troubles,
            copied_bytes=sum(each.copied_bytes for each in found),
            outcome=next((outcome for each in answers.values() if (outcome := outcome_in(each))), []),
        )

    def _describe_everywhere(self, name: str) -> tuple[dict[int, Any], list[str]]:
        """The answers of the brokers, and why others have not answered. Raises `CommandError` if none has."""
        answers: dict[int, Any] = {}
        silent: list[CommandError] = []
        for broker in self._client.brokers():
            try:
                answers[broker] = self._describe(broker, name)
            except CommandError as error:
                silent.append(error)
        if not answers and silent:
            raise silent[0]
        return answers, [str(each) for each in silent]

    def _describe(self, broker: int, name: str) -> Any:
        d = describe_configs
        resource = d.DescribeConfigsResource(
            resource_type=RESOURCE_TYPE,
            resource_name=name,
            configuration_keys=[*_SETTINGS, PROGRESS, OUTCOME],
        )
        response = self._client.ask_broker(broker, d.DescribeConfigsRequest(resources=[resource]))
        check_error(response.results[0], f"cannot describe mirror {name}")
        return response

    def wait(self, name: str, timeout_s: float, what: str, find: Callable[[MirrorReport], T | None]) -> T:
        """Ask for reports until `find` returns something. Raises `CommandError` at the timeout."""
        deadline = time.monotonic() + timeout_s
        while True:
            report = self.report(name)
            found = find(report)
            if found is not None:
                return found
            if time.monotonic() >= deadline:
                reasons = "; ".join(report.failures[:3]) or f"it is {report.state}"
                raise CommandError(f"{what} after {timeout_s:.0f} s: {reasons}")
            time.sleep(_POLL_S)
