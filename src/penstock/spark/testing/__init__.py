"""A kit to test pipelines with a real broker and a real session: send events, run a pipeline file, compare outputs.

    from penstock.spark.testing import PipelineKit

    def test_paid_orders_are_announced(pipeline_kit: PipelineKit) -> None:
        pipeline_kit.feed("orders", [{"orderId": "o1", "amount": 5}, b"no JSON"], key="orderId")
        pipeline_kit.run("payments.yaml")
        pipeline_kit.assert_topic("payments", [{"orderId": "o1", "amount": 5.0}])
        assert pipeline_kit.dead_letters("payments")[0].error.startswith("not JSON")

The fixtures come with `pytest_plugins = ["penstock.spark.testing.plugin"]` in the conftest.py at the root of the tests.
Without pytest, use `running_kit`. `cases` are such tests in YAML. See docs/testing.md.
"""

from penstock.spark.testing.compare import rows_differ
from penstock.spark.testing.kit import PipelineKit, running_kit
from penstock.spark.testing.records import Record
from penstock.spark.testing.session import start_test_session

__all__ = ["PipelineKit", "Record", "rows_differ", "running_kit", "start_test_session"]
