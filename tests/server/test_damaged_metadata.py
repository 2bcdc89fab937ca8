"""A broker with a damaged metadata log or `quorum-state` does not start: it names file, place and remedy."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.protocol.records.batch import iter_batches
from penstock.server.broker import StartFailed
from tests.server.live import running_broker, within

SEGMENT = "00000000000000000000.log"
REMEDY = "restore the data directory from a backup"
Damage = Callable[[Path], None]


def flip(name: str, place: float) -> Damage:
    """Flip a bit at a byte, or at a part of the whole if it is below 1."""

    def damage(directory: Path) -> None:
        path = directory / name
        content = bytearray(path.read_bytes())
        used = len(bytes(content).rstrip(b"\0"))
        content[int(place) if place >= 1 else int(place * used)] ^= 0x40
        path.write_bytes(content)

    return damage


def cut(name: str, size_bytes: int) -> Damage:
    def damage(directory: Path) -> None:
        path = directory / name
        path.write_bytes(path.read_bytes()[:-size_bytes])

    return damage


def cut_batches(count: int) -> Damage:
    """Cut the metadata log between two batches, so that nothing in it is damaged."""

    def damage(directory: Path) -> None:
        content = (directory / SEGMENT).read_bytes().rstrip(b"\0")
        batches = [position for position, _ in iter_batches(content)]
        (directory / SEGMENT).write_bytes(content[: batches[-count]])

    return damage


def replace(name: str, old: bytes, new: bytes) -> Damage:
    def damage(directory: Path) -> None:
        path = directory / name
        content = path.read_bytes()
        assert re.search(old, content)
        path.write_bytes(re.sub(old, new, content))

    return damage


async def use(directory: Path) -> None:
    async with running_broker(directory) as live:
        client = await live.connect()
        for _ in range(4):
            await client.create_topic()
        await client.close()


def start_after(data: Path, damage: Damage, *, was_clean: bool = True) -> None:
    async def scenario() -> None:
        await use(data)
        metadata = data / "__cluster_metadata-0"
        damage(metadata)
        if not was_clean:
            (data / ".kafka_cleanshutdown").unlink()
        await use(data)

    asyncio.run(within(30, scenario()))


@pytest.mark.parametrize("was_clean", [True, False])
@pytest.mark.parametrize(
    ("damage", "byte", "offset"),
    [
        pytest.param(flip(SEGMENT, 5), 0, 0, id="offset of the first batch"),
        pytest.param(flip(SEGMENT, 30), 0, 0, id="first batch"),
        pytest.param(flip(SEGMENT, 300), 295, 3, id="offset of a batch in the middle"),
        pytest.param(flip(SEGMENT, 0.5), r"\d+", r"\d+", id="batch in the middle"),
        pytest.param(flip(SEGMENT, 0.99), r"\d+", r"\d+", id="last batch"),
    ],
)
def test_a_flipped_bit_in_the_metadata_log_is_reported_with_file_position_and_remedy(
    tmp_path: Path, damage: Damage, byte: object, offset: object, was_clean: bool
) -> None:
    expected = rf"__cluster_metadata-0/{SEGMENT} is damaged at byte {byte}: .* offsets {offset} to .*{REMEDY}"
    with pytest.raises(StartFailed, match=expected):
        start_after(tmp_path, damage, was_clean=was_clean)


def test_a_shortened_metadata_log_is_reported_with_file_position_and_remedy(tmp_path: Path) -> None:
    expected = rf"__cluster_metadata-0/{SEGMENT} is damaged at byte \d+: .*{REMEDY}"
    with pytest.raises(StartFailed, match=expected):
        start_after(tmp_path, cut(SEGMENT, 30))


@pytest.mark.parametrize("was_clean", [True, False])
@pytest.mark.parametrize("count", [1, 3])
def test_a_metadata_log_cut_between_two_batches_is_reported_with_file_position_and_remedy(
    tmp_path: Path, count: int, was_clean: bool
) -> None:
    expected = rf"__cluster_metadata-0/{SEGMENT} is damaged at byte \d+: .* offsets \d+ to \d+ are missing. .*{REMEDY}"
    with pytest.raises(StartFailed, match=expected):
        start_after(tmp_path, cut_batches(count), was_clean=was_clean)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(flip("quorum-state", 1), "", id="flip"),
        pytest.param(cut("quorum-state", 20), "truncated", id="cut"),
        pytest.param(replace("quorum-state", rb"(?s).*", b""), "truncated", id="empty"),
        pytest.param(
            replace("quorum-state", rb'"leaderEpoch":\d+', b'"leaderEpoch":2147483647'),
            "epoch 2147483647 is out of range",
            id="last epoch",
        ),
        pytest.param(
            replace("quorum-state", rb'"leaderEpoch":\d+', b'"leaderEpoch":2147483648'),
            "epoch 2147483648 is out of range",
            id="epoch too large",
        ),
    ],
)
def test_an_unusable_quorum_state_file_is_reported_with_its_remedy(
    tmp_path: Path, damage: Damage, reason: str
) -> None:
    expected = (
        rf"__cluster_metadata-0/quorum-state cannot be used \(.*{reason}.*only voter, remove the file: .*"
        "With other voters, restore the file from a backup, or remove this node from the quorum"
    )
    with pytest.raises(StartFailed, match=expected):
        start_after(tmp_path, damage)


def test_the_remedy_works_for_a_single_node(tmp_path: Path) -> None:
    """Its log contains the highest epoch: no epoch is used again."""
    start_after(tmp_path, lambda metadata: (metadata / "quorum-state").unlink())
    content = (tmp_path / "__cluster_metadata-0" / "quorum-state").read_bytes()
    assert b'"leaderEpoch":2' in content
