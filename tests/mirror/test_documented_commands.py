"""The commands of docs/mirror.md, run as they are written there, with the addresses of this test."""

import re
import shlex
from pathlib import Path

from penstock.embedded import Cluster
from tests.mirror.stage import Operator
from tests.mirror.test_mirror_between_clusters import QUICK, produce, values_of

PAGE = Path(__file__).parents[2] / "docs" / "mirror.md"


def commands() -> list[list[str]]:
    """The commands in the blocks of the page, without their first two words."""
    blocks = re.findall(r"^```\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("penstock mirror")]


def test_every_command_of_the_page_works_in_its_order() -> None:
    with Cluster(1, config=QUICK) as source, Cluster(1, config=QUICK) as target:
        for topic in ("orders", "orders-2", "payments", "other"):
            source.create_topic(topic, 1)
            produce(source, topic, topic.encode())
        operator = Operator(target.bootstrap_servers)
        done = []
        for words in commands():
            if words in done:  # the page promotes twice: once in its summary
                continue
            done.append(words)
            operator.run(*(word.replace("10.0.0.5:9092", source.bootstrap_servers) for word in words))
        assert [words[0] for words in done] == ["create", "describe", "promote", "reverse"]
        assert values_of(target, "orders-2") == [b"orders-2"]
        assert set(target.client.topics()) >= {"orders", "orders-2", "payments"}
        assert "other" not in target.client.topics()
        Operator(source.bootstrap_servers).await_level(3, "kafka")
