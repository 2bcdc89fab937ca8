"""Tables written by Spark, exactly once: Delta, Iceberg or plain Parquet (docs/tables.md, docs/adr/0007-tables.md).

`files` writes Parquet on the executors; `delta`, `iceberg` and `parquet` commit what was written, on the driver, in one
transaction of the table that also records the batch; `datasource` is the Spark side of it.
"""
