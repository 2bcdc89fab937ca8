"""The servers of a run. Each is started at its first use, shared by the workloads, and ended with the run."""

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from penstock_bench.peers.agents import AdminClient, ClientFailed, agents, create, first, remove
from penstock_bench.peers.clients import missing_package
from penstock_bench.peers.cluster import HOST, Cluster, Site
from penstock_bench.peers.targets import TARGETS, Target
from penstock_bench.peers.tasks import Where
from penstock_bench.process import ServerFailed, free_port

# Failures of a peer or its client that do not end the run.
PEER_FAILURES = (ClientFailed, ServerFailed, OSError)
_CREATED_WITHIN_S: Final = 120.0
_FIRST_WITHIN_S: Final = 60.0
_RETRY_S: Final = 0.2


class Fleet:
    def __init__(self, new_path: Callable[[str], str], log: Callable[[str], None], wanted: str = "") -> None:
        self._new_path = new_path
        self._log = log
        self._wanted = [word.strip().lower() for word in wanted.split(",") if word.strip()]
        self._running: dict[str, Cluster] = {}
        self._numbers = itertools.count()
        self._admin = AdminClient()
        self._directories: list[str] = []
        self.absent: dict[str, str] = {}  # servers that are not installed or did not start, with the reason
        self.versions: dict[str, str] = {}

    def targets(
        self, chosen: Callable[[Target], bool] = lambda _: True, among: Sequence[Target] = TARGETS
    ) -> list[Target]:
        """Return the requested targets whose server and client are installed."""
        found = []
        for target in among:
            is_wanted = not self._wanted or any(word in target.name.lower() for word in self._wanted)
            if not is_wanted or not chosen(target):
                continue
            product = target.product
            reason = product.missing() or missing_package(product.dialect)
            if reason is not None:
                self.absent[product.name] = reason
            if product.name not in self.absent:
                found.append(target)
                if product.name not in self.versions:
                    self.versions[product.name] = product.version()
        return found

    def running(self, target: Target) -> Cluster:
        """Return the server of the target. Raises `ServerFailed` when it does not start, now or earlier."""
        name = target.product_name
        if name in self.absent:
            raise ServerFailed(self.absent[name])
        if name not in self._running:
            self._log(f"starting {name}")
            directory = self._new_path("peer")
            os.mkdir(directory)
            self._directories.append(directory)
            try:
                self._running[name] = self._start(target, directory)
            except (ServerFailed, OSError) as error:
                self.absent[name] = str(error)
                raise ServerFailed(str(error)) from error
        return self._running[name]

    def _start(self, target: Target, directory: str, port: int = 0) -> Cluster:
        product = target.product
        return Cluster(product, Site(directory, self._new_path, product.nodes, port))

    def start_to_first(
        self, target: Target, directory: str, stream: str, *, within_s: float = _FIRST_WITHIN_S
    ) -> tuple[Cluster, float]:
        """Start another server of the target; return it, and the seconds from starting its process to the first
        acknowledged message.

        The caller ends the server. The client is a process that has loaded its library before. It retries from the
        moment that the port is open, and creates the stream if it does not exist.
        """
        port = free_port()
        place = Where(
            dialect=target.product.dialect, host=HOST, port=port, stream=stream, options=target.options
        )
        with agents([(first, place, within_s)]) as (client,):
            cluster = self._start(target, directory, port)
            try:
                client.begin()
                return cluster, client.outcome().ended_at_s - cluster.started_at
            except BaseException:
                cluster.close()
                raise

    @contextlib.contextmanager
    def stream(
        self, name: str, target: Target, count: int = 1, *, groups: int = 0, partitions: int = 1
    ) -> Iterator[list[Where]]:
        """Create a stream on one target, in a cluster `count` replicated streams or partitions, each addressed at its
        leader. Delete it afterwards.
        """
        cluster = self.running(target)
        stream = f"{name}-{next(self._numbers)}"
        places = cluster.places(stream, target.options, count, groups=groups, partitions=partitions)
        # Partitions of one topic are created and deleted together.
        streams = list({place.stream: place for place in places}.values())
        try:
            for place in streams:
                self._create(cluster, place)
            yield cluster.await_led(places)
        finally:
            for place in streams:
                with contextlib.suppress(*PEER_FAILURES):
                    self._admin.run(remove, place)

    def _create(self, cluster: Cluster, place: Where) -> None:
        """Retry: a cluster that has just started may refuse until its nodes know each other."""
        deadline = time.monotonic() + _CREATED_WITHIN_S
        while True:
            try:
                self._admin.run(create, place)
            except ClientFailed:
                if place.replicas == 1 or time.monotonic() > deadline:
                    raise
                if cluster.led([place]):  # only the answer was lost
                    return
                time.sleep(_RETRY_S)
            else:
                return

    def close(self) -> None:
        self._admin.close()
        for cluster in self._running.values():
            cluster.close()
        self._running.clear()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)
