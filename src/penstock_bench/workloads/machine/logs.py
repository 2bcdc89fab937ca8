"""(d), (f), (h): reading a log from its start, starting a broker, and starting one that was killed with a large log."""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import confluent_kafka

from penstock_bench import disk, frames
from penstock_bench.context import Bench
from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.load_generator import produce_load
from penstock_bench.process import ServerProcess
from penstock_bench.process_tree import memory_kib
from penstock_bench.raw_client import RawClient

_TOPIC = "logs"
_MESSAGE_BYTES = 1024
_BATCH_MESSAGES = 16


def fill(server: ServerProcess, topic: str, size_bytes: int) -> int:
    """Write that many bytes of batches to partition 0, and return how many records were acknowledged."""
    batch = frames.batch(_MESSAGE_BYTES, _BATCH_MESSAGES)
    frame = frames.produce_frame(topic, [0], batch)
    enough = size_bytes // len(batch)
    with produce_load(server.address, topic, [[frame]] * 4, window=16) as generator:
        load = generator.run(600, until=lambda acknowledged: acknowledged >= enough)
    return load.acknowledged * _BATCH_MESSAGES


# -- (d) reading a log from its start, against `cat` of its files

_FETCHES = {"raw fetches of 1 MiB": 1 << 20, "raw fetches of 8 MiB": 8 << 20}
_CONSUMER = "librdkafka consumer"
_CONSUME_MAX = 10_000
_CONSUME_S_MAX = 60.0


def catch_up(bench: Bench) -> None:
    with bench.broker({_TOPIC: 1}) as (server, data_dir):
        bench.log("filling the log to read")
        fill(server, _TOPIC, bench.scale.read_log_bytes)
        files = disk.segment_files(data_dir, _TOPIC)
        with RawClient(server.address, receive_bytes_max=16 << 20) as client:
            for temperature in ("warm", "cold"):
                for _ in bench.rounds(f"catch-up reads, {temperature}"):
                    _read(bench, server, client, files, temperature)
    for temperature in ("warm", "cold"):
        for reference in ("cat", "loopback"):
            for who in (*_FETCHES, _CONSUMER):
                bench.board.ratio(
                    f"{who}, {temperature} / {reference}",
                    f"{who}, {temperature}",
                    f"{reference}, {temperature}",
                )


def _read(bench: Bench, server: ServerProcess, client: RawClient, files: list[str], temperature: str) -> None:
    add = bench.board.add
    size, end = disk.total_bytes(files), client.end_offset(_TOPIC)

    def prepare() -> None:
        if temperature == "cold":
            disk.drop_page_cache(files)

    def measure(who: str, read: Callable[[], int]) -> None:
        prepare()
        with server.usage() as used:
            read_bytes = read()
        add(f"{who}, {temperature}", read_bytes / used.took_s / 1e6, "MB/s")
        add(f"{who}, {temperature}, broker CPU", used.cpu_s / read_bytes * 1e9, "s per GB")

    for reference, took_s in (("cat", disk.cat), ("loopback", disk.cat_over_loopback)):
        prepare()
        add(f"{reference}, {temperature}", size / took_s(files) / 1e6, "MB/s")
    for who, bytes_max in _FETCHES.items():
        measure(who, partial(client.read_to, _TOPIC, end, bytes_max=bytes_max))

    def consume() -> int:
        took_s = consume_all(server.bootstrap, _TOPIC, end)
        add(f"{_CONSUMER}, {temperature}, messages", end / took_s, "messages/s")
        return size

    measure(_CONSUMER, consume)


