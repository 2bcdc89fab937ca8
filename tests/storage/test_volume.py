"""One sync of a whole file system, and the file systems on which it reports failures."""

import ctypes
import errno
import os
from pathlib import Path

import pytest

from penstock.storage import volume
from penstock.storage.volume import RealVolume, open_volume, type_in

FDINFO = "pos:\t0\nflags:\t02100000\nmnt_id:\t{}\nino:\t246947\n"
MOUNTINFO = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
127 27 0:40 / /mnt/a\\040b rw,nosuid - fuse.sshfs host:/ rw,user_id=0
128 27 0:41 / /mnt/- rw - fuseblk /dev/sdb rw
"""


@pytest.fixture
def opened(tmp_path: Path) -> RealVolume:
    found = open_volume(str(tmp_path))
    if found is None:
        pytest.skip("this file system is not one of those that are known, or this is not Linux since 5.17")
    return found


def test_a_whole_file_system_is_synced_at_once(opened: RealVolume) -> None:
    opened.sync()
    opened.close()


def test_failed_writes_are_reported_on_the_descriptor_that_was_opened_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel reports a failed write to a descriptor that is opened later only if it has not been reported yet."""
    asked: list[str] = []

    def syncfs(fd: int) -> int:
        asked.append(os.readlink(f"/proc/self/fd/{fd}"))
        ctypes.set_errno(errno.EIO)
        return -1

    monkeypatch.setattr(volume, "find_syncfs", lambda: syncfs)
    monkeypatch.setattr(volume, "_type_of", lambda _fd: "ext4")
    data = tmp_path / "data"
    data.mkdir()
    found = open_volume(str(data))
    assert found is not None
    data.rename(tmp_path / "moved")
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        found.sync()
    assert asked == [str(tmp_path / "moved")]
    found.close()


@pytest.mark.parametrize(
    ("mount", "expected"), [(27, "ext4"), (127, "fuse.sshfs"), (128, "fuseblk"), (2, None)]
)
def test_the_type_of_a_file_system_is_that_of_the_mount(mount: int, expected: str | None) -> None:
    assert type_in(FDINFO.format(mount), MOUNTINFO) == expected


@pytest.mark.parametrize("kind", ["fuse.sshfs", "fuseblk", "nfs4", "overlay", None])
def test_a_file_system_not_known_to_report_failed_writes_is_not_synced_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str | None
) -> None:
    monkeypatch.setattr(volume, "_type_of", lambda _fd: kind)
    assert open_volume(str(tmp_path)) is None


def test_a_directory_on_another_file_system_is_not_covered(tmp_path: Path, opened: RealVolume) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-1").symlink_to("/proc/self")
    assert [opened.holds(f"{tmp_path}/{name}") for name in ("t-0", "t-1", "t-2")] == [True, False, False]
    opened.close()
