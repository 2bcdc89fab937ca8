"""Opening the journal of a data directory at the start of a broker."""

import logging
from collections.abc import Callable

from penstock.runtime.offload import Offload
from penstock.storage.errors import StorageError
from penstock.storage.files import FileSystem
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.journal_file import JournalFiles
from penstock.storage.journal.reading import FoundJournal
from penstock.storage.ring import SyncRing

_JOURNAL_PART = 32
"""The journal takes no more than this part of the disk."""

_log = logging.getLogger(__name__)


def open_journal(
    files: FileSystem,
    directory: str,
    offload: Offload,
    found: FoundJournal,
    *,
    size_bytes: int,
    new_nonce: Callable[[], bytes],
    directory_id: bytes,
    ring: SyncRing | None,
) -> Journal | None:
    """The journal, None when there is to be none or it cannot be used. Waits for the disk. Raises `StorageError`."""
    for damage in found.damage:
        _log.error(
            "Journal damaged: %s. Records that were acknowledged just before the crash may be missing. Replicas on "
            "other brokers repair that; the partitions that are known to lack records are named below",
            damage,
        )
    try:
        if size_bytes == 0 and not (found.pieces or found.damage):
            JournalFiles(files, directory, found, new_nonce, directory_id).remove(found.last_round)
            return None
        return Journal(
            files,
            directory,
            offload,
            size_bytes=min(size_bytes, files.usage(directory).total_bytes // _JOURNAL_PART),
            found=found,
            new_nonce=new_nonce,
            directory_id=directory_id,
            ring=ring,
        )
    except OSError as error:
        if found.pieces:
            raise StorageError(
                f"the journal in {directory} holds records that the logs may lack, and cannot be used: "
                f"{error.strerror}. Check the disk, then start the broker again",
                error,
            ) from error
        _log.warning(
            "Cannot use the journal in %s (%s): each partition is synced individually, which is slower",
            directory,
            error.strerror,
        )
        return None
