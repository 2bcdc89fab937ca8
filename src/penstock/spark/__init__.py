"""The data pipeline on Spark: topics as tables, pipelines in a file. An ordinary client of the broker."""
