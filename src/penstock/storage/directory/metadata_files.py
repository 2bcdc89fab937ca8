"""Small files that say what a data directory and the logs in it are. All of them are Kafka's.

`meta.properties`, once in the data directory, Java properties:

    version=1
    cluster.id=4L6g3nShT-eMCtK--X86sw
    node.id=1
    directory.id=uJSTn_JtR9GyRbjIBTQLdw

`partition.metadata`, in each log's directory; the id is the 16 bytes of the topic's UUID in unpadded base64url:

    version: 0
    topic_id: hcOe5cG2QSGmCF0bZ2hSRw

`.kafka_cleanshutdown`, in the data directory after a clean stop only, and removed before anything is changed:

    {"version":0,"brokerEpoch":17}

The epoch is the broker's registration epoch, -1 if it never registered (KIP-966). The next start renames it to
`.unregistered-start`, which stays until the broker has registered what the start found missing: a start after a crash
in between still compares the logs with the inventory of that epoch. It is outdated once Apache Kafka has changed the
logs: a start that finds Kafka's traces removes it.

`cluster.secret`, in the data directory, is Penstock's own: the token of the cluster in one line (ADR 19).
"""

import base64
import binascii
import logging
from typing import Final

import msgspec

from penstock.security.cluster_secret import SECRET_FILE, NotAToken, parse_token
from penstock.storage.errors import DirectoryMismatch
from penstock.storage.files import FileSystem, read_whole, write_atomically

log = logging.getLogger(__name__)

META: Final = "meta.properties"
PARTITION_METADATA: Final = "partition.metadata"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
UNREGISTERED_START: Final = ".unregistered-start"
LOCK: Final = ".lock"

_EPOCH_UNKNOWN: Final = -1


