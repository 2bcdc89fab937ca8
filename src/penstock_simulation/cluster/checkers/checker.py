"""The parts that checkers share."""

import asyncio
from typing import Generic, TypeVar

from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.violation import ViolationLog

K = TypeVar("K")
T = TypeVar("T")
LATE_REQUEST_S = 5.0
"""The time for which a request without a response may still be carried out: its connection may live that long."""


class Checker:
    def __init__(self, violations: ViolationLog) -> None:
        self._violations = violations

    def _fail(self, invariant: str, partition: PartitionName, detail: str) -> None:
        self._violations.report(invariant, f"{partition[0]}-{partition[1]}: {detail}")


class Waiters(Generic[K, T]):
    """Futures of the next event of a node."""

    def __init__(self) -> None:
        self._futures: dict[K, list[asyncio.Future[T]]] = {}

    def next(self, node: K) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._futures.setdefault(node, []).append(future)
        return future

    def resolve(self, node: K, result: T) -> None:
        for future in self._futures.pop(node, ()):
            if not future.done():
                future.set_result(result)
