"""`penstock log verify` after a clean stop: finds segments of that time that are gone, or shorter than they were."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from penstock.storage.checkpoints import PartitionName
from penstock.storage.directory_files import read_clean_mark
from penstock.storage.files import RealFileSystem
from penstock.storage.inventory import LogInventory, read_inventory
from penstock.storage.segment import LOG


class MissingBytes(NamedTuple):
    path: str
    position: int
    """Where the file ends."""
    offset: int
    reason: str


def find_missing(directory: str, topic: str | None, partition: int | None) -> Iterator[MissingBytes]:
    """Compare a data directory, or the directory of one partition, with what the last clean stop has listed.

    Gives nothing while a broker runs on it, or when the last stop was not a clean one.
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


def _missing_of(directory: str, log: LogInventory) -> Iterator[MissingBytes]:
    for number, (base_offset, size_bytes) in enumerate(log.segments):
        if size_bytes == 0 or log.end_of(number) <= log.start_offset:
            continue
        path = os.path.join(directory, f"{base_offset:020d}{LOG}")
        try:
            found_bytes = os.path.getsize(path)
        except FileNotFoundError:
            yield MissingBytes(path, 0, base_offset, f"the file is missing, which had {size_bytes} bytes")
            continue
        if found_bytes < size_bytes:
            reason = f"the file ends here, but had {size_bytes} bytes when the broker stopped"
            yield MissingBytes(path, found_bytes, base_offset, reason)
