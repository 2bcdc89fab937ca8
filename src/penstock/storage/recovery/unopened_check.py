"""Looks for damage in a log that has not been opened since a clean stop, without opening it.

An open log uses memory until the broker stops, and most logs of a broker may be cold. This check holds one file open at
a time and keeps nothing. It only detects damage and does not locate it: then the log is opened, and `Log.check` locates
it.
"""

from collections.abc import Awaitable, Callable

from penstock.runtime.offload import Offload
from penstock.storage.damage.damage import SegmentCheck
from penstock.storage.files import FileSystem, read_whole
from penstock.storage.leader_epochs import CorruptCheckpoint, LeaderEpochs, decode_checkpoint
from penstock.storage.log.values import LEADER_EPOCHS
from penstock.storage.segment.segment import LOG, is_segment


class UnopenedCheck:
    def __init__(
        self, files: FileSystem, directory: str, *, log_start_offset: int, end_offset: int, offload: Offload
    ) -> None:
        """`end_offset` is where the log ended when the broker stopped."""
        self._files = files
        self._directory = directory
        self._log_start_offset = log_start_offset
        self._end_offset = end_offset
        self._offload = offload

    async def finds_damage(self, is_current: Callable[[], bool], rest: Callable[[], Awaitable[None]]) -> bool:
        """Whether something is damaged. Raises `OSError`.

        False also when the log was opened or deleted meanwhile, which `is_current` says. `rest` as in `Log.check`.
        """
        try:
            names, epochs = await self._offload.run(self._load)
            bases = sorted(int(name[: -len(LOG)]) for name in names if is_segment(name))
            for base, end_offset in zip(bases, [*bases[1:], self._end_offset], strict=True):
                # Records below the log start are to be deleted, and are never read.
                if end_offset > self._log_start_offset and await self._is_damaged(
                    base, end_offset, epochs, is_current, rest
                ):
                    return is_current()
        except FileNotFoundError:
            if is_current():
                raise
        return False

    def _load(self) -> tuple[list[str], LeaderEpochs]:
        names = self._files.list(self._directory)
        if LEADER_EPOCHS not in names:
            return names, LeaderEpochs()
        try:
            content = read_whole(self._files, f"{self._directory}/{LEADER_EPOCHS}")
            return names, LeaderEpochs(decode_checkpoint(content))
        except CorruptCheckpoint:  # opening the log reads them from its batches
            return names, LeaderEpochs()

    async def _is_damaged(
        self,
        base: int,
        end_offset: int,
        epochs: LeaderEpochs,
        is_current: Callable[[], bool],
        rest: Callable[[], Awaitable[None]],
    ) -> bool:
        path = f"{self._directory}/{base:020d}{LOG}"
        file = await self._offload.run(lambda: self._files.open(path, writable=False))
        try:
            check = SegmentCheck(file.read, base, file.size(), end_offset, epochs)
            while not check.is_complete and not check.found and is_current():
                await self._offload.run(check.run)
                await rest()
        finally:
            file.close()
        return bool(check.found)
