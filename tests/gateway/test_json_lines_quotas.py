"""Quotas apply to the JSON-lines dialect: a client that exceeds them is throttled."""

import asyncio
import json
from pathlib import Path

from penstock.config.broker import BrokerConfig
from penstock.gateway.dialects import dialects
from penstock.runtime.clock import ManualClock
from penstock.server.broker import Broker
from penstock.server.ports import real_ports
from penstock.server.quotas import Quotas

QUOTAS: Quotas = {(("client-id", None),): {"producer_byte_rate": 100.0, "consumer_byte_rate": 100.0}}


def test_a_client_over_its_quota_is_throttled_and_then_gets_all_answers(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        config = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path), "node.id": "1"}
        broker = Broker(BrokerConfig(config), real_ports(clock=clock), dialects=dialects)
        await broker.start()
        try:
            broker.services.quotas.follow(QUOTAS)
            endpoint = broker.endpoints[0]
            reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)

            def ask(**request: object) -> None:
                writer.write(json.dumps({"topic": "orders", **request}).encode() + b"\n")

            async def line() -> bytes:
                """Advance the clock until there is an answer; `waited` records how much."""
                answer = asyncio.ensure_future(reader.readline())
                while not (await asyncio.wait([answer], timeout=0.01))[0]:
                    clock.advance(1000)
                    waits.append(1000)
                return answer.result()

            waits: list[int] = []
            ask(type="produce", message="x" * 9000)
            assert await reader.readline() == b"ack offset 0\n"
            ask(type="produce", message="y")
            assert await line() == b"ack offset 1\n"
            assert sum(waits) > 10_000
            for _ in range(2):
                ask(type="fetch", offset=0, format="json", max_messages=1)
                assert b'"offset":0' in await line()
                assert json.loads(await line()) == {"next_offset": 1, "count": 1}
            writer.close()
        finally:
            await broker.stop()

    asyncio.run(scenario())
