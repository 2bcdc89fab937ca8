"""One connection, against a server with the test's answers and against a real broker behind TLS."""

import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.client.blocking.connection import BlockingConnection
from penstock.client.connection import Disconnected
from penstock.client.errors import AuthenticationFailed, UnsupportedApi
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.headers import RequestHeader
from penstock.protocol.messages import api_versions, fetch, metadata, sasl_authenticate, sasl_handshake
from tests.client.blocking.serving import ALL_VERSIONS, Answer, serving
from tests.support.broker import BrokerProcess

ASK = metadata.MetadataRequest(topics=[])


@contextlib.contextmanager
def connected(answer: Answer, **properties: str) -> Iterator[BlockingConnection]:
    def introduced(header: RequestHeader, body: Any) -> Any:
        if header.api_key == api_versions.API_KEY:
            return ALL_VERSIONS
        return answer(header, body)

    with serving(introduced) as address, opened(address, properties) as connection:
        yield connection


def opened(address: tuple[str, int], properties: dict[str, str]) -> BlockingConnection:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    settings = ClientSettings.from_properties({"bootstrap.servers": "x:1", **named})
    return BlockingConnection.open(*address, settings)


def named_cluster(header: RequestHeader, _: Any) -> metadata.MetadataResponse:
    return metadata.MetadataResponse(cluster_id=f"answer {header.correlation_id}")


def test_pipelined_answers_are_returned_in_the_order_of_the_requests() -> None:
    with connected(named_cluster) as connection:
        version = connection.version(metadata.API_KEY)
        for _ in range(3):
            connection.send(metadata.API_KEY, version, ASK)
        assert connection.pending_count == 3
        answers = [connection.receive().cluster_id for _ in range(3)]
        assert answers == ["answer 1", "answer 2", "answer 3"]
        assert connection.pending_count == 0


def test_the_records_of_a_fetch_are_a_view_of_the_received_bytes() -> None:
    def answer(_: RequestHeader, __: Any) -> fetch.FetchResponse:
        data = fetch.PartitionData(partition_index=0, records=b"records")
        return fetch.FetchResponse(responses=[fetch.FetchableTopicResponse(topic="t", partitions=[data])])

    with connected(answer) as connection:
        response = connection.call(fetch.API_KEY, 12, fetch.FetchRequest())
        records = response.responses[0].partitions[0].records
        assert isinstance(records, memoryview)
        assert bytes(records) == b"records"
        assert isinstance(records.obj, bytearray)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (struct.pack(">iiB", 5, 99, 0), ProtocolError),
        (struct.pack(">iiBB", 6, 1, 0, 1), ProtocolError),
        (struct.pack(">i", -5), ProtocolError),
        (struct.pack(">i", 2**31 - 1), ProtocolError),
        (None, Disconnected),
    ],
)
def test_a_malformed_answer_closes_the_connection(answer: bytes | None, error: type[Exception]) -> None:
    with connected(lambda *_: answer) as connection:
        with pytest.raises(error):
            connection.call(metadata.API_KEY, 12, ASK)
        assert not connection.is_open
        with pytest.raises(Disconnected, match="is closed"):
            connection.call(metadata.API_KEY, 12, ASK)


def test_a_broker_that_does_not_answer_times_out() -> None:
    answered = threading.Event()

    def answer(header: RequestHeader, body: Any) -> Any:
        answered.wait(30)
        return named_cluster(header, body)

    try:
        with connected(answer, request_timeout_ms="50") as connection:
            with pytest.raises(Disconnected, match="did not answer in time"):
                connection.call(metadata.API_KEY, 12, ASK)
            assert not connection.is_open
    finally:
        answered.set()


def test_the_error_of_an_unreachable_broker_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    with pytest.raises(Disconnected, match=f"127.0.0.1:{address[1]}"):
        opened(address, {})


