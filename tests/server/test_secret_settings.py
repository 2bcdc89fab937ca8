"""Secrets among settings that are changed while a broker runs: they are in no answer and in no line of the log."""

import asyncio
import logging
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.config.property import Kind
from penstock.config.table import BROKER
from penstock.protocol.messages import alter_configs as whole
from penstock.protocol.messages import incremental_alter_configs as incremental
from penstock.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from penstock.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.server.live import running_broker
from tests.server.raw import connected, frame_of

SECRET = "hunter2-7f31"
TYPE, NAME = 4, "1"
PASSWORDS = [name for name, prop in BROKER.items() if prop.kind is Kind.PASSWORD]
NAMES = [
    *PASSWORDS,
    *(f"listener.name.plaintext.{name}" for name in PASSWORDS),
    "listener.name.plaintext.plain.sasl.jaas.config",
    "listener.name.elsewhere.scram-sha-256.sasl.jaas.config",
    "listener.name.a.b.c.sasl.jaas.config",
    "a.plugins.password",
    "penstock.scram.decoy.secrets",
]


def requests() -> Iterator[Any]:
    """Each setting by itself, for one broker and for all, good, bad and malformed; then everything is described."""
    for broker in (NAME, ""):
        for name in NAMES:
            for operation in range(5):
                config = incremental.AlterableConfig(name=name, config_operation=operation, value=SECRET)
                resource = incremental.AlterConfigsResource(
                    resource_type=TYPE, resource_name=broker, configs=[config]
                )
                yield incremental.IncrementalAlterConfigsRequest(resources=[resource])
            replaced = whole.AlterConfigsResource(
                resource_type=TYPE,
                resource_name=broker,
                configs=[
                    whole.AlterableConfig(name=name, value=SECRET),
                    whole.AlterableConfig(name="max.connections", value="-5"),
                ],
            )
            yield whole.AlterConfigsRequest(resources=[replaced])
        for name in NAMES:
            config = incremental.AlterableConfig(name=name, config_operation=0, value=SECRET)
            resource = incremental.AlterConfigsResource(
                resource_type=TYPE, resource_name=broker, configs=[config]
            )
            yield incremental.IncrementalAlterConfigsRequest(resources=[resource])
        described = DescribeConfigsResource(resource_type=TYPE, resource_name=broker, configuration_keys=None)
        yield DescribeConfigsRequest(resources=[described], include_synonyms=True, include_documentation=True)
    yield ListConfigResourcesRequest()


async def test_a_secret_appears_in_no_response_and_no_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answered = 0
    async with running_broker(tmp_path) as live:
        reader, writer = await connected(live)
        for request in requests():
            writer.write(frame_of(request))
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            assert SECRET.encode() not in await reader.readexactly(size), request
            answered += 1
        stored = live.services.controller.image.broker_settings(1)
        assert SECRET in stored.values()
        writer.close()
    async with asyncio.timeout(30), running_broker(tmp_path):
        pass  # what is stored is read again
    assert answered > len(NAMES)
    assert "IncrementalAlterConfigs" in caplog.text, "requests are logged"
    assert SECRET not in caplog.text
