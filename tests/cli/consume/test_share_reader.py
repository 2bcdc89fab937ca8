"""`penstock consume --share-group` against a real broker."""

import contextlib
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.cli.consume import group_reader, share_reader
from penstock.cli.errors import CommandError
from tests.cli.conftest import COMMAND, ENVIRONMENT, TIMEOUT_SECONDS, Penstock, call_command
from tests.interop.share_stage import SETTINGS, ShareStage
from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One that tells new members soon what they have."""
    with running_broker(tmp_path_factory.mktemp("share-reader"), SETTINGS) as broker:
        yield broker


@pytest.fixture
def stage(broker: BrokerProcess) -> Iterator[ShareStage]:
    made = ShareStage(broker.bootstrap)
    yield made
    made.close()


def consume(broker: BrokerProcess, stage: ShareStage, *options: str) -> str:
    command = [
        "consume",
        stage.topic,
        "--share-group",
        stage.group,
        "--format",
        "raw",
        "-b",
        broker.bootstrap,
    ]
    done = call_command(*command, *options)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.replace("\n", "")


def test_printed_records_are_accepted_and_the_rest_of_a_batch_is_released(
    broker: BrokerProcess, stage: ShareStage
) -> None:
    stage.produce("abcde")
    assert consume(broker, stage, "-n", "3") == "abc"
    assert consume(broker, stage, "-n", "2") == "de"

    stage.produce("f")
    assert stage.join().take(1) == [(5, 1)]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_reading_and_leaves_the_group(
    broker: BrokerProcess, stage: ShareStage, how: signal.Signals
) -> None:
    stage.produce("a")
    command = [*COMMAND, "consume", stage.topic, "--share-group", stage.group, "--format", "raw"]
    with subprocess.Popen(
        [*command, "-b", broker.bootstrap], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as reader:
        assert reader.stdout is not None
        with contextlib.ExitStack() as stack:
            stack.callback(reader.kill)
            assert reader.stdout.readline() == b"a\n"
            reader.send_signal(how)
            assert reader.wait(TIMEOUT_SECONDS) == 0
        assert reader.stderr is not None
        assert reader.stderr.read() == b""

    deleted = call_command("group", "delete", stage.group, "-b", broker.bootstrap)
    assert deleted.stdout == f"deleted group {stage.group}\n", deleted


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (("--group", "g"), "give --group or --share-group"),
        (("--no-follow",), "a share group has no end"),
        (("--from", "start"), "config set group workers share.auto.offset.reset=earliest"),
        (("--isolation", "read_committed"), "group workers share.isolation.level=read_committed"),
        (("--partition", "0"), "leave out --partition"),
    ],
)
def test_options_that_a_share_group_decides_are_refused_with_a_hint(
    penstock: Penstock, options: tuple[str, ...], printed: str
) -> None:
    done = penstock("consume", uuid.uuid4().hex, "--share-group", "workers", *options, fails=True)
    assert printed in done.stderr


class Record:
    def error(self) -> None: ...
    def timestamp(self) -> tuple[int, int]:
        return 0, 0

    def __getattr__(self, _name: str) -> Callable[[], None]:
        return lambda: None


class FailingConsumer:
    """Delivers one record, whose acknowledgement fails with a code."""

    def __init__(self, code: int) -> None:
        self._failure = KafkaException(KafkaError(code))

    def subscribe(self, _topics: list[str]) -> None: ...

    def acknowledge(self, *_arguments: object) -> None: ...

    def poll(self, _timeout_s: float) -> list[Record]:
        return [Record()]

    def commit_sync(self, _timeout_s: float) -> dict[str, KafkaException]:
        return {"t-0": self._failure}


def test_an_acknowledgement_that_finds_another_leader_is_delivered_again() -> None:
    def read(code: int) -> None:
        share_reader.ShareReader(FailingConsumer(code), "t").copy(lambda _record: b"", 1)

    read(KafkaError.NOT_LEADER_FOR_PARTITION)
    with pytest.raises(CommandError, match="cannot acknowledge records of topic t"):
        read(KafkaError.GROUP_AUTHORIZATION_FAILED)


def test_every_error_that_is_retried_is_known_to_librdkafka() -> None:
    for name in (*share_reader._REDELIVERED, *group_reader._RETRIED):
        assert hasattr(KafkaError, name), name
