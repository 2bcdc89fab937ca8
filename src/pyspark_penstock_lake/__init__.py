"""Found by Spark by its name: makes `format("penstock_lake")` known in every session, Connect too, without a call."""

from penstock.spark.lake.datasource import PenstockLakeDataSource as DefaultSource

__all__ = ["DefaultSource"]
