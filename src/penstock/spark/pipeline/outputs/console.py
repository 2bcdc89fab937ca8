"""Outputs to the terminal, for trying things out."""

from collections.abc import Mapping

from penstock.spark.pipeline.core.model import Pipeline, Sink, Target


class ConsoleTarget(Target, frozen=True, kw_only=True):
    kind = "console"

    rows: int = 20

    def sink(self, pipeline: Pipeline) -> Sink:  # noqa: ARG002 - the same for every pipeline
        return Sink(format="console", options={"numRows": str(self.rows), "truncate": "false"})

    def describe(self, partitions: Mapping[str, int] | None) -> str:  # noqa: ARG002
        return "console"