def consume_all(bootstrap: str, topic: str, end_offset: int) -> float:
    """Return the seconds that librdkafka takes to read partition 0 from its start to `end_offset`, without a group."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False, "log_level": 2}
    )
    try:
        began = time.perf_counter()
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        position = 0
        while position < end_offset:
            # `consume` waits until it has all requested messages: request no more than there are.
            messages = consumer.consume(min(_CONSUME_MAX, end_offset - position), _CONSUME_S_MAX)
            if not messages:
                raise UnexpectedAnswer(f"no message arrived after offset {position}")
            for message in (messages[0], messages[-1]):
                if message.error() is not None:
                    raise UnexpectedAnswer(str(message.error()))
            position = messages[-1].offset() + 1
        return time.perf_counter() - began
    finally:
        consumer.close()


# -- (f) from starting the process to the first acknowledged produce, and memory when idle

_IDLE_S = 1.0
_RSS = "idle memory (RSS)"


def start(bench: Bench) -> None:
    board = bench.board
    name = "start to first acknowledged produce"
    for number in range(bench.scale.starts):
        bench.log(f"start {number + 1} of {bench.scale.starts}")
        measure_starts(bench, name, add_more=True)
        _measure_bare_python(bench)
    board.ratio(f"{name} / bare Python", f"{name}, new directory", "bare `python -c pass`")
    board.ratio(f"{_RSS} / bare Python", _RSS, "bare Python process (RSS)")


def measure_starts(
    bench: Bench, name: str, mark: str = "", source: str | None = None, *, add_more: bool = False
) -> None:
    """Measure the start and the idle memory in a new directory, and the start in the same directory again."""
    board = bench.board
    frame = frames.produce_frame(_TOPIC, [0], frames.batch(100, 1))
    with bench.directory() as data_dir:
        for where in ("new directory", "existing directory"):
            with bench.start(data_dir, source=source) as server:
                is_new = where == "new directory"
                with RawClient(server.address) as client:
                    if is_new:
                        client.create_topics({_TOPIC: 1})
                    client.produce(frame)
                    board.add(f"{name}, {where}{mark}", time.perf_counter() - server.started_at, "s")
                if is_new:
                    time.sleep(_IDLE_S)
                    board.add(_RSS + mark, server.memory_mib(), "MiB")
                if add_more and is_new:
                    board.add("idle memory (PSS)", server.memory_mib("Pss"), "MiB")
                    board.add("open files when idle", server.open_files(), "")
                elif add_more:
                    board.add(f"process start to ready line, {where}", server.ready_s, "s")
                stopped_s = server.stop()
                if add_more:
                    board.add("clean stop", stopped_s, "s")


def _measure_bare_python(bench: Bench) -> None:
    began = time.perf_counter()
    # Our own interpreter with fixed arguments.
    subprocess.run([sys.executable, "-c", "pass"], check=True, timeout=60)
    bench.board.add("bare `python -c pass`", time.perf_counter() - began, "s")
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare:  # noqa: S603
        assert bare.stdin is not None
        assert bare.stdout is not None
        bare.stdout.readline()
        bench.board.add("bare Python process (RSS)", memory_kib(bare.pid) / 1024, "MiB")
        bare.stdin.write(b"\n")


# -- (h) how long a start takes when the broker was killed while a producer filled a large log

_ROOM_FACTOR = 1.3


def recover(bench: Bench) -> None:
    board, size = bench.board, bench.scale.recovery_log_bytes
    bench.require_room(int(size * _ROOM_FACTOR), f"a log of {size / 1e9:g} GB")
    with bench.directory() as data_dir:
        bench.log(f"filling a log of {size / 1e9:g} GB")
        with bench.start(data_dir) as server:
            with RawClient(server.address) as client:
                client.create_topics({_TOPIC: 1})
            began = time.perf_counter()
            acknowledged = fill(server, _TOPIC, size)
            board.add("filled at", size / (time.perf_counter() - began) / 1e6, "MB/s")
            server.kill()
        bench.log("starting after SIGKILL")
        with bench.start(data_dir) as server:
            board.add("start after SIGKILL", server.ready_s, "s")
            board.add("processor time of that start", server.cpu_s(), "s")
            with RawClient(server.address) as client:
                end = client.end_offset(_TOPIC)
            board.add("acknowledged but missing", max(0, acknowledged - end), "records")
            server.stop()
        with bench.start(data_dir) as server:
            board.add("start after a clean stop", server.ready_s, "s")
            server.stop()
        board.add("cat of the files", disk.cat(disk.segment_files(data_dir, _TOPIC)), "s")
    board.ratio("start after SIGKILL / after a clean stop", "start after SIGKILL", "start after a clean stop")
    board.ratio("start after SIGKILL / cat of the files", "start after SIGKILL", "cat of the files")
