"""The receivers of messages: a file, a URL, a command, a topic. Each call delivers one message, within a timeout."""

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import urllib.request
from collections.abc import Mapping

from penstock.client.aio.client import Client
from penstock.client.errors import BrokerError
from penstock.client.settings import ClientSettings
from penstock.protocol.records.builder import NewRecord
from penstock.spark.pipeline.delivery.outbox import Deliver, Message

_OUTPUT_CHARACTERS_MAX = 300


def to_file(path: str) -> Deliver:
    """Append a line of JSON."""

    def deliver(message: Message) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as file:
            file.write(message.json + b"\n")

    return deliver


def to_url(url: str, headers: Mapping[str, str], timeout_s: float) -> Deliver:
    """POST the JSON. Any answer but 2xx is an error."""

    def deliver(message: Message) -> None:
        request = urllib.request.Request(  # noqa: S310 - the rules of the file checked the scheme
            url, data=message.json, headers={"Content-Type": "application/json", **headers}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=timeout_s):  # noqa: S310
            pass

    return deliver


def to_command(command: str, directory: str, timeout_s: float) -> Deliver:
    """Run the command with the JSON on its standard input; kill it with its children at the timeout."""

    def deliver(message: Message) -> None:
        process = subprocess.Popen(  # noqa: S603 - the user's own command
            shlex.split(command),
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(message.json, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise TimeoutError(f"the command did not end within {timeout_s:g} s") from None
        if process.returncode:
            said = output.decode(errors="replace").strip()[-_OUTPUT_CHARACTERS_MAX:]
            raise RuntimeError(f"the command ended with status {process.returncode}: {said}")

    return deliver


class TopicReceiver:
    """Writes each message to a topic, which it creates first if it is missing."""

    def __init__(
        self, settings: ClientSettings, topic: str, configs: Mapping[str, str], timeout_s: float
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._configs = dict(configs)
        self._timeout_s = timeout_s
        self._exists = False

    def __call__(self, message: Message) -> None:
        asyncio.run(asyncio.wait_for(self._produce(message), self._timeout_s))

    async def _produce(self, message: Message) -> None:
        async with Client(self._settings) as client:
            if not self._exists and self._topic not in (await client.metadata([self._topic])).topics:
                await client.create_topic(self._topic, partitions=1, configs=self._configs)
            self._exists = True
            record = NewRecord(key=message.key.encode(), value=message.json)
            (produced,) = await client.produce(self._topic, None, [record])
            if produced.error:
                raise BrokerError(produced.error, f"writing to topic {self._topic}", produced.message)
