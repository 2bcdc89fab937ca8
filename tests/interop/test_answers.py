"""Penstock gives the answers of Kafka 4.3.1, in every version: codes, values, defaults, flags."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.protocol.apis import APIS
from tests.interop.answers import page, recorded
from tests.interop.answers.asking import Asker
from tests.interop.answers.comparing import MISSING, different_fields
from tests.interop.answers.differences import INTENDED, row_of, shown
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


def test_every_difference_to_kafka_is_on_the_page_and_every_row_is_a_difference(
    answers: dict[str, Any],
) -> None:
    kafkas = recorded.read()
    found = [
        (label, each)
        for label in kafkas | answers
        if not _is_own_setting(label, kafkas)
        for each in different_fields(kafkas.get(label, MISSING), answers.get(label, MISSING))
    ]
    rows = [row_of(label, each.path) for label, each in found]
    assert [each for each, row in zip(found, rows, strict=True) if row is None] == []
    values: dict[str, set[str]] = {each.where: set() for each in INTENDED}
    for (_, each), row in zip(found, rows, strict=True):
        assert row is not None
        values[row.where].add(shown(each))
    assert values == {each.where: set(each.values) for each in INTENDED}


def test_the_page_shows_the_rows() -> None:
    assert page.PATH.read_text() == page.render(), "rewrite it: python -m tests.interop.answers.page"


def test_every_version_of_every_api_that_kafka_serves_is_recorded() -> None:
    kafkas = recorded.read()
    listed = [answer for label, answer in kafkas.items() if re.fullmatch(r"ApiVersions v4 of \d+", label)]
    served = {
        f"{APIS[each['api_key']].name} v{version}"
        for each in listed
        for version in range(each["min_version"], each["max_version"] + 1)
    }
    assert len(served) > 250
    assert served - {" ".join(label.split()[:2]) for label in kafkas} == set()


def _is_own_setting(label: str, kafkas: dict[str, Any]) -> bool:
    """Settings that only Penstock has are listed in docs/configuration.md."""
    return label.startswith("setting ") and label not in kafkas
