"""Errors of tables. Spark and the command line show their texts to users."""


class TableError(Exception):
    """The base of this package's errors."""


class SchemaMismatch(TableError):
    """The rows do not fit the table."""


class CommitConflict(TableError):
    """Other writers changed the table each time this commit was tried."""
