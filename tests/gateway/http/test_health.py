"""Liveness and readiness of the broker."""

import msgspec
import pytest

from penstock.gateway.http.health import obstacles_of
from tests.gateway.http.admin import Admin


async def test_a_serving_broker_is_alive_and_ready(admin: Admin) -> None:
    assert await admin.get("/healthz") == (200, {"status": "alive"})
    assert await admin.get("/readyz") == (200, {"status": "ready"})


async def test_a_fenced_broker_is_alive_but_not_ready(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    services = admin.broker.services
    brokers = services.controller.image.brokers
    node = services.node_id
    fenced = msgspec.structs.replace(brokers[node], fenced=True)
    monkeypatch.setitem(brokers, node, fenced)
    status, problem = await admin.get("/readyz")
    assert (status, "fenced" in problem["detail"]) == (503, True)
    assert (await admin.get("/healthz"))[0] == 200


async def test_a_broker_that_is_not_registered_or_still_catching_up_is_not_ready(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = admin.broker.services
    monkeypatch.delitem(services.controller.image.brokers, services.node_id)
    monkeypatch.setattr(services, "is_ready", False)
    assert obstacles_of(services) == [
        "it is catching up with the cluster's metadata",
        "it is not registered with the cluster",
    ]
