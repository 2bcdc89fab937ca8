"""Checks a node outside the cluster: it gets no service that is for brokers only, and no broker connects to it."""

from collections import Counter
from typing import Any

import msgspec

from penstock.protocol.apis import APIS
from penstock.protocol.errors import ErrorCode
from penstock_simulation.violation import ViolationLog

INVARIANT = "strangers are refused"


class StrangerChecker:
    def __init__(self, violations: ViolationLog) -> None:
        self._violations = violations
        self.refused: Counter[int] = Counter()
        """Refused requests by API key."""

    def on_broker_api_answer(self, key: int, request: Any, response: Any) -> None:
        """Check the answer to a request that is for brokers only: every error in it is about authorization."""
        codes = codes_of(response)
        if codes == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}:
            self.refused[key] += 1
        else:
            names = ", ".join(sorted(each.name for each in codes)) or "no error"
            self.fail(f"{APIS[key].name} was answered with {names}: {request}")

    def on_admin_api_answer(self, key: int, request: Any, response: Any) -> None:
        """Check the answer to a request that administrators may send, with invalid content: it fails."""
        if ErrorCode.NONE in codes_of(response):
            self.fail(f"{APIS[key].name} succeeded: {request}")
        else:
            self.refused[key] += 1

    def on_connection(self, node: str) -> None:
        self.fail(f"{node} connected to a node that only a forged request named")

    def fail(self, detail: str) -> None:
        self._violations.report(INVARIANT, detail)


def codes_of(response: Any) -> set[ErrorCode]:
    """Collect every error code in an answer."""
    if isinstance(response, list):
        return {code for each in response for code in codes_of(each)}
    found = set()
    if isinstance(response, msgspec.Struct):
        for name in response.__struct_fields__:
            value = getattr(response, name)
            found |= {ErrorCode(value)} if name.endswith("error_code") else codes_of(value)
    return found
