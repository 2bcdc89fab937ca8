"""Each client connects with a login, sends a value and reads it back, or raises its error."""

import asyncio
import contextlib
import io
import logging
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from kafka.errors import KafkaError as PythonKafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider as PythonTokenProvider

from tests.interop.clients.javascript import NodeProcess
from tests.interop.model import RequestRefused
from tests.interop.security.logins import Login, Refused

TIMEOUT_S = 15.0

RoundTrip = Callable[[Login, str, bytes], bytes]
"""Sends a value to partition 0 of a topic and gives what it reads from there last. Raises `Refused`."""


# -- confluent-kafka


def confluent(login: Login, topic: str, value: bytes) -> bytes:
    errors: list[str] = []

    def on_error(error: KafkaError) -> None:
        errors.append(error.str())

    def on_delivery(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            errors.append(error.str())

    config: dict[str, Any] = {
        "bootstrap.servers": login.bootstrap,
        "security.protocol": login.protocol,
        "ssl.ca.location": str(login.authority),
        "log_level": 0,
        "error_cb": on_error,
    }
    if login.certificate is not None:
        config |= {
            "ssl.certificate.location": str(login.certificate),
            "ssl.key.location": str(login.certificate),
        }
    if login.mechanism == "OAUTHBEARER":
        config |= {"sasl.mechanism": login.mechanism, "oauth_cb": lambda _: (login.token, time.time() + 600)}
    elif login.mechanism:
        config |= {
            "sasl.mechanism": login.mechanism,
            "sasl.username": login.user,
            "sasl.password": login.password,
        }
    producer = Producer({**config, "message.timeout.ms": int(TIMEOUT_S * 1000)})
    producer.produce(topic, value, partition=0, on_delivery=on_delivery)
    deadline = time.monotonic() + TIMEOUT_S
    while producer.flush(0.05) and not errors and time.monotonic() < deadline:
        pass
    if errors or len(producer):
        producer.purge()
        raise Refused(errors[0] if errors else "no error was reported")
    consumer = Consumer({**config, "group.id": "unused", "enable.auto.commit": False})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S)
        consumer.assign([TopicPartition(topic, 0, end - 1)])
        message = consumer.poll(TIMEOUT_S)
    except KafkaException as error:
        raise Refused(str(error)) from error
    finally:
        consumer.close()
    assert message is not None
    read: bytes = message.value()
    return read


@contextlib.contextmanager
def _logged(name: str) -> Iterator[io.StringIO]:
    """The log lines of a library; some libraries report a failed connection only there."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    logger = logging.getLogger(name)
    level = logger.level  # other tests silence it
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


# -- aiokafka


class _AioToken(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


def aiokafka(login: Login, topic: str, value: bytes) -> bytes:
    async def round_trip() -> bytes:
        settings: dict[str, Any] = {
            "bootstrap_servers": login.bootstrap,
            "security_protocol": login.protocol,
            "ssl_context": _context(login),
        }
        if login.mechanism:
            settings |= {
                "sasl_mechanism": login.mechanism,
                "sasl_plain_username": login.user,
                "sasl_plain_password": login.password,
                "sasl_oauth_token_provider": _AioToken(login.token) if login.token else None,
            }
        producer = AIOKafkaProducer(**settings)
        try:
            await producer.start()
            await producer.send_and_wait(topic, value, partition=0)
        finally:
            await producer.stop()
        consumer = AIOKafkaConsumer(**settings, group_id=None)
        try:
            await consumer.start()
            place = AioTopicPartition(topic, 0)
            consumer.assign([place])
            consumer.seek(place, (await consumer.end_offsets([place]))[place] - 1)
            message = await consumer.getone()
        finally:
            await consumer.stop()
        read: bytes = message.value
        return read

    with _logged("aiokafka") as logged:
        try:
            return asyncio.run(asyncio.wait_for(round_trip(), TIMEOUT_S))
        except AioKafkaError as error:
            raise Refused(f"{type(error).__name__}: {error}; {logged.getvalue()}") from error


def _context(login: Login) -> ssl.SSLContext | None:
    if not login.protocol.endswith("SSL"):
        return None
    context = ssl.create_default_context(cafile=str(login.authority))
    if login.certificate is not None:
        context.load_cert_chain(login.certificate)
    return context


# -- kafka-python


class _PythonToken(PythonTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token


def kafka_python(login: Login, topic: str, value: bytes) -> bytes:
    settings: dict[str, Any] = {
        "bootstrap_servers": login.bootstrap,
        "security_protocol": login.protocol,
        "ssl_cafile": str(login.authority),
        "bootstrap_timeout_ms": 500,  # it retries until then after any error
    }
    if login.certificate is not None:
        settings |= {"ssl_certfile": str(login.certificate), "ssl_keyfile": str(login.certificate)}
    if login.mechanism:
        settings["sasl_mechanism"] = login.mechanism
    if login.token:
        settings["sasl_oauth_token_provider"] = _PythonToken(login.token)
    elif login.mechanism:
        settings |= {"sasl_plain_username": login.user, "sasl_plain_password": login.password}
    with _logged("kafka") as logged:
        try:
            return _python_round_trip(settings, topic, value)
        except PythonKafkaError as error:
            raise Refused(f"{type(error).__name__}: {error}; {logged.getvalue()}") from error


def _python_round_trip(settings: dict[str, Any], topic: str, value: bytes) -> bytes:
    producer = KafkaProducer(**settings, max_block_ms=int(TIMEOUT_S * 1000))
    try:
        producer.send(topic, value, partition=0).get(TIMEOUT_S)
    finally:
        producer.close(timeout=1)
    consumer = KafkaConsumer(**settings, group_id=None, consumer_timeout_ms=int(TIMEOUT_S * 1000))
    try:
        place = PythonTopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek(place, consumer.end_offsets([place])[place] - 1)
        read: bytes = next(consumer).value
    finally:
        consumer.close()
    return read


# -- kafkajs


class KafkaJs:
    """One node process for all logins, with a new client for each."""

    def __init__(self, process: NodeProcess) -> None:
        self._process = process

    def __call__(self, login: Login, topic: str, value: bytes) -> bytes:
        tls = login.protocol.endswith("SSL")
        try:
            read: str = self._process.ask(
                "roundTrip",
                topic=topic,
                value=value.decode(),
                broker=login.bootstrap,
                authority=login.authority.read_text() if tls else None,
                certificate=login.certificate.read_text() if login.certificate else None,
                mechanism=login.mechanism.lower(),
                user=login.user,
                password=login.password,
                token=login.token,
            )
        except RequestRefused as error:
            raise Refused(str(error)) from error
        return read.encode()
