"""A broker that is a guest in a process: it changes nothing of the process, and can be killed in it."""

import asyncio
import random
import resource
from collections.abc import Sequence

from penstock.config.broker import BrokerConfig
from penstock.embedded.links import Links
from penstock.embedded.network import NodeNetwork
from penstock.embedded.places import Place
from penstock.gateway.dialects import dialects
from penstock.observability.clock import Clock, SystemClock
from penstock.observability.offload import OffloadPool
from penstock.server.broker import Broker
from penstock.server.ports import Ports, compact_on_offload, no_ring

_DYING_S_MAX = 5.0
_DESCRIPTORS_MAX = 1 << 20


class Guest:
    """One life of a node. `clock` may be moved, the one by which nodes wait for each other is the machine's."""

    def __init__(
        self,
        config: BrokerConfig,
        place: Place,
        clock: Clock,
        links: Links,
        port: int,
        *,
        join: Sequence[tuple[str, int]],
        secret: bytes | None,
    ) -> None:
        """`join` and `secret` as in `Broker`."""
        self._place = place
        self._network = NodeNetwork(links, port)
        self._pools: list[OffloadPool] = []
        ports = Ports(
            clock=clock,
            liveness=SystemClock(),
            files=place.files,
            network=self._network,
            randomness=random.SystemRandom(),
            threads=self._threads,
            open_ring=no_ring,
            compactor=compact_on_offload,
            descriptor_limit=_descriptor_limit,
        )
        self.broker = Broker(config, ports, dialects=dialects, join=join, secret=secret)

    async def retire(self) -> None:
        """Stop gracefully, and leave nothing on the loop."""
        try:
            await self.broker.stop()
        finally:
            await self.die(resets=False)

    async def die(self, *, resets: bool) -> None:
        """From the first step on nothing of it reaches disk or network; in the end nothing is left on the loop.

        `resets`: clients are to see that it died, and not an orderly end of their connections.
        """
        self._place.cut()
        # What runs on a dead node fails in any place, and that is nothing to report.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        self.broker.abandon()
        await self._network.die(resets=resets)
        mine = asyncio.current_task()
        others = [each for each in asyncio.all_tasks() if each is not mine]
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_DYING_S_MAX)
        for pool in self._pools:
            pool.close()

    def _threads(self, count: int, name: str) -> OffloadPool:
        pool = self._place.offload(count, name)
        self._pools.append(pool)
        return pool


def _descriptor_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else soft
