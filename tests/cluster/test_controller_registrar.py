import asyncio
from typing import cast

import pytest

from penstock.cluster.controller.controllers import ControllerRegistration
from penstock.cluster.controller.decision import NotController, Refusal
from penstock.cluster.controller_access import ControllerAccess, NoController
from penstock.cluster.controller_registrar import ControllerRegistrar
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.runtime.clock import ManualClock

REGISTRATION = ControllerRegistration(controller_id=1, incarnation_id=bytes(16), endpoints=[], features={})


class Access:
    """The way to the active controller, which answers with these errors first."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.is_registered = asyncio.Event()
        self.was_asked = asyncio.Event()

    async def register_controller(self, controller: ControllerRegistration) -> None:
        assert controller is REGISTRATION
        self.was_asked.set()
        if self.errors:
            raise self.errors.pop(0)
        self.is_registered.set()


@pytest.mark.parametrize(
    "error",
    [
        NoController("no leader"),
        NotController("another leads"),
        Refusal(ErrorCode.NOT_CONTROLLER, "another leads"),
        ProtocolError("no answer"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_controller_registers_again_until_it_is_accepted(error: Exception) -> None:
    async def run() -> None:
        access, clock = Access(error, error), ManualClock()
        registrar = ControllerRegistrar(cast("ControllerAccess", access), REGISTRATION, clock)
        registrar.start()
        for _ in range(2):
            await asyncio.wait_for(access.was_asked.wait(), 5)
            access.was_asked.clear()
            await asyncio.sleep(0)
            clock.advance(200)
        await asyncio.wait_for(access.is_registered.wait(), 5)
        await registrar.stop()

    asyncio.run(run())


def test_a_controller_that_stops_gives_up() -> None:
    async def run() -> None:
        access = Access(NoController("no leader"))
        registrar = ControllerRegistrar(cast("ControllerAccess", access), REGISTRATION, ManualClock())
        registrar.start()
        await asyncio.wait_for(access.was_asked.wait(), 5)
        await registrar.stop()
        assert not access.is_registered.is_set()

    asyncio.run(run())
