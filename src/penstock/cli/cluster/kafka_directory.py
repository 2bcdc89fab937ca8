"""The output of `penstock cluster check-kafka`."""

import os

from penstock.cli.data_directory import is_in_use
from penstock.cli.errors import CommandError
from penstock.cluster.kafka_directory import Inspection, inspect
from penstock.storage.files import RealFileSystem


def inspect_directory(directory: str) -> Inspection:
    """Raises `CommandError` when the directory cannot be read, or is in use."""
    if not os.path.isdir(directory):
        raise CommandError(
            f"{directory} is not a directory: give the data directory of a Kafka node (log.dirs)"
        )
    if is_in_use(directory):
        raise CommandError(f"a broker is using {directory}: stop it first")
    try:
        return inspect(RealFileSystem(), directory)
    except OSError as error:
        raise CommandError(f"cannot read {error.filename or directory}: {error.strerror}") from None


def show_inspection(directory: str, found: Inspection) -> None:
    print(f"{directory}: node {found.node_id} of cluster {found.cluster_id}")
    if found.carries_over:
        counts = ", ".join(f"{count} {name}" for name, count in found.carries_over.items())
        print(f"carries over: {counts}, and all groups and transactions")
    for remark in found.remarks:
        print(f"note: {remark}")
    for refusal in found.refusals:
        print(f"refused: {refusal}")
    if not found.refusals:
        print("Penstock can start on this directory")
