"""Requests that the active controller answers: forwarded in an envelope by one broker, opened by another (KIP-590)."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.cluster.controller.decision import NotController, Refusal
from penstock.cluster.controller_access import ControllerIsLocal
from penstock.cluster.raft import messages as raft
from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.headers import decode_request_header, decode_response_header, encode_response_header
from penstock.protocol.messages import create_topics, describe_quorum, produce
from penstock.protocol.messages import incremental_alter_configs as alter_configs
from penstock.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.runtime.completion import Reply
from penstock.security.principal import Principal, encode_principal
from penstock.server.connections import CloseConnection, Peer
from penstock.server.dispatch.dispatcher import Dispatcher
from tests.server.live import Client, code, running_broker, unique_name
from tests.server.raw import frame_of

CREATE_VERSION = 7
BROKER, BROKER_LOGGER = 4, 8


def create_request(name: str) -> create_topics.CreateTopicsRequest:
    topic = create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return create_topics.CreateTopicsRequest(topics=[topic])


def request_of(message: Any, version: int | None = None, correlation_id: int = 7) -> bytes:
    """A request with its header, without the size before it."""
    return frame_of(message, version, correlation_id=correlation_id)[4:]


async def open_envelope(client: Client, request: bytes) -> EnvelopeResponse:
    envelope = EnvelopeRequest(
        request_data=request,
        request_principal=encode_principal(Principal("alice")),
        client_host_address=b"\x7f\x00\x00\x01",
    )
    response: EnvelopeResponse = await client.send(envelope)
    return response


async def test_an_envelope_must_name_the_principal_of_its_request(other_broker: Client) -> None:
    request = request_of(create_request(unique_name()), CREATE_VERSION)
    opened: EnvelopeResponse = await other_broker.send(
        EnvelopeRequest(request_data=request, request_principal=b"\x00")
    )
    assert code(opened.error_code) == "PRINCIPAL_DESERIALIZATION_FAILURE"


async def test_an_envelope_returns_the_response_that_the_client_would_get(other_broker: Client) -> None:
    opened = await open_envelope(
        other_broker, request_of(create_request(unique_name()), CREATE_VERSION, 4321)
    )
    assert opened.error_code == 0
    data = bytes(opened.response_data or b"")
    correlation_id, position = decode_response_header(data, create_topics.API_KEY, CREATE_VERSION)
    answer: Any = apis.codec(create_topics.API_KEY).decode_response(data, CREATE_VERSION, position)
    assert (correlation_id, answer.topics[0].error_code) == (4321, 0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        request_of(create_request("t"), CREATE_VERSION)[:-3],
        b"\x7f\xff" + request_of(create_request("t"), CREATE_VERSION)[2:],
        request_of(produce.ProduceRequest(acks=1), 12),
        request_of(EnvelopeRequest(request_data=request_of(create_request("t"), CREATE_VERSION))),
    ],
    ids=["nothing", "cut short", "unknown API", "not for controllers", "an envelope in it"],
)
async def test_a_malformed_request_in_an_envelope_does_not_close_the_brokers_connection(
    other_broker: Client, content: bytes
) -> None:
    opened = await open_envelope(other_broker, content)
    assert (code(opened.error_code), opened.response_data) == ("INVALID_REQUEST", None)
    again = await open_envelope(other_broker, request_of(create_request(unique_name()), CREATE_VERSION))
    assert again.error_code == 0


# --- the other end: a broker whose controller is elsewhere


@contextlib.asynccontextmanager
async def led_elsewhere(directory: Path, forward: Callable[[bytes], Awaitable[bytes]]) -> AsyncIterator[Any]:
    """The services of a broker that is not the controller and passes requests for it to `forward`."""

    async def put(frame: bytes, _principal: bytes, _host: bytes, _timeout_ms: float) -> bytes:
        return await forward(frame)

    async with running_broker(directory) as live:
        services: Any = live.services
        with pytest.MonkeyPatch.context() as patch:
            known = services.controller
            elsewhere = SimpleNamespace(is_active=False, image=known.image, config=known.config)
            patch.setattr(services, "controller", elsewhere)
            patch.setattr(services, "quorum", SimpleNamespace(is_active=False))
            patch.setattr(services, "access", SimpleNamespace(forward=put, forwarded_versions={}))
            yield services


def ask(services: Any, request: bytes, *, is_broker: bool = False) -> Any:
    return Dispatcher(services).dispatch(bytearray(request), peer(is_broker=is_broker))


def peer(*, is_broker: bool = False) -> Peer:
    found = Peer("PLAINTEXT", "127.0.0.1", 40_000)
    found.has_proved = is_broker
    return found


async def answer_of(found: Any) -> bytes:
    return b"".join(await found)


ALTER_VERSION = 1


def change_request(
    *resources: tuple[int, str], name: str = "root", value: str = "FATAL"
) -> alter_configs.IncrementalAlterConfigsRequest:
    setting = alter_configs.AlterableConfig(name=name, config_operation=0, value=value)
    return alter_configs.IncrementalAlterConfigsRequest(
        resources=[
            alter_configs.AlterConfigsResource(resource_type=kind, resource_name=whose, configs=[setting])
            for kind, whose in resources
        ],
        validate_only=True,
    )


class FarController:
    """Records its requests, and accepts them."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    async def forward(self, frame: bytes) -> bytes:
        _, position = decode_request_header(frame)
        codec = apis.codec(alter_configs.API_KEY)
        request: Any = codec.decode_request(memoryview(frame), ALTER_VERSION, position)
        responses = [
            alter_configs.AlterConfigsResourceResponse(
                error_code=0,
                error_message=None,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
        self.asked += [(each.resource_type, each.resource_name) for each in request.resources]
        out = bytearray()
        encode_response_header(out, alter_configs.API_KEY, ALTER_VERSION, 0)
        response = alter_configs.IncrementalAlterConfigsResponse(responses=responses)
        codec.encode_response_into(out, response, ALTER_VERSION)
        return bytes(out)


async def altered(
    services: Any, request: alter_configs.IncrementalAlterConfigsRequest
) -> list[tuple[int, str]]:
    """Each resource's type with what was answered."""
    data = (await answer_of(ask(services, request_of(request, ALTER_VERSION))))[4:]
    _, position = decode_response_header(data, alter_configs.API_KEY, ALTER_VERSION)
    answer: Any = apis.codec(alter_configs.API_KEY).decode_response(data, ALTER_VERSION, position)
    return [(each.resource_type, code(each.error_code)) for each in answer.responses]


async def test_log_levels_are_changed_locally_and_settings_by_the_controller(
    tmp_path: Path,
) -> None:
    far = FarController()
    async with led_elsewhere(tmp_path, far.forward) as services:
        assert await altered(services, change_request((BROKER_LOGGER, "1"))) == [(BROKER_LOGGER, "NONE")]
        assert far.asked == []
        both = change_request((BROKER_LOGGER, "1"), (BROKER, "1"))
        assert await altered(services, both) == [(BROKER_LOGGER, "NONE"), (BROKER, "NONE")]
        assert far.asked == [(BROKER, "1")]


async def test_a_brokers_settings_are_validated_by_that_broker_before_they_are_forwarded(
    tmp_path: Path,
) -> None:
    far = FarController()
    async with led_elsewhere(tmp_path, far.forward) as services:
        others = change_request((BROKER, "2"), (BROKER, "x"), (BROKER, ""))
        refused = "INVALID_REQUEST"
        assert await altered(services, others) == [(BROKER, refused), (BROKER, refused), (BROKER, "NONE")]
        bad = change_request((BROKER, "1"), name="listeners", value="nonsense")
        assert await altered(services, bad) == [(BROKER, refused)]
    assert far.asked == [(BROKER, "")]


async def test_a_request_and_its_response_are_forwarded_unchanged(
    tmp_path: Path,
) -> None:
    seen: list[bytes] = []

    async def forward(frame: bytes) -> bytes:
        seen.append(frame)
        return b"the answer"

    request = request_of(create_request("t"), CREATE_VERSION)
    async with led_elsewhere(tmp_path, forward) as services:
        found = ask(services, request)
        assert isinstance(found, Reply)
        assert found.is_exclusive, "what comes behind waits for it"
        assert await answer_of(found) == b"\0\0\0\x0athe answer"
    assert seen == [request]


async def test_a_request_waiting_for_a_controller_is_answered_here_if_this_node_becomes_it(
    tmp_path: Path,
) -> None:
    async def forward(_frame: bytes) -> bytes:
        services.controller.is_active = True
        raise ControllerIsLocal

    async def describe(_request: object) -> raft.DescribeQuorumResponse:
        return raft.DescribeQuorumResponse(epoch=5, leader_id=1)

    topic = describe_quorum.RequestTopicData(
        topic_name="__cluster_metadata", partitions=[describe_quorum.RequestPartitionData(partition_index=0)]
    )
    request = request_of(describe_quorum.DescribeQuorumRequest(topics=[topic]), 2)
    async with led_elsewhere(tmp_path, forward) as services:
        services.quorum.ask = describe
        answer = await answer_of(ask(services, request))
    assert int.from_bytes(answer[:4]) == len(answer) - 4
    _, position = decode_response_header(answer[4:], 55, 2)
    response: Any = apis.codec(55).decode_response(answer[4:], 2, position)
    assert response.topics[0].partitions[0].leader_epoch == 5


async def test_a_request_refused_by_a_former_controller_is_forwarded_to_the_new_one(
    tmp_path: Path,
) -> None:
    """The client does not get NOT_CONTROLLER: any broker accepts its request."""
    seen: list[bytes] = []

    async def forward(frame: bytes) -> bytes:
        seen.append(frame)
        return b"the answer"

    async def lose(_topics: object, **_: object) -> None:
        raise NotController("another leads by now")

    request = request_of(create_request("t"), CREATE_VERSION)
    async with led_elsewhere(tmp_path, forward) as services:
        services.controller.is_active = True
        services.controller.create_topics = lose
        answer = await answer_of(ask(services, request))
    assert answer == b"\0\0\0\x0athe answer"
    assert seen == [request]


@pytest.mark.parametrize(
    "error", [ConnectionResetError(), ProtocolError("?"), Refusal(ErrorCode.NOT_CONTROLLER, "not here")]
)
async def test_a_client_whose_request_no_controller_accepts_is_disconnected(
    tmp_path: Path, error: Exception
) -> None:
    async def forward(_frame: bytes) -> bytes:
        raise error

    async with led_elsewhere(tmp_path, forward) as services:
        found = ask(services, request_of(create_request("t"), CREATE_VERSION))
        with pytest.raises(CloseConnection, match="no controller could be asked"):
            await answer_of(found)


async def test_an_envelope_is_refused_by_a_broker_that_is_not_the_controller(tmp_path: Path) -> None:
    async def forward(_frame: bytes) -> bytes:
        raise AssertionError

    envelope = EnvelopeRequest(request_data=request_of(create_request("t"), CREATE_VERSION))
    async with led_elsewhere(tmp_path, forward) as services:
        answer = await answer_of(ask(services, request_of(envelope), is_broker=True))
    _, position = decode_response_header(answer[4:], 58, 0)
    response: Any = apis.codec(58).decode_response(answer[4:], 0, position)
    assert code(response.error_code) == "NOT_CONTROLLER"
