"""The token of a cluster, for a node that joins it: given as an option, or found where the same user runs a member.

`penstock up` writes the token of its cluster in `$XDG_RUNTIME_DIR/penstock`, or `$XDG_STATE_HOME/penstock`
(`~/.local/state/penstock`) without a runtime directory: one file for each cluster, named by its id, mode 0600.
"""

import contextlib
import logging
import os
import re
import secrets
from collections.abc import Iterator, Mapping

from penstock.cli.errors import CommandError, UsageError
from penstock.security.cluster_secret import SECRET_FILE, NotAToken, parse_token
from penstock.security.sasl.cluster import SECRET_BYTES
from penstock.storage.directory.metadata_files import META, read_secret, write_secret
from penstock.storage.errors import DirectoryMismatch
from penstock.storage.files import RealFileSystem

log = logging.getLogger(__name__)

VARIABLE = "PENSTOCK_TOKEN"
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a file name that comes from the network


def given_token(token: str | None, file: str | None) -> bytes | None:
    """Read the token of `--token`, `--token-file` or PENSTOCK_TOKEN, in this order. Raises `CommandError`."""
    if token is not None:
        return _parse(token, "--token")
    if file is None:
        text = os.environ.get(VARIABLE)
        return None if not text else _parse(text, VARIABLE)
    try:
        with open(file, encoding="ascii") as opened:
            return _parse(opened.read(), f"--token-file {file}")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"cannot read --token-file {file}: {reason}") from None


def _parse(text: str, where: str) -> bytes:
    try:
        return parse_token(text)
    except NotAToken as error:
        raise UsageError(f"{where} is not a token: {error}") from None


def share_with_user(cluster_id: str, secret: bytes) -> None:
    """Write the token to a file that nodes of the same user on this host find; if that fails, they need `--token`."""
    directory = next(_directories(os.environ), None)
    if directory is None or _CLUSTER_ID.fullmatch(cluster_id) is None:
        return
    path = os.path.join(directory, cluster_id)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        temporary = f"{path}.{os.getpid()}"
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secret.hex()}\n")
        os.replace(temporary, path)
    except OSError as error:
        log.info("Cannot share the cluster token: %s. directory=%s", error.strerror or error, directory)


def find_for_user(cluster_id: str) -> bytes | None:
    """Find the token that a member of the same user has written; files that others can read are ignored."""
    if _CLUSTER_ID.fullmatch(cluster_id) is None:
        return None
    for directory in _directories(os.environ):
        path = os.path.join(directory, cluster_id)
        with (
            contextlib.suppress(OSError, NotAToken, UnicodeDecodeError),
            open(path, encoding="ascii") as file,
        ):
            found = os.fstat(file.fileno())
            if found.st_uid == os.getuid() and not found.st_mode & 0o077:
                return parse_token(file.read())
    return None


def _directories(environment: Mapping[str, str]) -> Iterator[str]:
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        yield os.path.join(runtime, "penstock")
    if state := environment.get("XDG_STATE_HOME"):
        yield os.path.join(state, "penstock")
    elif home := environment.get("HOME"):
        yield os.path.join(home, ".local", "state", "penstock")


def stored_token(directory: str) -> bytes | None:
    """Read the token in a data directory, or in one of those that `penstock up --brokers` has created in it."""
    if not os.path.isdir(directory):
        raise CommandError(f"{directory} is not a directory: name a member's data directory with --data DIR")
    nodes = sorted(
        each.path for each in os.scandir(directory) if each.is_dir() and each.name.startswith("node-")
    )
    for each in (directory, *nodes):
        try:
            found = read_secret(RealFileSystem(), each)
        except (DirectoryMismatch, OSError) as error:
            raise CommandError(f"cannot read {each}/{SECRET_FILE}: {error}") from None
        if found is not None:
            return found
    return None


def create_token(directory: str) -> bytes:
    """Create the token of a cluster of an earlier version, which has none."""
    if not os.path.exists(os.path.join(directory, META)):
        raise CommandError(f"{directory} is not a broker's data directory: it has no {META}")
    secret = secrets.token_bytes(SECRET_BYTES)
    write_secret(RealFileSystem(), directory, secret)
    return secret
