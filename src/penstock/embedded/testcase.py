"""For suites of `unittest`: a test case with a broker.

class OrderTests(BrokerTestCase):
    broker_config = {"num.partitions": 3}

    def test_orders(self) -> None:
        topic = self.create_topic()
        ...                             # the application, given self.broker.bootstrap_servers
        topic.assert_values([b"one"])
"""

import re
import unittest
from collections.abc import Mapping
from typing import ClassVar

from penstock.embedded.base import Setting
from penstock.embedded.broker import Broker
from penstock.embedded.topics import Topic


class BrokerTestCase(unittest.TestCase):
    """One broker, `broker`, for all tests of a class; `create_topic` gives each test topics of its own."""

    broker_config: ClassVar[Mapping[str, Setting]] = {}
    broker: ClassVar[Broker]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.broker = Broker(config=cls.broker_config).start()
        cls.addClassCleanup(cls.broker.stop)

    def create_topic(self, partitions: int = 1, name: str = "topic") -> Topic:
        """A new topic that is named after the test; it is deleted when the test has ended."""
        test = re.sub(r"[^a-zA-Z0-9._-]+", "-", self.id())[-200:]
        topic = self.broker.create_topic(f"{test}-{name}", partitions)
        self.addCleanup(self.broker.delete_topic, topic)
        return topic
