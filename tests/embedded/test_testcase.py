import io
import unittest

from penstock.embedded.testcase import BrokerTestCase


class Example(BrokerTestCase):
    __test__ = False  # pytest leaves it to the test below
    broker_config = {"num.partitions": 2}  # noqa: RUF012 - as a user writes it

    def test_orders(self) -> None:
        topic = self.create_topic()
        topic.produce(b"one")
        topic.assert_values([b"one"])
        assert self.broker.create_topic("other").partitions == 2


def test_a_unittest_suite_has_a_broker_for_each_class_and_stops_it() -> None:
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Example)
    result = unittest.TextTestRunner(io.StringIO()).run(suite)
    assert result.wasSuccessful(), result.errors + result.failures
    assert result.testsRun == 1
    assert Example.broker.nodes == {}
