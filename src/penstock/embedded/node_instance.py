"""A broker inside a host process: it changes nothing of the process, and can be killed."""

import asyncio
import random
import resource
from collections.abc import Sequence

from penstock.config.broker import BrokerConfig
from penstock.embedded.links import Links
from penstock.embedded.network import NodeNetwork
from penstock.embedded.node_storage import NodeStorage
from penstock.gateway.dialects import dialects
from penstock.runtime.clock import Clock, SystemClock
from penstock.runtime.offload import OffloadPool
from penstock.server.broker import Broker
from penstock.server.ports import Ports, compact_on_offload, no_ring

_KILL_S_MAX = 5.0
_DESCRIPTORS_MAX = 1 << 20


class NodeInstance:
    """One run of a node. Tests may move `clock`; timeouts between nodes use the system clock."""

    def __init__(
        self,
        config: BrokerConfig,
        storage: NodeStorage,
        clock: Clock,
        links: Links,
        port: int,
        *,
        join: Sequence[tuple[str, int]],
        secret: bytes | None,
    ) -> None:
        """`join` and `secret` as in `Broker`."""
        self._storage = storage
        self._network = NodeNetwork(links, port)
        self._pools: list[OffloadPool] = []
        ports = Ports(
            clock=clock,
            liveness=SystemClock(),
            files=storage.files,
            network=self._network,
            randomness=random.SystemRandom(),
            threads=self._thread_pool,
            open_ring=no_ring,
            compactor=compact_on_offload,
            descriptor_limit=_descriptor_limit,
        )
        self.broker = Broker(config, ports, dialects=dialects, join=join, secret=secret)

    async def stop(self) -> None:
        """Stop gracefully, and leave no task on the loop."""
        try:
            await self.broker.stop()
        finally:
            await self.kill(resets=False)

    async def kill(self, *, resets: bool) -> None:
        """Crash: nothing reaches disk or network any more, and no task is left on the loop.

        `resets`: connections are reset instead of closed.
        """
        self._storage.cut()
        # Tasks of a killed node fail anywhere; these failures are not reported.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        self.broker.abandon()
        await self._network.close_all(resets=resets)
        mine = asyncio.current_task()
        others = [each for each in asyncio.all_tasks() if each is not mine]
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_KILL_S_MAX)
        for pool in self._pools:
            pool.close()

    def _thread_pool(self, count: int, name: str) -> OffloadPool:
        pool = self._storage.offload(count, name)
        self._pools.append(pool)
        return pool


def _descriptor_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else soft
