"""A failed sync never counts as a successful one, however it failed."""

import pytest

from penstock.storage.files import RealFileSystem
from penstock.storage.sync import SyncJob


class Broken(RealFileSystem):
    def sync_dir(self, path: str) -> None:
        raise ValueError(path)


def job(before: SyncJob | None, *directories: str) -> SyncJob:
    return SyncJob(Broken(), (), directories, end_offset=1, generation=0, before=before)


def test_a_sync_job_that_raises_fails_the_jobs_that_rely_on_it() -> None:
    first = job(None, "/d")
    second = job(first)
    with pytest.raises(ValueError, match="/d"):
        first.run()
    with pytest.raises(OSError, match="/d"):
        second.run()


def test_a_sync_job_covers_names_while_a_job_that_it_relies_on_covers_them() -> None:
    first = job(None, "/d")
    assert first.covers_names
    assert job(first).covers_names
    assert not job(None).covers_names
