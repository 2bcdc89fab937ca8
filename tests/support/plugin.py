"""Shared by the tests with real processes: the broker of a session, its log when a test fails, missing tools.

Loaded by `tests/conftest.py`, so that the summary also appears where xdist's workers ran the tests.
"""

import atexit
import contextlib
import itertools
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.broker import BrokerProcess
from tools.setup_interop import JAVA_CLIENT
from tools.setup_kafka import NEWEST, kafka_jars, mirror_maker_jars
from tools.setup_spark_connector import connector_jars

# A tool that `tools/setup_*.py` could not install, and the command to install it.
INSTALL_COMMANDS = {
    "chromium": "sudo apt-get install -y chromium",
    "kcat": "sudo apt-get install -y kcat",
    "kafka-clients": "sudo apt-get install -y default-jdk-headless maven && python -m tools.setup_interop",
    "kafka": "sudo apt-get install -y default-jdk-headless maven && python -m tools.setup_kafka",
    "spark-sql-kafka": "sudo apt-get install -y maven && python -m tools.setup_spark_connector",
}
_MISSING = "not run: {tool} is missing, install it with `{command}`"

_running: list[BrokerProcess] = []


def require_tool(tool: str) -> str:
    """The tool's path. Where it is missing and could not be installed, its tests are skipped with a report."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(_MISSING.format(tool=tool, command=INSTALL_COMMANDS[tool]))
    return path


def require_java_client() -> str:
    """The class path of Kafka's Java client; like `require_tool` where there is no Java or no Maven to fetch it."""
    if not JAVA_CLIENT.is_dir() or shutil.which("java") is None:
        pytest.skip(_MISSING.format(tool="kafka-clients", command=INSTALL_COMMANDS["kafka-clients"]))
    return f"{JAVA_CLIENT}/*"


def require_kafka(release: str = NEWEST) -> Path:
    """The jars of a release of Apache Kafka; like `require_tool` where Maven could not fetch them."""
    jars = kafka_jars(release)
    if not jars.is_dir() or shutil.which("java") is None:
        pytest.skip(_MISSING.format(tool="kafka", command=INSTALL_COMMANDS["kafka"]))
    return jars


def require_mirror_maker() -> Path:
    """The jars of MirrorMaker; like `require_tool` where Maven could not fetch them."""
    jars = mirror_maker_jars()
    if not jars.is_dir() or shutil.which("java") is None:
        pytest.skip(_MISSING.format(tool="kafka", command=INSTALL_COMMANDS["kafka"]))
    return jars


def require_spark_connector() -> list[str]:
    """The jars of Spark's own Kafka connector; like `require_tool` where Maven could not fetch them."""
    jars = connector_jars()
    if not jars:
        pytest.skip(_MISSING.format(tool="spark-sql-kafka", command=INSTALL_COMMANDS["spark-sql-kafka"]))
    return jars


@pytest.fixture(scope="session")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all interop tests of this worker: every test makes its own topics."""
    settings = {
        # By default a new group waits three seconds for more members; here it does not wait.
        "group.initial.rebalance.delay.ms": "0",
        # Tests write records of years ago, and the broker lives long enough for its sweep to find them. Retention
        # itself stays at its default: tests look at what topics inherit.
        "log.retention.check.interval.ms": "86400000",
    }
    with running_broker(tmp_path_factory.mktemp("shared-broker"), settings) as broker:
        yield broker


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker for a test that restarts it or needs it empty."""
    with running_broker(tmp_path) as broker:
        yield broker


@contextlib.contextmanager
def running_broker(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[BrokerProcess]:
    """A started broker; its log is shown if a test fails. It is killed at the end, which is quick."""
    broker = BrokerProcess(directory, settings=settings)
    _running.append(broker)
    try:
        yield broker.start()
    finally:
        if broker.is_running:
            broker.kill()
        _running.remove(broker)


def pytest_configure() -> None:
    """Commands under test must hear Ctrl-C, which a suite that runs in the background of a shell is made to ignore.

    Brokers under test leave the tokens of their clusters where the user's own brokers do not look for them.
    """
    runtime = tempfile.TemporaryDirectory(prefix="penstock-tests-")
    atexit.register(runtime.cleanup)
    os.environ["XDG_RUNTIME_DIR"] = runtime.name
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # kafka-python's threads outlive a test by a moment, and would log into a stream that pytest has closed.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for broker in _running:
            report.sections.append((f"log of the broker at {broker.bootstrap}", broker.log_tail()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the measurements of crashes and failovers and, last, the skipped tests and how to enable them."""
    not_run = []
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport) and report.when == "teardown":
            for name, value in report.user_properties:
                if name in ("crash", "failover"):
                    terminalreporter.write_line(f"{report.nodeid}: {value}")
                elif name == "not run":
                    not_run.append(f"{report.nodeid}: {value}")
    if not_run:
        terminalreporter.section(
            "not run: parts of tests that this machine does not allow", sep="=", yellow=True
        )
        for line in not_run:
            terminalreporter.write_line(f"  {line}")
    for tool, command in INSTALL_COMMANDS.items():
        reason = _MISSING.format(tool=tool, command=command)
        skipped = [
            report.nodeid
            for report in terminalreporter.stats.get("skipped", [])
            if isinstance(report, pytest.TestReport) and reason in str(report.longrepr)
        ]
        if skipped:
            terminalreporter.section(f"not run: {tool} is missing", sep="=", yellow=True)
            for nodeid in skipped:
                terminalreporter.write_line(f"  {nodeid}")
            terminalreporter.write_line(f"To run them: {command}", yellow=True)
