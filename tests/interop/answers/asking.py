"""One connection, requests from nested dicts, and answers in a form that can be compared.

Differences between two brokers that do not matter to a client are replaced or left out: ports, ids, times, the order
in lists, and the words of messages.
"""

import contextlib
import json
import socket
import struct
import time
import types
import typing
import uuid
from typing import Any, Final

import msgspec

from penstock.protocol.apis import APIS, codec
from penstock.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from penstock.security.sasl.cluster import NAME, client_proof

Fields = dict[str, Any]

_KEYS: Final = {spec.name: spec.key for spec in APIS.values()}
_TIMEOUT_S: Final = 15.0
_PATIENCE_S: Final = 10.0
_DAY_MS: Final = 86_400_000
_NOTHING: Final = (None, "", "00" * 16, -1)
_OF_THE_BROKER: Final = frozenset(
    {
        "cluster_id", "directory_id", "finalized_features_epoch", "host", "log_dir", "port", "producer_id",
        "replica_directory_id", "session_id", "topic_id", "total_bytes", "usable_bytes",
    }
)  # fmt: skip
_WORDS: Final = frozenset({"acknowledge_error_message", "error_message", "batch_index_error_message"})
_CHANGES: Final = ("Alter", "Create", "Delete", "Incremental", "Update")
_LATER: Final = frozenset({14, 15, 51})  # the coordinator loads, is not there yet, or ends a transaction


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Asker:
    """Asks and keeps every answer under its label.

    A Kafka broker learns some time after its answer of what its controller has changed: `settle_s` gives it that time.
    It also accepts broker requests of any client; ours requires a proof of the cluster's `secret`.
    """

    def __init__(self, address: tuple[str, int], settle_s: float = 0.0, secret: bytes | None = None) -> None:
        self.answers: dict[str, Any] = {}
        self._address = address
        self._settle_s = settle_s
        self._secret = secret
        self._socket: socket.socket | None = None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, label: str, api: str, version: int, **fields: Any) -> Any:
        """Send a request, record the answer as `api vN label`, and return it unchanged."""
        answer = self.quietly(api, version, **fields)
        self.note(f"{api} v{version} {label}", answer)
        return answer

    def note(self, label: str, answer: Any) -> None:
        assert label not in self.answers, f"{label} was asked twice"
        self.answers[label] = comparable(answer)

    def quietly(self, api: str, version: int, **fields: Any) -> Any:
        """Send a request, and retry while the broker is not ready; a closed connection is an answer."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            answer = self._exchange(api, version, fields)
            if not _codes(answer) & _LATER or time.monotonic() > until:
                return answer
            time.sleep(0.05)

    def raw(self, label: str, frame: bytes) -> None:
        """Send bytes that no codec produces."""
        try:
            self.note(label, self._send_and_receive(frame).hex())
        except Closed:
            self.note(label, "CLOSED")

    def _exchange(self, api: str, version: int, fields: Fields) -> Any:
        key = _KEYS[api]
        module = codec(key)
        frame = bytearray()
        header = RequestHeader(api_key=key, api_version=version, correlation_id=1, client_id="asker")
        encode_request_header(frame, header)
        module.encode_request_into(frame, _built(getattr(module, f"{api}Request"), fields), version)
        try:
            body = self._send_and_receive(bytes(frame))
        except Closed:
            return "CLOSED"
        if api.startswith(_CHANGES):
            time.sleep(self._settle_s)
        _, position = decode_response_header(body, key, version)
        return plain(module.decode_response(body, version, position))

    def _prove(self, secret: bytes) -> None:
        """Authenticate as a broker of the cluster."""
        self._exchange("SaslHandshake", 1, {"mechanism": NAME})
        steps = client_proof(bytes(32), lambda _cluster_id: secret)
        message = next(steps)
        with contextlib.suppress(StopIteration):
            while True:
                answer = self._exchange("SaslAuthenticate", 2, {"auth_bytes": message})
                message = steps.send(bytes.fromhex(answer["auth_bytes"]))

    def _send_and_receive(self, frame: bytes) -> bytes:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, _TIMEOUT_S)
            if self._secret is not None:
                self._prove(self._secret)
        try:
            self._socket.sendall(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", self._receive(4))
            return self._receive(size)
        except (ConnectionError, Closed) as error:
            self.close()
            raise Closed from error

    def _receive(self, size: int) -> bytes:
        assert self._socket is not None
        received = b""
        while len(received) < size:
            part = self._socket.recv(size - len(received))
            if not part:
                raise Closed
            received += part
        return received


def plain(value: Any) -> Any:
    """Messages as dicts, bytes as hex."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value


def comparable(value: Any, name: str = "") -> Any:
    """The answer without values that are specific to this broker."""
    if isinstance(value, dict):
        return {key: comparable(each, key) for key, each in value.items() if key not in _WORDS}
    if isinstance(value, list):
        return sorted((comparable(each, name) for each in value), key=json.dumps)
    if name in _OF_THE_BROKER:
        return value if value in _NOTHING else "ITS OWN"
    if name in ("leader", "member_id") and isinstance(value, str) and _is_made_up(value):
        return "ITS OWN"
    if isinstance(value, int) and abs(value - time.time() * 1000) < _DAY_MS:
        return "NOW"
    return value


def _is_made_up(member_id: str) -> bool:
    """Whether a broker gave it: by itself a UUID, in Kafka's base64 or as text, or that behind the client's name."""
    try:
        uuid.UUID(member_id[-36:])
    except ValueError:
        return len(member_id) == 22
    return True


def _codes(answer: Any) -> set[int]:
    if isinstance(answer, dict):
        found = {value for name, value in answer.items() if name.endswith("error_code")}
        return found.union(*(_codes(each) for each in answer.values()))
    if isinstance(answer, list):
        return set().union(*(_codes(each) for each in answer))
    return set()


def _built(kind: Any, value: Any) -> Any:
    """A message of this type from nested dicts."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [each for each in typing.get_args(kind) if _takes(each, value)]
        return _built(inner[0], value) if inner else value
    if origin is list:
        return [_built(typing.get_args(kind)[0], each) for each in value]
    if isinstance(value, dict):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _built(hints[name], each) for name, each in value.items()})
    return value


def _takes(kind: Any, value: Any) -> bool:
    if isinstance(value, list):
        return typing.get_origin(kind) is list
    return isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct)
