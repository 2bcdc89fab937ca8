"""A crowd of producers that write to one partition, over few connections and at the same moments.

So what they send comes together, and a broker that holds the partition alone gathers it (ADR 17).
"""

import asyncio
import math

from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import Client
from penstock.testing.simulation.cluster.clients.producer import LARGE_CHANCE, Batch, Producer

_BEAT_S = 0.2
_IN_FLIGHT_MAX = 3
_TWICE_CHANCE = 0.2
_COUNT_OF_A_KIND = 4


class CrowdProducer(Producer):
    """Puts its name before its numbers.

    If it is idempotent it has several batches in flight; if not, one that it had to send again may be there twice.
    """

    def __init__(self, client: Client, partition: PartitionName, name: str, *, is_idempotent: bool) -> None:
        super().__init__(client, partition, is_idempotent=is_idempotent)
        self._name = name
        if not is_idempotent:
            client.history.records.repeating.add(name)

    async def run(self, interval_s: float) -> None:
        random = self._client.random
        while not self.is_stopping:
            is_known = self._is_idempotent and self._sequence > 0  # who is not may begin with any number
            batch_count = random.randint(1, _IN_FLIGHT_MAX) if is_known else 1
            await self.send(*[self._one(each) for each in range(batch_count)])
            beat = math.ceil((self._client.now_s + random.expovariate(1 / interval_s)) / _BEAT_S)
            await asyncio.sleep(beat * _BEAT_S - self._client.now_s)
        self.has_stopped = True

    def _copies(self) -> int:
        """Now and then two at once, as who takes the first for lost."""
        return 2 if self._is_idempotent and self._client.random.random() < _TWICE_CHANCE else 1

    def _one(self, index: int) -> Batch:
        value = f"{self._name} {self._sequence + index}".encode()
        return Batch([value], self._client.random.random() < LARGE_CHANCE)


def crowd(client: Client, partition: PartitionName) -> list[CrowdProducer]:
    """On connections of their own, for a broker remembers how the last Produce on each began.

    On two, for an answer that waits for the disk keeps back all later ones of its connection.
    """
    clients = (client.another(), client.another())
    return [
        CrowdProducer(clients[number % 2], partition, f"{kind} {number}", is_idempotent=kind == "once")
        for kind in ("once", "again")
        for number in range(_COUNT_OF_A_KIND)
    ]
