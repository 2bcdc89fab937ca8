"""Penstock answers what Kafka 4.3.1 answered, in every version: codes, values, defaults, flags."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.interop.answers import differences, recorded
from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios import SCENARIOS
from tests.support.broker import BrokerProcess

# As the recorder's Kafka is set up for one node.
_SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    broker = BrokerProcess(tmp_path_factory.mktemp("answers"), settings=_SETTINGS).start()
    try:
        secret = bytes.fromhex((broker.data_dir / "cluster.secret").read_text())
        asker = Asker(("127.0.0.1", broker.port), secret=secret)
        for ask_all in SCENARIOS.values():
            ask_all(asker)
        asker.close()
        yield asker.answers
    finally:
        broker.stop()


def test_every_answer_is_kafkas_but_for_intended_differences(answers: dict[str, Any]) -> None:
    kafkas = recorded.read()
    different = {
        label: {"Kafka": kafkas.get(label), "Penstock": answers.get(label)}
        for label in kafkas | answers
        if kafkas.get(label) != answers.get(label) and not _is_own_setting(label, kafkas)
    }
    assert {label: both for label, both in different.items() if not differences.reason(label)} == {}
    assert differences.INTENDED.keys() == {differences.reason(label) for label in different}


def _is_own_setting(label: str, kafkas: dict[str, Any]) -> bool:
    """Settings that only Penstock has are listed in docs/configuration.md."""
    return label.startswith("setting ") and label not in kafkas
