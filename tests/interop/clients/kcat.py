"""kcat, the command-line client (Debian's build of an older librdkafka)."""

import re
import subprocess
from collections.abc import Sequence

from tests.interop.model import (
    CALL_TIMEOUT_S,
    CODECS,
    MESSAGE_BYTES_MAX,
    Cluster,
    Headers,
    Message,
    Received,
    RequestRefused,
)

_KEY_END = b"<<key-ends>>"
_MESSAGE_END = b"<<message-ends>>"
_FORMAT = r"%o %T %K %S\n%k%s%h<<message-ends>>\n"


class KcatClient:
    name = "kcat"
    codecs = CODECS

    def __init__(self, bootstrap: str, command: str) -> None:
        self._bootstrap = bootstrap
        self._command = command

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """The output of kcat; raises its error output when it fails."""
        done = subprocess.run(
            [self._command, "-b", self._bootstrap, "-m", "20", *arguments],
            input=stdin,
            capture_output=True,
            timeout=CALL_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise RequestRefused(done.stderr.decode(errors="replace"))
        return done.stdout

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> None:
        arguments = ["-P", "-t", topic, "-p", str(partition), "-z", codec]
        arguments += ["-X", f"message.max.bytes={MESSAGE_BYTES_MAX}", "-X", f"topic.acks={acks}"]
        arguments += ["-X", f"enable.idempotence={str(idempotent).lower()}"]
        for message in messages:  # headers and nulls are options of a whole run
            self._produce_one(arguments, message)

    def _produce_one(self, arguments: list[str], message: Message) -> None:
        options = ["-D", _MESSAGE_END.decode()]
        stdin = (message.value or b"") + _MESSAGE_END
        if message.key is not None:
            options += ["-K", _KEY_END.decode()]
            stdin = message.key + _KEY_END + stdin
        if message.value is None:
            options.append("-Z")
        for name, value in message.headers:
            options += ["-H", name if value is None else f"{name}={value.decode()}"]
        self.run(*arguments, *options, stdin=stdin)

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Received]:
        output = self.run(
            *("-C", "-q", "-t", topic, "-p", str(partition), "-o", str(offset), "-c", str(count)),
            *("-f", _FORMAT, "-X", "check.crcs=true"),
        )
        received = []
        while output:
            numbers, _, output = output.partition(b"\n")
            at, timestamp_ms, key_size, value_size = (int(number) for number in numbers.split())
            key, output = _split(output, key_size)
            value, output = _split(output, value_size)
            text, _, output = output.partition(_MESSAGE_END + b"\n")
            received.append(Received(at, key, value, _parse_headers(text), timestamp_ms))
        return received

    def writable(self, message: Message) -> Message | None:
        if message.key == b"" or (message.key is None and not message.value):
            return None  # kcat ignores an empty line
        headers = tuple((k, v) for k, v in message.headers if v is None or _is_plain(v))
        return Message(message.key, message.value, headers)

    def readable(self, headers: Headers) -> Headers:
        """kcat prints headers as one line of text: NULL for null, and commas are not escaped."""
        line = b",".join(
            name.encode() + b"=" + (b"NULL" if value is None else value.partition(b"\0")[0])
            for name, value in headers
        )
        return (("text", line),) if headers else ()

    def close(self) -> None:
        pass


class KcatAdmin:
    """The admin operations that kcat has: listing."""

    def __init__(self, client: KcatClient) -> None:
        self._client = client

    def topics(self) -> set[str]:
        return set(re.findall(r'topic "([^"]+)" with', self._list()))

    def partition_count(self, topic: str) -> int:
        (count,) = re.findall(rf'topic "{re.escape(topic)}" with (\d+) partitions', self._list("-t", topic))
        return int(count)

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        return self.offset_at(topic, partition, -2), self.offset_at(topic, partition, -1)

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        answer = self._client.run("-Q", "-t", f"{topic}:{partition}:{timestamp_ms}").decode()
        (offset,) = re.findall(rf"{re.escape(topic)} \[{partition}\] offset (-?\d+)", answer)
        return int(offset)

    def cluster(self) -> Cluster:
        listing = self._list()
        brokers = re.findall(r"broker (\d+) at ([^:\s]+):(\d+)", listing)
        (controller,) = re.findall(r"broker (\d+) at \S+ \(controller\)", listing)
        return Cluster(None, int(controller), tuple((int(n), host, int(port)) for n, host, port in brokers))

    def _list(self, *arguments: str) -> str:
        return self._client.run("-L", *arguments).decode()


def _is_plain(value: bytes) -> bool:
    return value.isascii() and value.decode().isprintable()


def _split(output: bytes, size: int) -> tuple[bytes | None, bytes]:
    return (None, output) if size < 0 else (output[:size], output[size:])


def _parse_headers(text: bytes) -> Headers:
    return (("text", text),) if text else ()
