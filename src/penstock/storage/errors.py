"""Errors of a log, as callers see them. One shallow base: `LogError`, which carries the wire's code."""

import errno
import os

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.rules import RecordError


class LogError(Exception):
    """Base of all. A client gets `code` and `client_message`; the text itself may name files and is for the log."""

    code: ErrorCode = ErrorCode.KAFKA_STORAGE_ERROR

    @property
    def client_message(self) -> str:
        """The message, without the paths of this machine."""
        return str(self)


class StorageError(LogError):
    """The disk refused one operation, and nothing changed: a retry may succeed."""

    def __init__(self, message: str, refusal: OSError | None = None) -> None:
        """`refusal` is the error of the operating system, whose number callers act upon."""
        super().__init__(message)
        self.errno = None if refusal is None else refusal.errno

    @property
    def client_message(self) -> str:
        reason = "" if self.errno is None else f" ({os.strerror(self.errno)})"
        return f"the disk of the broker refused the operation{reason}; nothing was stored"


class NoSpace(StorageError):
    """A client's records would use the reserve of the disk (`disk_space`)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.ENOSPC

    @property
    def client_message(self) -> str:
        return str(self)


class StorageFailure(LogError):
    """The state of the disk is unknown: the log accepts no more writes until it is opened again."""

    @property
    def client_message(self) -> str:
        return "the disk of the broker has failed under this partition; the log of the broker says more"


class LogClosed(StorageFailure):
    """The log was closed, or its topic deleted: it can no longer access its files. Nothing is wrong with the disk."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER

    @property
    def client_message(self) -> str:
        return "the log of this partition is closed on this broker"


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_DISK_ERRORS = (errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO)


def is_out_of_space(error: Exception) -> bool:
    """Whether the disk, or the quota of the broker on it, is full, until space is freed."""
    return isinstance(error, StorageError | OSError) and error.errno in _NO_SPACE


def is_disk_failure(error: Exception) -> bool:
    """Whether the disk must be repaired before the directory is usable again: a full disk need not be.

    It must be when a log accepts no more writes until it is opened again, or when a write was refused for a reason that
    does not resolve automatically.
    """
    if isinstance(error, StorageError | OSError):
        return error.errno in _DISK_ERRORS
    return isinstance(error, StorageFailure) and not isinstance(error, LogClosed)


class LogCorrupt(LogError):
    """Stored bytes differ from the bytes that were written."""

    code = ErrorCode.CORRUPT_MESSAGE

    @property
    def client_message(self) -> str:
        return "stored records of this partition are damaged; the log of the broker says where"


class OffsetOutOfRange(LogError):
    """The offset lies outside of the log."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"offset {offset} is outside of the log's {log_start_offset} to {log_end_offset}")
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class AppendRejected(LogError):
    """The log refuses these records; nothing of the append was stored."""

    def __init__(
        self, code: ErrorCode, message: str = "", record_errors: tuple[RecordError, ...] = ()
    ) -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message
        self.record_errors = record_errors


class DirectoryInUse(LogError):
    """Another process has the data directory."""


class DirectoryMismatch(LogError):
    """The data directory belongs to another cluster or broker."""