def test_an_older_broker_answers_api_versions_in_version_0() -> None:
    asked: list[int] = []

    def answer(header: RequestHeader, _: Any) -> Any:
        asked.append(header.api_version)
        keys = [
            api_versions.ApiVersion(api_key=api_versions.API_KEY, min_version=0, max_version=2),
            api_versions.ApiVersion(api_key=metadata.API_KEY, min_version=0, max_version=7),
        ]
        if header.api_version > 2:
            refusal = api_versions.ApiVersionsResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=keys
            )
            body = struct.pack(">i", header.correlation_id) + api_versions.encode_response(refusal, 0)
            return struct.pack(">i", len(body)) + body
        return api_versions.ApiVersionsResponse(api_keys=keys)

    with serving(answer) as address, opened(address, {}) as connection:
        assert asked == [api_versions.VERSIONS[-1], 2]
        assert connection.version(metadata.API_KEY) == 7
        assert connection.version(metadata.API_KEY, at_most=5) == 5
        with pytest.raises(UnsupportedApi, match="Fetch"):
            connection.version(fetch.API_KEY)


def sasl_answer(password: bytes) -> Answer:
    def answer(header: RequestHeader, body: Any) -> Any:
        if header.api_key == sasl_handshake.API_KEY:
            code = 0 if body.mechanism == "PLAIN" else ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return sasl_handshake.SaslHandshakeResponse(error_code=code, mechanisms=["PLAIN"])
        if header.api_key == sasl_authenticate.API_KEY and body.auth_bytes != b"\0user\0" + password:
            return sasl_authenticate.SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="wrong password"
            )
        if header.api_key == sasl_authenticate.API_KEY:
            return sasl_authenticate.SaslAuthenticateResponse()
        return named_cluster(header, body)

    return answer


PLAIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "user", "sasl_password": "right"}


def test_sasl_comes_before_the_first_request() -> None:
    with connected(sasl_answer(b"right"), sasl_mechanism="PLAIN", **PLAIN) as connection:
        assert connection.call(metadata.API_KEY, 12, ASK).cluster_id == "answer 3"


def test_a_refused_user_and_an_unsupported_mechanism_have_different_errors() -> None:
    with (
        pytest.raises(AuthenticationFailed, match=r"'user'.*wrong password"),
        connected(sasl_answer(b"other"), sasl_mechanism="PLAIN", **PLAIN),
    ):
        pass
    with (
        pytest.raises(AuthenticationFailed, match="offers PLAIN"),
        connected(sasl_answer(b"right"), sasl_mechanism="SCRAM-SHA-256", **PLAIN),
    ):
        pass


# --- TLS, for real --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One PEM file with a key and a certificate for localhost that is its own authority."""
    directory = tmp_path_factory.mktemp("tls")
    openssl = shutil.which("openssl")
    assert openssl, "these tests make their certificate with openssl"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        str(directory / "key"),
    ]
    command = [openssl, "req", "-x509", "-days", "2", *key, "-out", str(directory / "cert"), *subject]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    both = directory / "both.pem"
    both.write_text((directory / "key").read_text() + (directory / "cert").read_text())
    return both


@contextlib.contextmanager
def tls_in_front_of(port: int, certificate: Path) -> Iterator[int]:
    """A port that speaks TLS and passes everything on to `port`; it asks clients for the same certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL

    def forward(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):
                incoming = context.wrap_socket(plain, server_side=True)
                outgoing = socket.create_connection(("127.0.0.1", port), 30)
                for pair in ((incoming, outgoing), (outgoing, incoming)):
                    threading.Thread(target=forward, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_broker_behind_tls_is_reached_and_its_certificate_checked(
    shared_broker: BrokerProcess, certificate: Path
) -> None:
    trusting = {"security_protocol": "SSL", "ssl_truststore_location": str(certificate)}
    with tls_in_front_of(shared_broker.port, certificate) as port:
        with opened(
            ("localhost", port), {**trusting, "ssl_keystore_location": str(certificate)}
        ) as connection:
            response = connection.call(metadata.API_KEY, connection.version(metadata.API_KEY), ASK)
            assert response.brokers
        with pytest.raises(AuthenticationFailed, match="not trusted"):
            opened(("127.0.0.1", port), trusting)
        opened(("127.0.0.1", port), {**trusting, "ssl_endpoint_identification_algorithm": ""}).close()
        with pytest.raises(AuthenticationFailed, match="not trusted"):
            opened(("localhost", port), {"security_protocol": "SSL"})


def test_tls_to_a_port_without_it_is_explained(shared_broker: BrokerProcess) -> None:
    with pytest.raises((AuthenticationFailed, Disconnected), match=r"TLS|lost the connection"):
        opened(("127.0.0.1", shared_broker.port), {"security_protocol": "SSL"})
