"""Names of the columns that Penstock adds to the rows of a topic."""

RECORD = (
    "_record"  # the record that a row was made from: topic, partition, offset, timestamp, key, value, headers
)
ERROR = "_error"  # why the row was rejected; null for rows that were not
HEADERS_TYPE = "array<struct<key:string,value:binary>>"

# Columns of the changes that an output merges into a table. The sink knows them by these names.
OFFSET = "_offset"  # the order of the rows, if the output names no other; stored in the table
TIMESTAMP = "_timestamp"  # the same, in tables with history
TIE_BREAK = "_tie_break"  # which of two rows with the same key and order is newer; not stored
DELETED = "_deleted"  # whether the row deletes its key; not stored
