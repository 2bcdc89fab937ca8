"""Each client goes through a door, sends a value and reads it back, or says why it cannot."""

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
from tests.interop.security.doors import Door, Refused

TIMEOUT_S = 15.0

PassThrough = Callable[[Door, str, bytes], bytes]
"""Sends a value to partition 0 of a topic and gives what it reads from there last. Raises `Refused`."""


# -- confluent-kafka


def confluent(door: Door, topic: str, value: bytes) -> bytes:
    errors: list[str] = []

    def on_error(error: KafkaError) -> None:
        errors.append(error.str())

    def on_delivery(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            errors.append(error.str())

    config: dict[str, Any] = {
        "bootstrap.servers": door.bootstrap,
        "security.protocol": door.protocol,
        "ssl.ca.location": str(door.authority),
        "log_level": 0,
        "error_cb": on_error,
    }
    if door.certificate is not None:
        config |= {
            "ssl.certificate.location": str(door.certificate),
            "ssl.key.location": str(door.certificate),
        }
    if door.mechanism == "OAUTHBEARER":
        config |= {"sasl.mechanism": door.mechanism, "oauth_cb": lambda _: (door.token, time.time() + 600)}
    elif door.mechanism:
        config |= {
            "sasl.mechanism": door.mechanism,
            "sasl.username": door.user,
            "sasl.password": door.password,
        }
    producer = Producer({**config, "message.timeout.ms": int(TIMEOUT_S * 1000)})
    producer.produce(topic, value, partition=0, on_delivery=on_delivery)
    deadline = time.monotonic() + TIMEOUT_S
    while producer.flush(0.05) and not errors and time.monotonic() < deadline:
        pass
    if errors or len(producer):
        producer.purge()
        raise Refused(errors[0] if errors else "nothing was heard")
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
    """What a library tells its log, where some say why they could not connect."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    logger = logging.getLogger(name)
    level = logger.level  # other tests let it say nothing
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


def aiokafka(door: Door, topic: str, value: bytes) -> bytes:
    async def pass_through() -> bytes:
        settings: dict[str, Any] = {
            "bootstrap_servers": door.bootstrap,
            "security_protocol": door.protocol,
            "ssl_context": _context(door),
        }
        if door.mechanism:
            settings |= {
                "sasl_mechanism": door.mechanism,
                "sasl_plain_username": door.user,
                "sasl_plain_password": door.password,
                "sasl_oauth_token_provider": _AioToken(door.token) if door.token else None,
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
            return asyncio.run(asyncio.wait_for(pass_through(), TIMEOUT_S))
        except AioKafkaError as error:
            raise Refused(f"{type(error).__name__}: {error}; {logged.getvalue()}") from error


def _context(door: Door) -> ssl.SSLContext | None:
    if not door.protocol.endswith("SSL"):
        return None
    context = ssl.create_default_context(cafile=str(door.authority))
    if door.certificate is not None:
        context.load_cert_chain(door.certificate)
    return context


# -- kafka-python


class _PythonToken(PythonTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token


def kafka_python(door: Door, topic: str, value: bytes) -> bytes:
    settings: dict[str, Any] = {
        "bootstrap_servers": door.bootstrap,
        "security_protocol": door.protocol,
        "ssl_cafile": str(door.authority),
        "bootstrap_timeout_ms": 500,  # it tries again until then, whatever it was told
    }
    if door.certificate is not None:
        settings |= {"ssl_certfile": str(door.certificate), "ssl_keyfile": str(door.certificate)}
    if door.mechanism:
        settings["sasl_mechanism"] = door.mechanism
    if door.token:
        settings["sasl_oauth_token_provider"] = _PythonToken(door.token)
    elif door.mechanism:
        settings |= {"sasl_plain_username": door.user, "sasl_plain_password": door.password}
    with _logged("kafka") as logged:
        try:
            return _python_pass_through(settings, topic, value)
        except PythonKafkaError as error:
            raise Refused(f"{type(error).__name__}: {error}; {logged.getvalue()}") from error


def _python_pass_through(settings: dict[str, Any], topic: str, value: bytes) -> bytes:
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
    """One node process for all doors; its client is made anew for each."""

    def __init__(self, process: NodeProcess) -> None:
        self._process = process

    def __call__(self, door: Door, topic: str, value: bytes) -> bytes:
        tls = door.protocol.endswith("SSL")
        try:
            read: str = self._process.ask(
                "passThrough",
                topic=topic,
                value=value.decode(),
                broker=door.bootstrap,
                authority=door.authority.read_text() if tls else None,
                certificate=door.certificate.read_text() if door.certificate else None,
                mechanism=door.mechanism.lower(),
                user=door.user,
                password=door.password,
                token=door.token,
            )
        except RequestRefused as error:
            raise Refused(str(error)) from error
        return read.encode()
