"""The mirrors of this broker: copies the partitions that it leads, and follows the sources if it is the controller."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from penstock.client.mirrors import MirrorProgress
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MIRROR, Mirror
from penstock.mirror.copier import MirrorCopier
from penstock.mirror.follower import MirrorFollower

log = logging.getLogger(__name__)


class _Running(NamedTuple):
    source: tuple[str, str]
    copier: MirrorCopier
    follower: MirrorFollower
    tasks: "tuple[asyncio.Task[None], ...]"


class Mirrors:
    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        make_copier: Callable[[Mirror], MirrorCopier],
        make_follower: Callable[[Mirror], MirrorFollower],
    ) -> None:
        self._node_id = node_id
        self._image = image
        self._make_copier = make_copier
        self._make_follower = make_follower
        self._running: dict[str, _Running] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._is_started = False

    def start(self) -> None:
        self._is_started = True
        self._follow_all()

    def apply(self, delta: MetadataDelta) -> None:
        """Follow a change of the metadata."""
        if not self._is_started or not (self._running or delta.configs_changed):
            return
        if any(kind == MIRROR for kind, _ in delta.configs_changed):
            self._follow_all()
        for running in self._running.values():
            running.copier.wake()

    def _follow_all(self) -> None:
        wanted = {mirror.name: mirror for mirror in self._image.mirrors()}
        for name, running in list(self._running.items()):
            if name not in wanted or running.source != _source_of(wanted[name]):
                self._end(name)
        for name, mirror in wanted.items():
            if name not in self._running:
                copier, follower = self._make_copier(mirror), self._make_follower(mirror)
                tasks = tuple(self._task(work, f"mirror {name}") for work in (copier.run(), follower.run()))
                self._running[name] = _Running(_source_of(mirror), copier, follower, tasks)

    @staticmethod
    def _task(work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(_log_failure)
        return task

    def _end(self, name: str) -> None:
        for task in self._running.pop(name).tasks:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def progress(self, name: str) -> MirrorProgress:
        running = self._running.get(name)
        if running is None:
            return MirrorProgress(broker=self._node_id)
        follower = running.follower
        return MirrorProgress(
            broker=self._node_id,
            partitions=running.copier.progress(),
            copied_bytes=running.copier.throttle.copied_bytes,
            is_followed=follower.has_looked and follower.is_active,
            error=follower.error if follower.is_active else "",
            troubles=follower.troubles if follower.is_active else {},
        )

    async def stop(self) -> None:
        """Stop copying: the logs may be closed afterwards."""
        self._is_started = False
        for name in list(self._running):
            self._end(name)
        await asyncio.gather(*self._ending, return_exceptions=True)


def _source_of(mirror: Mirror) -> tuple[str, str]:
    return mirror.servers, mirror.client


def _log_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("Unhandled error in %s", task.get_name(), exc_info=task.exception())
