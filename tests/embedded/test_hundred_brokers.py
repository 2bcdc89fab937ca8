"""A suite can start a new broker for every test."""

import time

import pytest

from penstock.embedded import Broker


def test_a_hundred_brokers_start_one_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    began_s = time.perf_counter()
    for number in range(100):
        with Broker(topics={"orders": 1}) as broker:
            broker.topic("orders").produce(b"%d" % number)
            broker.topic("orders").assert_values([b"%d" % number])
    with capsys.disabled():
        print(f"\n100 brokers, one after another, with a record each: {time.perf_counter() - began_s:.1f} s")
