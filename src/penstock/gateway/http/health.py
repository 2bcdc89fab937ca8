"""Liveness and readiness.

`/healthz` responds while the process and its event loop are alive. `/readyz` is 200 while the broker has caught up with
the cluster's metadata, is registered, and is not fenced.

A broker whose disk is full is `degraded` and still 200: it serves readers, commits their offsets and deletes topics,
which is how space is freed. With 503 Kubernetes would remove it from its service. So is a broker with
damaged records: it serves all others. A broker whose disk has failed is 503: other brokers lead its partitions, and it
must be restarted.
"""

from collections.abc import Callable, Sequence
from typing import Final

from aiohttp import web

from penstock.console.broker_errors import UNAVAILABLE
from penstock.gateway.http.app import PROBLEM, Paths, content, json_response, operation
from penstock.gateway.http.problems import Problem
from penstock.server.context import Services
from penstock.storage.directory.disk_space import DiskState

Obstacles = Callable[[], Sequence[str]]
"""The reasons why the broker is not ready; empty when it is."""
Troubles = Callable[[], Sequence[str]]
"""The reasons why a ready broker is degraded."""

PATHS: Final[Paths] = {
    "/healthz": {
        "get": operation(
            "health",
            "Whether the process and its event loop are alive",
            {"200": content("The process is alive", "Status")},
            is_open=True,
        )
    },
    "/readyz": {
        "get": operation(
            "readiness",
            "Whether the broker serves clients: caught up, registered, not fenced",
            {
                "200": content("The broker serves clients; `degraded`: with restrictions", "Status"),
                "503": PROBLEM,
            },
            is_open=True,
        )
    },
}


def routes(app: web.Application, obstacles: Obstacles, troubles: Troubles) -> None:
    async def health(_request: web.Request) -> web.Response:
        return json_response({"status": "alive"})

    async def readiness(_request: web.Request) -> web.Response:
        found = obstacles()
        if found:
            raise Problem(UNAVAILABLE, f"The broker is not ready: {'; '.join(found)}.")
        reasons = troubles()
        if reasons:
            return json_response({"status": "degraded", "reasons": list(reasons)})
        return json_response({"status": "ready"})

    app.router.add_get("/healthz", health)
    app.router.add_get("/readyz", readiness)


def obstacles_of(services: Services) -> list[str]:
    found: list[str] = []
    if not services.is_ready:
        found.append("it is catching up with the cluster's metadata")
    if not services.config.is_broker:
        return found
    broker = services.controller.image.brokers.get(services.node_id)
    if broker is None:
        found.append("it is not registered with the cluster")
    elif broker.fenced:
        found.append("the controller has fenced it until its heartbeats arrive again")
    elif broker.in_controlled_shutdown:
        found.append("it is shutting down")
    if services.quorum.leader_id is None:
        found.append("the metadata quorum has no leader")
    disk = services.replicas.disk
    if disk.state is DiskState.FAILED and disk.trouble is not None:
        found.append(disk.trouble)
    return found


def troubles_of(services: Services) -> list[str]:
    """Names no partition: the endpoint needs no login."""
    found = []
    if (trouble := services.replicas.disk.trouble) is not None:
        found.append(trouble)
    if count := len(services.replicas.damage):
        found.append(
            f"records of {count} partition(s) are damaged on its disk and not served; `penstock cluster status` names "
            "them"
        )
    return found
