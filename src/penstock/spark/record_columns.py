"""Names of the columns that Penstock adds to the rows of a topic."""

RECORD = (
    "_record"  # the record that a row was made from: topic, partition, offset, timestamp, key, value, headers
)
ERROR = "_error"  # why the row was rejected; null for rows that were not
STOP = "_stop"  # why the row stops the query; null for rows that do not
ENCODED_KEY = "_encoded_key"  # the bytes that an output writes
ENCODED_VALUE = "_encoded_value"
HEADERS_TYPE = "array<struct<key:string,value:binary>>"

OWN_COLUMNS = (RECORD, ERROR, STOP, ENCODED_KEY, ENCODED_VALUE)
