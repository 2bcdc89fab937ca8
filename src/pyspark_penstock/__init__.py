"""Found by Spark because of its name: makes the format "penstock" known without a call to register it."""

from penstock.spark.datasource import PenstockDataSource as DefaultSource

__all__ = ["DefaultSource"]
