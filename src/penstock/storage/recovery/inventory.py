"""The content of a data directory's logs at a clean stop. The next start compares it with the files that it finds.

File `segment-inventory`: it is written before the mark of a clean stop, and is valid only together with a mark of the
same broker epoch. Two lines, of which the first is the CRC-32 of the second in 8 hexadecimal digits:

    5f0c2a91
    {"version":1,"brokerEpoch":17,"logs":[["orders",0,"hcOe5cG2QSGmCF0bZ2hSRw",0,1042,[[0,70400],[700,34312]],[],[]]]}

Each log has its topic, partition and topic id, its start and end offset, its segments (base offset and size in bytes),
its missing records (see `damage`), and the checksums of its transaction indexes by base offset.
"""

import logging
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from penstock.runtime.offload import Offload
from penstock.storage.damage.damage import Damage
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.files import FileSystem, read_whole, write_atomically
from penstock.storage.producers.aborted_transactions import Checksums, changed_indexes
from penstock.storage.segment.segment import LOG

INVENTORY: Final = "segment-inventory"
_VERSION: Final = 1

_log = logging.getLogger(__name__)


class LogInventory(msgspec.Struct, frozen=True, array_like=True):
    """One log at a clean stop."""

    topic: str
    partition: int
    topic_id: str
    start_offset: int
    end_offset: int
    segments: tuple[tuple[int, int], ...]
    """Base offset and size in bytes, ascending. Compaction may leave a segment empty: it need not be there."""
    missing: tuple[Damage, ...] = ()
    """Records that were missing already."""
    aborted: Checksums = ()
    """Of the transaction indexes."""

    @property
    def name(self) -> PartitionName:
        return PartitionName(self.topic, self.partition)

    def end_of(self, number: int) -> int:
        """The offset at which a segment ended."""
        return self.segments[number + 1][0] if number + 1 < len(self.segments) else self.end_offset

    def without(self, replaced: Sequence[range]) -> "LogInventory":
        """The inventory without segments that compaction has replaced since, by ranges of base offsets."""

        def is_kept(base_offset: int) -> bool:
            return not any(base_offset in each for each in replaced)

        kept = [each for each in self.segments if is_kept(each[0])]
        return msgspec.structs.replace(
            self,
            segments=tuple(sorted([*kept, *((each.start, 0) for each in replaced)])),
            missing=tuple(each for each in self.missing if is_kept(each.segment)),
            aborted=tuple(each for each in self.aborted if is_kept(each[0])),
        )


class _Content(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: int
    broker_epoch: int
    logs: list[LogInventory]


class SegmentInventory:
    """The logs of a directory that were there at the last clean stop and are not open yet."""

    def __init__(
        self, files: FileSystem, directory: str, broker_epoch: int | None, *, was_clean: bool = True
    ) -> None:
        """`broker_epoch` is the epoch of the last clean stop, None when a start since then has registered its losses.

        `was_clean`: the last stop was that one. Otherwise the logs were opened since, and some were written: the
        inventory applies only to the logs that `changed` finds.
        """
        self._files = files
        self._directory = directory
        self._logs: dict[PartitionName, LogInventory] = (
            {} if broker_epoch is None else read_inventory(files, directory, broker_epoch)
        )
        self.is_compared = was_clean
        """Whether logs that lack something are known, or are found when they are opened."""

    def take(self, name: PartitionName) -> LogInventory | None:
        """The entry of a log that is about to be opened."""
        log = self._logs.pop(name, None)
        return log if self.is_compared else None

    async def changed(self, offload: Offload) -> list[PartitionName]:
        """The logs that lack a segment, or a part of one."""
        logs = dict(self._logs)
        changed = await offload.run(lambda: changed_logs(self._files, self._directory, logs))
        if not self.is_compared:
            self._logs = {name: log for name in changed if (log := self._logs.get(name)) is not None}
            self.is_compared = True
        return changed

    def write(
        self, broker_epoch: int, opened: Iterable[LogInventory], unopened: Collection[PartitionName]
    ) -> None:
        """Rewrite the file at a clean stop. Its entries for logs that were not opened remain valid."""
        others = [log for name, log in self._logs.items() if name in unopened]
        content = msgspec.json.encode(
            _Content(version=_VERSION, broker_epoch=broker_epoch, logs=[*opened, *others])
        )
        encoded = b"%08x\n%s\n" % (zlib.crc32(content), content)
        write_atomically(self._files, f"{self._directory}/{INVENTORY}", encoded)


def read_inventory(files: FileSystem, directory: str, broker_epoch: int) -> dict[PartitionName, LogInventory]:
    """The logs at the clean stop in this epoch; none if an earlier version or Kafka has stopped there.

    None either if the epoch is not known: then any broker may have left the mark.
    """
    if broker_epoch < 0:
        return {}
    path = f"{directory}/{INVENTORY}"
    try:
        content = _decode(read_whole(files, path))
    except FileNotFoundError:
        return {}
    except (msgspec.DecodeError, ValueError) as error:
        _log.warning("Ignored %s (%s): missing segments will not be detected", path, error)
        return {}
    return {each.name: each for each in content.logs} if content.broker_epoch == broker_epoch else {}


def _decode(content: bytes) -> _Content:
    checksum, _, rest = content.partition(b"\n")
    encoded = rest.rstrip(b"\n")
    if int(checksum, 16) != zlib.crc32(encoded):
        raise ValueError("the checksum does not match")
    found = msgspec.json.decode(encoded, type=_Content)
    if found.version != _VERSION:
        raise ValueError(f"its version is {found.version}")
    return found


def changed_logs(
    files: FileSystem, directory: str, logs: Mapping[PartitionName, LogInventory]
) -> list[PartitionName]:
    """The logs that lack a segment, or a part of one."""
    return [
        name
        for name, log in logs.items()
        if log.missing or (log.end_offset > 0 and _has_changed(files, f"{directory}/{name.directory}", log))
    ]


def _has_changed(files: FileSystem, directory: str, log: LogInventory) -> bool:
    try:
        return any(
            files.size(f"{directory}/{base_offset:020d}{LOG}") < size_bytes
            for base_offset, size_bytes in log.segments
            if size_bytes > 0
        ) or bool(changed_indexes(files, directory, log.aborted))
    except FileNotFoundError:
        return True
