import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.errors import CommandError
from penstock.cli.produce import LineError, LineParser, parse_header
from tests.cli.conftest import Penstock, run_command
from tests.support.broker import BrokerProcess


def records(penstock: Penstock, topic: str, *options: str) -> list[dict[str, Any]]:
    done = penstock("consume", topic, "--no-follow", "--format", "json", *options)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_line_becomes_a_record_and_acknowledgements_are_counted(penstock: Penstock, topic: str) -> None:
    done = penstock("produce", topic, "--partition", "0", stdin="one\n\nthree")
    assert done.stdout == f"3 record(s) acknowledged in topic {topic}\n"
    assert [each["value"] for each in records(penstock, topic)] == ["one", "", "three"]


def test_keys_headers_and_nulls_arrive(penstock: Penstock, topic: str) -> None:
    penstock(
        "produce",
        topic,
        "--key-separator",
        ":",
        "--null-value",
        "-",
        "--header",
        "a=1",
        "--header",
        "b",
        stdin="k:v\ngone:-\n",
    )
    found = {each["key"]: each for each in records(penstock, topic)}
    assert found["k"]["value"] == "v"
    assert found["k"]["headers"] == [{"name": "a", "value": "1"}, {"name": "b", "value": None}]
    assert found["gone"]["value"] is None


def test_bytes_that_are_no_text_arrive_unchanged(penstock: Penstock, topic: str) -> None:
    penstock("produce", topic, stdin=b"\x00\xff\xfe\n")
    assert [each["valueBase64"] for each in records(penstock, topic)] == ["AP/+"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_file_is_sent_line_by_line_with_the_codec_that_was_asked_for(
    penstock: Penstock, topic: str, codec: str, tmp_path: Path, shared_broker: BrokerProcess
) -> None:
    path = tmp_path / "lines.txt"
    # Long enough to shrink even when sent alone: librdkafka sends what does not shrink as it is.
    path.write_text("".join(f"line {number} {'x' * 100}\n" for number in range(5000)))
    done = penstock("produce", topic, "--file", str(path), "--compression", codec, "--key", "same")
    assert done.stdout == f"5000 record(s) acknowledged in topic {topic}\n"
    assert penstock("consume", topic, "--no-follow", "--format", "raw").stdout == path.read_text()
    dump = run_command("log", "dump", str(shared_broker.data_dir), "--topic", topic, "--json")
    assert {json.loads(line)["codec"] for line in dump.stdout.splitlines()} == {codec}


def test_one_key_always_goes_to_one_partition(penstock: Penstock, topic: str) -> None:
    for _ in range(2):
        penstock("produce", topic, "--key-separator", ":", stdin="".join(f"k{n}:v\n" for n in range(20)))
    found = records(penstock, topic)
    assert {each["partition"] for each in found} == {0, 1}
    assert len({(each["key"], each["partition"]) for each in found}) == 20


def test_a_misspelt_topic_is_not_created(penstock: Penstock, topic: str) -> None:
    failed = penstock("produce", topic + "x", stdin="a\n", fails=True)
    assert failed.stderr == f"penstock: there is no topic {topic}x: did you mean {topic}?\n"
    assert topic + "x" not in penstock("topic", "list").stdout


def test_a_line_without_separator_stops_with_its_number_and_keeps_the_lines_before(
    penstock: Penstock, topic: str
) -> None:
    failed = penstock("produce", topic, "--key-separator", ":", stdin="a:1\nb\nc:3\n", fails=True)
    assert failed.stdout == f"1 record(s) acknowledged in topic {topic}\n"
    assert "standard input, line 2: there is no key separator ':'" in failed.stderr


def test_a_record_that_the_broker_refuses_makes_the_command_fail(penstock: Penstock, topic: str) -> None:
    penstock("config", "set", "topic", topic, "max.message.bytes=1000")
    failed = penstock("produce", topic, stdin="x" * 5000 + "\n", fails=True)
    assert "1 record(s) were not acknowledged: " in failed.stderr
    assert "max.message.bytes limits the size of a record" in failed.stderr


def test_a_compacted_topic_wants_keys_and_the_command_says_so(penstock: Penstock, topic: str) -> None:
    penstock("config", "set", "topic", topic, "cleanup.policy=compact")
    failed = penstock("produce", topic, stdin="no key\n", fails=True)
    assert "use --key or --key-separator" in failed.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--partition", "7"], "has no partition 7: it has 0 to 1"),
        (["--file", "/no/such/file"], "cannot read /no/such/file: No such file or directory"),
        (["--key", "a", "--key-separator", ":"], "exclude each other"),
    ],
)
def test_wrong_options_are_one_line(penstock: Penstock, topic: str, options: list[str], words: str) -> None:
    assert words in penstock("produce", topic, *options, fails=True).stderr


def test_without_a_topic_and_a_terminal_it_says_how_to_name_one(penstock: Penstock) -> None:
    failed = penstock("produce", stdin="a\n", fails=True)
    assert failed.stderr == "penstock: say which topic: `penstock produce TOPIC < lines`\n"


def test_without_acknowledgements_records_only_count_as_sent(penstock: Penstock, topic: str) -> None:
    done = penstock("produce", topic, "--acks", "0", stdin="one\ntwo\n")
    assert done.stdout == f"2 record(s) sent to topic {topic}; with --acks 0 no broker acknowledges them\n"


@pytest.mark.parametrize(
    ("line", "value"),
    [(b"a\n", b"a"), (b"a\r\n", b"a"), (b"a", b"a"), (b"a\r", b"a\r"), (b"\n", b""), (b"a\n\n", b"a\n")],
)
def test_the_end_of_a_line_is_not_part_of_the_value(line: bytes, value: bytes) -> None:
    assert LineParser().parse(line) == (None, value)


def test_the_first_separator_ends_the_key() -> None:
    assert LineParser(key_separator=b": ").parse(b"user: a: b\n") == (b"user", b"a: b")


def test_a_line_without_the_separator_is_no_record() -> None:
    with pytest.raises(LineError, match="no key separator ':'"):
        LineParser(key_separator=b":").parse(b"user\n")


def test_a_fixed_key_goes_with_every_line() -> None:
    assert LineParser(key=b"k").parse(b"v\n") == (b"k", b"v")


def test_the_null_token_is_a_tombstone_and_an_empty_value_is_not() -> None:
    maker = LineParser(key_separator=b":", null_value=b"NULL")
    assert maker.parse(b"k:NULL\n") == (b"k", None)
    assert maker.parse(b"k:\n") == (b"k", b"")
    assert maker.parse(b"NULL:v\n") == (b"NULL", b"v")


def test_a_header_may_have_an_empty_value_or_none() -> None:
    assert parse_header("a=b=c") == ("a", b"b=c")
    assert parse_header("a=") == ("a", b"")
    assert parse_header("a") == ("a", None)
    with pytest.raises(CommandError, match="has no name"):
        parse_header("=b")
