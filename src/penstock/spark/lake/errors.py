"""What goes wrong with a table. The text is for people: Spark and the command line show it as it is."""


class TableError(Exception):
    """The base of this package's errors."""


class SchemaMismatch(TableError):
    """The rows do not fit the table."""


class CommitConflict(TableError):
    """Other writers changed the table each time this commit was tried."""
