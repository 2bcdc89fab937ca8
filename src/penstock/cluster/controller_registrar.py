"""Registers this node as a controller, at its listeners of controllers (KIP-919).

Controllers of Apache Kafka find out from the registration where the other controllers are, and which feature levels
they support. A node without a listener of controllers does not register: its registration as a broker says both.
"""

import asyncio
import logging

from penstock.cluster.controller.controllers import ControllerRegistration
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller_access import ControllerAccess
from penstock.protocol.errors import ProtocolError
from penstock.runtime.clock import Clock
from penstock.storage.errors import LogError

log = logging.getLogger(__name__)

_RETRY_MS = 100
_RETRY_MS_MAX = 5_000


class ControllerRegistrar:
    def __init__(self, access: ControllerAccess, registration: ControllerRegistration, clock: Clock) -> None:
        self._access = access
        self._registration = registration
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._register(), name="controller registration")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _register(self) -> None:
        """Until the active controller has accepted the registration."""
        retry_ms = _RETRY_MS
        while True:
            try:
                await self._access.register_controller(self._registration)
            except (Refusal, LogError, OSError, ProtocolError) as error:
                log.debug("Registration of this controller failed: %s", error or type(error).__name__)
            else:
                return
            await self._clock.sleep(retry_ms)
            retry_ms = min(2 * retry_ms, _RETRY_MS_MAX)
