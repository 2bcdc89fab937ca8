"""The same records copied by MirrorMaker 2 into Kafka and by a mirror, compared by the CPU time that they take."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.mirror.stage import Operator, eventually
from tests.support.broker import BrokerProcess
from tests.support.kafka_node import KafkaNode
from tests.support.plugin import require_kafka, require_mirror_maker

PARTITIONS, RECORDS, RECORD_BYTES = 4, 300_000, 1000
RATIO_MIN = 3
_MB = RECORDS * RECORD_BYTES / 1e6
_MIRROR_MAKER = """clusters=a,b
a.bootstrap.servers={source}
b.bootstrap.servers={target}
a->b.enabled=true
a->b.topics=load
b->a.enabled=false
tasks.max={partitions}
replication.factor=1
offset-syncs.topic.replication.factor=1
heartbeats.topic.replication.factor=1
checkpoints.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1
replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy
b.producer.batch.size=200000
b.producer.linger.ms=50
"""


@pytest.fixture
def source(tmp_path: Path) -> Iterator[KafkaNode]:
    node = KafkaNode(tmp_path / "source", require_kafka())
    node.format()
    node.start()
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic("load", PARTITIONS, 1)])["load"].result(30)
    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 50, "batch.size": 200_000})
    value = os.urandom(RECORD_BYTES)
    for number in range(RECORDS):
        producer.produce("load", value, partition=number % PARTITIONS)
        if number % 1000 == 999:
            producer.flush(60)
    yield node
    node.kill()


def cpu_s(*pids: int) -> float:
    """The processor time of these processes so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pid_of(node: KafkaNode) -> int:
    assert node._process is not None
    return node._process.pid


def copied(bootstrap: str) -> int:
    """How many records of the topic are at the target."""
    if "load" not in AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30).topics:
        return 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "count"})
    try:
        wheres = [TopicPartition("load", number) for number in range(PARTITIONS)]
        return sum(consumer.get_watermark_offsets(each, timeout=30)[1] for each in wheres)
    except KafkaException:  # the topic is being created
        return 0
    finally:
        consumer.close()


def megabytes_per_cpu_second(bootstrap: str, spent: Callable[[], float]) -> float:
    """From the first record on: the start of a JVM takes more than the copying."""
    eventually(lambda: copied(bootstrap) > 0, "nothing is copied", 120)
    before_s, count = spent(), copied(bootstrap)
    eventually(lambda: copied(bootstrap) == RECORDS, "not everything is copied", 180)
    return (RECORDS - count) * RECORD_BYTES / 1e6 / max(spent() - before_s, 1e-2)


def measure_mirror(source: KafkaNode, directory: Path) -> float:
    """Its whole processor time: it copies faster than a first record can be noticed."""
    node = BrokerProcess(directory).start()
    try:
        before_s = cpu_s(node.pid)
        operator = Operator(node.bootstrap)
        operator.create(source.bootstrap, "load")
        operator.await_level(PARTITIONS)
        return _MB / (cpu_s(node.pid) - before_s)
    finally:
        node.kill()


def measure_mirror_maker(source: KafkaNode, directory: Path, jars: Path) -> float:
    target = KafkaNode(directory, require_kafka())
    target.format()
    target.start()
    settings = directory / "mm2.properties"
    settings.write_text(
        _MIRROR_MAKER.format(source=source.bootstrap, target=target.bootstrap, partitions=PARTITIONS)
    )
    command = ["java", "-Xmx1G", "-cp", f"{jars}/*", "org.apache.kafka.connect.mirror.MirrorMaker"]
    with (directory / "mm2.log").open("wb") as log:
        maker = subprocess.Popen([*command, str(settings)], stdout=log, stderr=log)
    try:
        return megabytes_per_cpu_second(target.bootstrap, lambda: cpu_s(maker.pid, pid_of(target)))
    finally:
        maker.kill()
        maker.wait()
        target.kill()


def test_a_mirror_copies_at_least_three_times_as_much_in_a_second_of_cpu_time(
    source: KafkaNode, tmp_path: Path
) -> None:
    jars = require_mirror_maker()
    began = time.strftime("%Y-%m-%d")
    mirror = measure_mirror(source, tmp_path / "mirror")
    maker = measure_mirror_maker(source, tmp_path / "maker", jars)
    print(f"{began}: mirror {mirror:.0f} MB, MirrorMaker 2 with its Kafka {maker:.0f} MB per CPU second")
    assert mirror >= RATIO_MIN * maker
