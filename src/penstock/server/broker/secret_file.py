"""The secret of the cluster in this broker's data directory: read, kept, made for a new cluster (ADR 19)."""

from penstock.cluster.lifecycle import NotAdmitted
from penstock.security.cluster_secret import SECRET_FILE, ClusterSecret
from penstock.storage.directory.metadata_files import read_secret, write_secret
from penstock.storage.files import FileSystem


def load_secret(files: FileSystem, directory: str, given: bytes | None) -> bytes | None:
    """The secret in the data directory, or the one given to this broker. Raises `NotAdmitted` when they differ."""
    stored = read_secret(files, directory)
    if stored is not None and given not in (None, stored):
        raise NotAdmitted(
            f"the given token differs from that in {directory}/{SECRET_FILE}: leave it out, or remove the file if "
            "the cluster has a new one"
        )
    return stored or given


def store_secret(files: FileSystem, directory: str, secret: ClusterSecret) -> None:
    """Save it, if it is known and not saved yet."""
    if secret.value is not None and read_secret(files, directory) is None:
        write_secret(files, directory, secret.value)


def create_secret(files: FileSystem, directory: str, secret: ClusterSecret, *, is_alone: bool) -> None:
    """A new cluster makes it. Raises `NotAdmitted` for a member of an older cluster that has no secret yet."""
    if not is_alone:
        raise NotAdmitted(
            f"{directory} belongs to a cluster of several nodes and has no {SECRET_FILE}, by which nodes of this "
            "version know each other. Start this one with the token of another member (`penstock cluster token` prints "
            "it there; --token-file FILE, PENSTOCK_TOKEN). If none has one yet, stop all, run `penstock cluster token "
            f"--create --data {directory}`, and start the others with that"
        )
    secret.make()
    store_secret(files, directory, secret)
