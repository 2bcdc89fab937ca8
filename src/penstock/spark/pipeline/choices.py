"""The words that a pipeline file may choose from."""

SOURCE_FORMATS = ("penstock", "kafka")
OUTPUT_MODES = ("append", "update", "complete")
DELIVERIES = ("exactly-once", "at-least-once")
OUTPUT_TABLE_FORMATS = ("delta", "iceberg", "parquet")
JOIN_KINDS = ("inner", "left", "right", "full", "left_semi", "left_anti", "cross")
STATE_TIME_MODES = ("None", "ProcessingTime", "EventTime")
STATE_OUTPUT_MODES = ("append", "update")
