"""Names of the columns that every topic has."""

from typing import Final

KEY, PARTITION, OFFSET, TIMESTAMP, HEADERS, VALUE = (
    "_key", "_partition", "_offset", "_timestamp", "_headers", "_value",
)  # fmt: skip
RECORD_COLUMNS: Final = (KEY, PARTITION, OFFSET, TIMESTAMP, HEADERS, VALUE)
ERROR: Final = "_error"  # why a value does not fit the columns
TEXT: Final = "_text"  # of scans only: the value as text, null if it is not UTF-8