class _CleanMark(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: int = 0
    broker_epoch: int = _EPOCH_UNKNOWN


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """To which cluster and broker a data directory belongs."""

    cluster_id: str
    node_id: int
    directory_id: bytes


def encode_uuid(uuid: bytes) -> str:
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode()


def decode_uuid(text: str) -> bytes | None:
    """The 16 bytes of a UUID in unpadded base64url, None when it is something else."""
    try:
        uuid = base64.urlsafe_b64decode(text + "==")
    except (ValueError, binascii.Error):
        return None
    return uuid if len(uuid) == 16 else None


def is_damaged_uuid(found: bytes, wanted: bytes) -> bool:
    """Whether a UUID equals another except for one damaged character: two random ones differ in nearly all 22."""
    pairs = zip(encode_uuid(found), encode_uuid(wanted), strict=True)
    return sum(one != other for one, other in pairs) == 1


def restrict_access(files: FileSystem, directory: str) -> None:
    """Restrict a data directory, created by an earlier version or another program, to the broker's user."""
    try:
        previous_mode = files.restrict(directory)
    except OSError as error:
        log.warning(
            "Others may read %s, and its mode cannot be changed (%s): the records and the credentials in it are open "
            "to them. Give the broker a directory of its own user with mode 0700",
            directory,
            error.strerror,
        )
        return
    if previous_mode is not None:
        log.warning(
            "Changed the mode of %s from %04o to 0700: it holds records and credentials",
            directory,
            previous_mode,
        )


def read_meta(files: FileSystem, directory: str) -> Meta | None:
    """Read `meta.properties`, None when there is none. Raises `DirectoryMismatch` when it is malformed."""
    path = f"{directory}/{META}"
    try:
        content = read_whole(files, path).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    pairs = [line.partition("=") for line in content.splitlines() if not line.startswith(("#", "!"))]
    fields = {key.strip(): value.strip().replace("\\", "") for key, _, value in pairs}
    directory_id = decode_uuid(fields.get("directory.id", ""))
    node_id = fields.get("node.id", "")
    if fields.get("version") != "1" or not node_id.isdecimal() or not fields.get("cluster.id"):
        raise DirectoryMismatch(
            f"{path} is not a version 1 meta.properties with cluster.id and node.id: restore it, or give another "
            "data directory"
        )
    return Meta(cluster_id=fields["cluster.id"], node_id=int(node_id), directory_id=directory_id or bytes(16))


def write_meta(files: FileSystem, directory: str, meta: Meta) -> None:
    lines = [
        "version=1",
        f"cluster.id={meta.cluster_id}",
        f"node.id={meta.node_id}",
        f"directory.id={encode_uuid(meta.directory_id)}",
        "",
    ]
    write_atomically(files, f"{directory}/{META}", "\n".join(lines).encode())


def read_secret(files: FileSystem, directory: str) -> bytes | None:
    """The secret of the cluster that the directory belongs to. Raises `DirectoryMismatch` when it is malformed."""
    path = f"{directory}/{SECRET_FILE}"
    try:
        return parse_token(read_whole(files, path).decode("ascii", "replace"))
    except FileNotFoundError:
        return None
    except NotAToken as error:
        raise DirectoryMismatch(f"{path} is damaged: {error}. Remove the file before") from None


def write_secret(files: FileSystem, directory: str, secret: bytes) -> None:
    write_atomically(files, f"{directory}/{SECRET_FILE}", f"{secret.hex()}\n".encode())


def read_topic_id(files: FileSystem, log_directory: str) -> bytes | None:
    """The topic id that a log's directory names; None when it names none that can be read."""
    try:
        content = read_whole(files, f"{log_directory}/{PARTITION_METADATA}").decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    for line in content.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "topic_id":
            return decode_uuid(value.strip())
    return None


def write_topic_id(files: FileSystem, log_directory: str, topic_id: bytes) -> None:
    """Not synced here: the first sync of the log includes it. A log without records may lose it in a power cut."""
    file = files.open(f"{log_directory}/{PARTITION_METADATA}", create=True)
    try:
        file.truncate(0)
        file.write((f"version: 0\ntopic_id: {encode_uuid(topic_id)}\n".encode(),), 0)
    finally:
        file.close()


def take_clean_mark(files: FileSystem, directory: str) -> int | None:
    """Rename the mark of a clean stop, durably, before anything else changes. Gives its broker epoch, else None."""
    broker_epoch = read_clean_mark(files, directory)
    if broker_epoch is not None:
        files.rename(f"{directory}/{CLEAN_SHUTDOWN}", f"{directory}/{UNREGISTERED_START}")
        files.sync_dir(directory)
    return broker_epoch


def read_clean_mark(files: FileSystem, directory: str) -> int | None:
    """The broker epoch that the last stop was in if it was clean, else None."""
    return _read_mark(files, f"{directory}/{CLEAN_SHUTDOWN}")


def read_unregistered_start(files: FileSystem, directory: str) -> int | None:
    """The broker epoch of the last clean stop, if no start since has registered what it found missing."""
    return _read_mark(files, f"{directory}/{UNREGISTERED_START}")


def forget_unregistered_start(files: FileSystem, directory: str) -> None:
    """Remove the mark of a start that did not come to its end, if there is one."""
    if read_unregistered_start(files, directory) is not None:
        remove_unregistered_start(files, directory)


def remove_unregistered_start(files: FileSystem, directory: str) -> None:
    files.remove(f"{directory}/{UNREGISTERED_START}")
    files.sync_dir(directory)


def _read_mark(files: FileSystem, path: str) -> int | None:
    try:
        content = read_whole(files, path)
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(content, type=_CleanMark).broker_epoch
    except msgspec.DecodeError:  # Kafka left an empty file before version 3.9
        return _EPOCH_UNKNOWN


def leave_clean_mark(files: FileSystem, directory: str, broker_epoch: int) -> None:
    content = msgspec.json.encode(_CleanMark(broker_epoch=broker_epoch))
    write_atomically(files, f"{directory}/{CLEAN_SHUTDOWN}", content)
