"""Functions of the pipelines beside it."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


def tag(orders: DataFrame, customers: DataFrame) -> DataFrame:
    return orders.join(customers, orders.customer == customers.id, "left").drop("id")


class Counter(StatefulProcessor):
    """How many orders each customer has made."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", StructType([StructField("n", LongType())]))

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        (before,) = self._count.get() or (0,)
        count = before + sum(len(frame) for frame in rows)
        self._count.update((count,))
        yield pd.DataFrame({"customer": [key[0]], "n": [count]})

    def close(self) -> None:
        pass
