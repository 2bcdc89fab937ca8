"""`penstock consume --share-group` against a real broker."""

import contextlib
import signal
import subprocess
import uuid
from collections.abc import Iterator

import pytest

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


def test_what_was_shown_is_accepted_and_the_rest_of_a_batch_given_back(
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
    ("options", "told"),
    [
        (("--group", "g"), "give --group or --share-group"),
        (("--no-follow",), "a share group has no end"),
        (("--from", "start"), "config set group workers share.auto.offset.reset=earliest"),
        (("--isolation", "read_committed"), "group workers share.isolation.level=read_committed"),
        (("--partition", "0"), "leave out --partition"),
    ],
)
def test_what_a_share_group_decides_itself_is_refused_with_what_to_do(
    penstock: Penstock, options: tuple[str, ...], told: str
) -> None:
    done = penstock("consume", uuid.uuid4().hex, "--share-group", "workers", *options, fails=True)
    assert told in done.stderr
