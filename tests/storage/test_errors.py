import errno

import pytest

from penstock.storage.errors import LogCorrupt, StorageError, StorageFailure, is_disk_failure


def refused(number: int) -> StorageError:
    return StorageError("refused", OSError(number, "refused"))


@pytest.mark.parametrize(
    "error",
    [StorageFailure("it takes no more"), refused(errno.EIO), refused(errno.EROFS), OSError(errno.EIO, "")],
)
def test_a_permanent_disk_error_is_a_failed_disk(error: Exception) -> None:
    assert is_disk_failure(error)


@pytest.mark.parametrize(
    "error",
    [
        refused(errno.ENOSPC),
        refused(errno.EDQUOT),
        refused(errno.EMFILE),
        StorageError("?"),
        LogCorrupt("a bad checksum"),
    ],
)
def test_a_full_disk_and_corruption_are_no_failed_disk(error: Exception) -> None:
    assert not is_disk_failure(error)
