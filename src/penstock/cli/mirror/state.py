"""The mirrors of a cluster, as its brokers report them together."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from penstock.cli.connect.requests import RequestClient, check_error
from penstock.cli.errors import CommandError, not_found
from penstock.client.mirrors import RESOURCE_TYPE, MirrorReport, list_request, report_of, report_request
from penstock.protocol.messages import incremental_alter_configs

_SET: Final = 0
_POLL_S: Final = 0.2

T = TypeVar("T")


class MirrorClient:
    def __init__(self, client: RequestClient) -> None:
        self._client = client

    def names(self) -> list[str]:
        return [each.resource_name for each in self._client.ask(list_request()).config_resources]

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
        names = self.names()
        if name not in names:
            raise not_found("mirror", name, names, "list them with `penstock mirror list`")
        answers: list[Any] = []
        silent: list[CommandError] = []
        for broker in self._client.brokers():
            try:
                answer = self._client.ask_broker(broker, report_request(name))
            except CommandError as error:
                silent.append(error)
                continue
            check_error(answer.results[0], f"cannot describe mirror {name}")
            answers.append(answer)
        if not answers and silent:
            raise silent[0]
        return report_of(name, answers, [str(each) for each in silent])

    def wait(self, name: str, timeout_s: float, what: str, find: Callable[[MirrorReport], T | None]) -> T:
        """Ask for reports until `find` returns something. Raises `CommandError` at the timeout.

        A broker may learn of the mirror a moment later than the controller, and brokers may fail meanwhile.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                report = self.report(name)
            except CommandError as error:
                reasons = str(error)
            else:
                found = find(report)
                if found is not None:
                    return found
                reasons = "; ".join(report.failures[:3]) or f"it is {report.state}"
            if time.monotonic() >= deadline:
                raise CommandError(f"{what} after {timeout_s:.0f} s: {reasons}")
            time.sleep(_POLL_S)
