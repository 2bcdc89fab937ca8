import contextlib
import socket
import struct
import threading

import pytest

from penstock_bench import frames
from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.load_generator import produce_load
from penstock_bench.process import start_null_server

SIZE_BYTES = frames.AnswerCounter("orders").size_bytes
FRAME = frames.produce_frame("orders", [0], frames.batch(100, 1))


def good_answer() -> bytes:
    body = bytes(SIZE_BYTES - 4)
    return struct.pack(">i", len(body)) + body


class Broker:
    """Takes whole frames on one connection and answers the number `fail_at` with an error code."""

    def __init__(self, fail_at: int | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self.frames: list[bytes] = []
        self._fail_at = fail_at
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, contextlib.suppress(ConnectionError):  # the generator leaves with requests in flight
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            while head := stream.read(4):
                self.frames.append(head + stream.read(struct.unpack(">i", head)[0]))
                answer = bytearray(good_answer())
                if len(self.frames) == self._fail_at:
                    answer[4 + 4 + 1 + 1 + 1 + len("orders") + 1 + 4 + 1] = 9
                connection.sendall(answer)

    def join(self) -> None:
        self._thread.join(10)
        self._listener.close()


@pytest.mark.parametrize("window", [1, 5])
def test_the_generator_repeats_the_frame_and_counts_every_response(window: int) -> None:
    broker = Broker()
    with produce_load(broker.address, "orders", [[FRAME]], window) as generator:
        load = generator.run(30, until=lambda acknowledged: acknowledged >= 40)
    broker.join()
    assert load.acknowledged >= 40
    assert set(broker.frames) <= {FRAME, *(FRAME[:n] for n in range(len(FRAME)))}
    assert broker.frames.count(FRAME) >= load.acknowledged
    assert len(load.latencies_s) == (load.acknowledged if window == 1 else 0)


def test_several_frames_of_equal_length_are_sent_in_turn() -> None:
    turn = [frames.produce_frame("orders", [partition], frames.batch(100, 1)) for partition in range(3)]
    broker = Broker()
    with produce_load(broker.address, "orders", [turn], 2) as generator:
        load = generator.run(30, until=lambda acknowledged: acknowledged >= 40)
    broker.join()
    assert load.acknowledged >= 40
    whole = broker.frames[: load.acknowledged]
    assert whole == [turn[number % 3] for number in range(len(whole))]


def test_an_error_code_in_a_response_ends_the_run() -> None:
    broker = Broker(fail_at=7)
    with (
        produce_load(broker.address, "orders", [[FRAME]], 3) as generator,
        pytest.raises(UnexpectedAnswer, match="refused"),
    ):
        generator.run(30)
    broker.join()


def test_frames_larger_than_a_socket_takes_at_once_go_through_the_null_server(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    large = frames.produce_frame("orders", [0], frames.batch(1024, 512))
    log_path = tmp_path_factory.mktemp("null") / "log"
    with (
        start_null_server(SIZE_BYTES, str(log_path)) as server,
        produce_load(server.address, "orders", [[large]] * 2, 8) as generator,
    ):
        load = generator.run(30, until=lambda acknowledged: acknowledged >= 100)
        assert server.cpu_s() >= 0
        assert server.memory_mib() > 1
    assert load.acknowledged >= 100


def test_with_one_request_in_flight_all_are_answered_at_the_end_and_connections_take_turns(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    log_path = tmp_path_factory.mktemp("null") / "log"
    with (
        start_null_server(SIZE_BYTES, str(log_path)) as server,
        produce_load(server.address, "orders", [[FRAME]] * 3) as generator,
    ):
        for load in (generator.run(0.05), generator.run_in_turn(0.05), generator.run(0.05)):
            assert load.acknowledged == len(load.latencies_s) > 0
