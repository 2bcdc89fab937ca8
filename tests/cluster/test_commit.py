"""A failed commit holds no references."""

import gc
import weakref

from penstock.cluster.commit import Commit
from penstock.runtime.completion import Completion
from penstock.storage.errors import LogError, StorageError


def test_a_refused_commit_is_freed_without_the_collector() -> None:
    def refuse() -> "weakref.ref[Completion[None]]":
        commit = Refused(leader_epoch=0)
        try:
            raise StorageError("no")
        except LogError as error:
            commit.fail(error)
        return weakref.ref(commit)

    gc.disable()
    try:
        assert refuse()() is None
    finally:
        gc.enable()


class Refused(Commit, weakref=True):
    """A commit whose release can be observed."""
