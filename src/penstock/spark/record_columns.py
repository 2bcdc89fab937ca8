"""Names of the columns that Penstock adds to the rows of a topic."""

RECORD = (
    "_record"  # the record that a row was made from: topic, partition, offset, timestamp, key, value, headers
)
ERROR = "_error"  # why the row was rejected; null for rows that were not
HEADERS_TYPE = "array<struct<key:string,value:binary>>"
