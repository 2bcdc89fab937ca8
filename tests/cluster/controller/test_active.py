import errno

from penstock.cluster.controller.active import ActiveController
from penstock.storage.errors import StorageError
from tests.cluster.controller.held_quorum import Stage, run, turns
from tests.cluster.controller.test_membership import SESSION_MS, join
from tests.cluster.support import no_broker_refuses


def test_a_controller_fences_dead_brokers_once_its_full_disk_has_room_again() -> None:
    async def scenario(stage: Stage) -> None:
        active = ActiveController(stage.controller, stage.clock, no_broker_refuses)
        active.change(is_active=True)
        assert active.membership is not None
        await join(stage.controller, active.membership, 2)
        stage.hold()
        assert stage.sink.gate is not None
        stage.sink.gate.set_exception(StorageError("no room", OSError(errno.ENOSPC, "no room")))
        stage.clock.advance(SESSION_MS + 1)
        await turns()
        stage.sink.gate = None
        for _ in range(5):
            stage.clock.advance(SESSION_MS)
            await turns()
        assert stage.controller.image.brokers[2].fenced
        await active.stop()

    run(scenario)
