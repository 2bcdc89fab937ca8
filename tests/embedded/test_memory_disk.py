"""The simple disk in memory behaves like the simulated one, which is tested against real file systems' behaviour."""

import errno
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.embedded.memory_disk import MemoryDisk
from penstock.runtime.clock import ManualClock
from penstock.storage.files import FileSystem
from penstock_simulation.disk import FaultyDisk, PowerCut

PATHS = st.sampled_from(["/a", "/b", "/d/a", "/d/b", "/d/e/a"])
DIRS = st.sampled_from(["/", "/d", "/d/e"])
STEPS = st.one_of(
    st.tuples(st.just("write"), PATHS, st.integers(0, 40), st.binary(max_size=20)),
    st.tuples(st.just("truncate"), PATHS, st.integers(0, 60)),
    st.tuples(st.just("sync"), PATHS),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("rename"), st.just("/d/e"), st.sampled_from(["/d", "/f", "/d/a"])),
    st.tuples(st.just("remove"), PATHS),
    st.tuples(st.just("make_dirs"), DIRS),
    st.tuples(st.just("sync_dir"), DIRS),
    st.tuples(st.just("crash")),
)


def perform(disk: FileSystem, step: tuple[object, ...]) -> object:
    """The outcome of a step: a value, or the errno."""
    name, *arguments = step
    try:
        if name == "write":
            path, position, content = arguments
            file = disk.open(str(path), create=True)
            assert isinstance(position, int)
            assert isinstance(content, bytes)
            file.write([content[:5], content[5:]], position)
            return file.read(1000, 0), file.read(7, position), file.size()
        if name in ("truncate", "sync"):
            file = disk.open(str(arguments[0]))
            if name == "sync":
                file.sync()
            else:
                assert isinstance(arguments[1], int)
                file.truncate(arguments[1])
            return file.read(1000, 0)
        method: Callable[..., object] = getattr(disk, str(name))
        return method(*arguments)
    except OSError as error:
        return error.errno


def everything(disk: FileSystem, path: str = "") -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for name in disk.list(path or "/"):
        child = f"{path}/{name}"
        try:
            found[child] = disk.open(child).read(1000, 0)
        except IsADirectoryError:
            found[child] = None
            found.update(everything(disk, child))
    return found


@settings(max_examples=100, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_it_has_the_same_files_as_the_simulated_disk_after_any_steps_and_power_cuts(
    steps: list[tuple[object, ...]],
) -> None:
    clock = ManualClock()
    light, thorough = MemoryDisk(clock), FaultyDisk(Random(1), clock=clock)
    for disk in (light, thorough):
        disk.make_dirs("/d/e")
        disk.sync_dir("/")
        disk.sync_dir("/d")
    for step in steps:
        if step[0] == "crash":
            light, thorough = light.crash(), thorough.crash()
        else:
            assert perform(light, step) == perform(thorough, step), step
        assert everything(light) == everything(thorough), step


def test_zeros_after_the_last_byte_take_no_room() -> None:
    disk = MemoryDisk(ManualClock())
    file = disk.open("/log", create=True)
    file.truncate(1 << 40)
    file.write([b"abc"], 10)
    assert file.size() == 1 << 40
    assert file.read(20, 5) == bytes(5) + b"abc" + bytes(12)
    assert disk.size("/log") == 1 << 40


def test_a_disk_without_power_refuses_every_operation() -> None:
    disk = MemoryDisk(ManualClock())
    file = disk.open("/log", create=True)
    with disk.lock("/lock"):
        restarted = disk.crash()
        with pytest.raises(PowerCut):
            file.write([b"late"], 0)
        with pytest.raises(PowerCut):
            disk.open("/log")
        with restarted.lock("/lock"), pytest.raises(BlockingIOError), restarted.lock("/lock"):
            pass


def test_a_failed_disk_refuses_changes_and_is_still_read() -> None:
    disk = MemoryDisk(ManualClock())
    file = disk.open("/log", create=True)
    file.write([b"one"], 0)
    disk.fail(errno.EIO)
    changes: list[Callable[[], None]] = [
        lambda: file.write([b"two"], 3),
        file.sync,
        lambda: disk.sync_dir("/"),
        lambda: disk.remove("/log"),
    ]
    for change in changes:
        with pytest.raises(OSError, match="Input/output error"):
            change()
    assert file.read(10, 0) == b"one"
    disk.repair()
    file.write([b"two"], 3)
    assert file.read(10, 0) == b"onetwo"


def test_closed_and_read_only_files_refuse_writes() -> None:
    disk = MemoryDisk(ManualClock())
    disk.open("/log", create=True).close()
    read_only = disk.open("/log", writable=False)
    with pytest.raises(OSError, match="Bad file descriptor"):
        read_only.write([b"x"], 0)
    read_only.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        read_only.read(1, 0)
