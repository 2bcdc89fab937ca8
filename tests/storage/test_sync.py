"""A sync that ends in any other way than well is never taken for one that ended well."""

import pytest

from penstock.storage.files import RealFileSystem
from penstock.storage.sync import SyncJob


class Broken(RealFileSystem):
    def sync_dir(self, path: str) -> None:
        raise ValueError(path)


def job(before: SyncJob | None, *directories: str) -> SyncJob:
    return SyncJob(Broken(), (), directories, end_offset=1, generation=0, before=before)


def test_a_job_that_ends_with_a_bug_fails_those_that_rely_on_it() -> None:
    first = job(None, "/d")
    second = job(first)
    with pytest.raises(ValueError, match="/d"):
        first.run()
    with pytest.raises(OSError, match="/d"):
        second.run()


def test_a_job_covers_names_while_one_does_that_it_relies_on() -> None:
    first = job(None, "/d")
    assert first.covers_names
    assert job(first).covers_names
    assert not job(None).covers_names
