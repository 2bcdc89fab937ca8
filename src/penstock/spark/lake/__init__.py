"""Tables that Spark writes exactly once: Delta, Iceberg or plain Parquet (docs/tables.md, docs/adr/0007-tables.md).

`files` writes Parquet on the executors; `delta`, `iceberg` and `parquet` commit these files on the driver, in one
transaction of the table that also records the batch; `datasource` is the interface to Spark.
"""
