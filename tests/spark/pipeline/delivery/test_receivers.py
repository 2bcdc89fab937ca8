"""Each receiver delivers one message, or says why it could not."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from penstock.client.settings import ClientSettings
from penstock.spark.pipeline.delivery.outbox import Message
from penstock.spark.pipeline.delivery.receivers import TopicReceiver, to_command, to_file, to_url
from penstock.spark.pipeline.history.read import read_runs
from penstock.spark.pipeline.history.record import TOPIC_CONFIGS, HistoryRecorder
from penstock.spark.pipeline.progress.status import DONE, RUNNING, QueryStatus, RunStatus
from tests.spark.source.topics import cluster_of
from tests.support.broker import BrokerProcess

MESSAGE = Message(key="k", body={"query": "shop.table", "reason": "disk full"})


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[Any]]]:
    posted: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append((self.headers["Authorization"], self.headers["Content-Type"], json.loads(body)))
            self.send_response(500 if self.path == "/broken" else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", posted
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_gets_the_json_with_the_headers_of_the_file(webhook: tuple[str, list[Any]]) -> None:
    url, posted = webhook
    to_url(url, {"Authorization": "Bearer t"}, 10)(MESSAGE)
    assert posted == [("Bearer t", "application/json", MESSAGE.body)]
    with pytest.raises(OSError, match="500"):
        to_url(f"{url}/broken", {}, 10)(MESSAGE)


def test_a_command_gets_the_json_on_its_input(tmp_path: Path) -> None:
    to_command("tee got.json", str(tmp_path), 30)(MESSAGE)
    assert json.loads((tmp_path / "got.json").read_bytes()) == MESSAGE.body
    with pytest.raises(RuntimeError, match="status 3: no pager"):
        to_command("sh -c 'echo no pager; exit 3'", str(tmp_path), 30)(MESSAGE)


def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"did not end within 0\.2 s"):
        to_command("sh -c 'sleep 600 & wait'", str(tmp_path), 0.2)(MESSAGE)


def test_a_file_gets_a_line_for_each_message(tmp_path: Path) -> None:
    deliver = to_file(str(tmp_path / "new" / "events.jsonl"))
    deliver(MESSAGE)
    deliver(MESSAGE)
    lines = (tmp_path / "new" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [MESSAGE.body, MESSAGE.body]


def test_the_history_of_runs_is_written_to_a_new_topic_and_read_back(shared_broker: BrokerProcess) -> None:
    topic = f"shop-{id(MESSAGE)}.runs"
    settings = ClientSettings.from_properties({"bootstrap.servers": shared_broker.bootstrap})
    cluster = cluster_of(shared_broker.bootstrap)
    assert read_runs(cluster, topic, "shop") is None
    record = HistoryRecorder(TopicReceiver(settings, topic, TOPIC_CONFIGS, 30))
    for run_id, started_ms in (("first", 10), ("second", 20)):
        for query, ended_ms in ((RUNNING, None), (DONE, started_ms + 5)):
            record(
                RunStatus(
                    pipeline="shop",
                    file="shop.yaml",
                    pid=1,
                    run_id=run_id,
                    started_ms=started_ms,
                    updated_ms=started_ms + 1,
                    ended_ms=ended_ms,
                    exit_code=None if ended_ms is None else 0,
                    queries=(QueryStatus(name="shop.table", state=query),),
                )
            )
    runs = read_runs(cluster, topic, "shop")
    assert runs is not None
    assert [(each.run_id, each.ended_ms, each.queries[0].state) for each in runs] == [
        ("second", 25, DONE),
        ("first", 15, DONE),
    ]
    assert read_runs(cluster, topic, "another") == []
    cluster.close()
