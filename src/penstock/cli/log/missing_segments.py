"""`penstock log verify` after a clean shutdown: find segments that are missing, or shorter than at that time."""

import os
from collections.abc import Iterator

from penstock.cli.data_directory import Damage
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.directory.metadata_files import read_clean_mark
from penstock.storage.files import RealFileSystem
from penstock.storage.recovery.inventory import LogInventory, read_inventory
from penstock.storage.segment.segment import LOG


def find_missing(directory: str, topic: str | None, partition: int | None) -> Iterator[Damage]:
    """Compare a data directory, or the directory of one partition, with the inventory of the last clean shutdown.

    Yields nothing while a broker runs on it, or after an unclean shutdown.
    """
    files = RealFileSystem()
    path = os.path.abspath(directory)
    itself = PartitionName.parse(os.path.basename(path))
    for data_directory in (path, os.path.dirname(path)):
        broker_epoch = read_clean_mark(files, data_directory)
        if broker_epoch is None:
            continue
        for name, log in read_inventory(files, data_directory, broker_epoch).items():
            is_chosen = topic in (None, name.topic) and partition in (None, name.partition)
            if is_chosen and (data_directory == path or name == itself):
                yield from _missing_of(os.path.join(directory, "" if name == itself else name.directory), log)


def _missing_of(directory: str, log: LogInventory) -> Iterator[Damage]:
    for number, (base_offset, size_bytes) in enumerate(log.segments):
        if size_bytes == 0 or log.end_of(number) <= log.start_offset:
            continue
        path = os.path.join(directory, f"{base_offset:020d}{LOG}")
        try:
            found_bytes = os.path.getsize(path)
        except FileNotFoundError:
            reason = f"the file is missing, which had {size_bytes} bytes"
            yield Damage(file=path, position=0, offset=base_offset, reason=reason)
            continue
        if found_bytes < size_bytes:
            reason = f"the file ends here, but had {size_bytes} bytes when the broker stopped"
            yield Damage(file=path, position=found_bytes, offset=base_offset, reason=reason)
