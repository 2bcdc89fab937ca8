"""The directories of logs in a data directory: made, renamed, and removed in the background."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from penstock.runtime.offload import Offload
from penstock.storage.directory import metadata_files
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.files import FileSystem

_DELETE = "-delete"
_STRAY = "-stray"

_log = logging.getLogger(__name__)


class LogDirectories:
    def __init__(self, files: FileSystem, root: str, offload: Offload) -> None:
        self._files = files
        self.root = root
        self._offload = offload

    def path(self, name: PartitionName) -> str:
        return f"{self.root}/{name.directory}"

    def find_logs(self) -> Iterator[PartitionName]:
        for entry in self._files.list(self.root):
            name = PartitionName.parse(entry)
            if name is not None:
                yield name
            elif entry.endswith(_DELETE):
                self.run_in_background(partial(self._remove_directory, f"{self.root}/{entry}"))

    def make(self, name: PartitionName, topic_id: bytes) -> None:
        path = self.path(name)
        self._files.make_dirs(path)
        metadata_files.write_topic_id(self._files, path, topic_id)

    def read_topic_id(self, name: PartitionName) -> bytes | None:
        """The id of the topic that a log here belongs to, if its directory names one."""
        return metadata_files.read_topic_id(self._files, self.path(name))

    def delete(self, name: PartitionName) -> None:
        """Rename the directory; its files are removed in the background. Raises `OSError`."""
        path = self.path(name)
        target = f"{path}.{uuid.uuid4().hex}{_DELETE}"
        self._files.rename(path, target)
        self.run_in_background(partial(self._remove_directory, target))

    def rename_as_stray(self, name: PartitionName, reason: str) -> None:
        path = self.path(name)
        target = f"{path}.{uuid.uuid4().hex}{_STRAY}"
        self._files.rename(path, target)
        _log.warning("Renamed %s to %s: it %s. Remove it when it is not needed", path, target, reason)

    def discard(self, paths: Sequence[str]) -> None:
        self.run_in_background(partial(self._remove_files, paths))

    def run_in_background(self, work: Callable[[], None]) -> None:
        """Removing large files takes its time: not on the loop, if there is one."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            work()
        else:
            self._offload.start(work)

    def _remove_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            try:
                self._files.remove(path)
            except OSError as error:
                _log.warning("Cannot remove %s (%s): the next start tries again", path, error.strerror)

    def _remove_directory(self, path: str) -> None:
        try:
            self._files.sync_dir(self.root)  # else a crash could bring the log back with files missing
            self._files.remove_tree(path)
            self._files.sync_dir(self.root)
        except OSError as error:
            _log.warning("Cannot remove %s (%s): the next start tries again", path, error.strerror)
