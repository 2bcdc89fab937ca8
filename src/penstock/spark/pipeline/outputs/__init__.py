"""The kinds of outputs. A new one is a module with a subclass of `Target`, and an entry here."""

from collections.abc import Mapping

from penstock.spark.pipeline.core.model import Target
from penstock.spark.pipeline.outputs.console import ConsoleTarget
from penstock.spark.pipeline.outputs.table import TableTarget
from penstock.spark.pipeline.outputs.topic import TopicTarget

TARGETS: Mapping[str, type[Target]] = {each.kind: each for each in (TopicTarget, TableTarget, ConsoleTarget)}

__all__ = ["TARGETS", "ConsoleTarget", "TableTarget", "TopicTarget"]
