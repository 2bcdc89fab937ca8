"""Finds expired snapshots and unreferenced files of an Iceberg table."""

import os
from typing import Any

from penstock.spark.lake.disk import Disk

_KEPT_SUFFIXES = (".db", ".db-journal", ".db.lock", ".text")


def expired_snapshots(table: Any, oldest_ms: int) -> list[int]:
    """Return the snapshots up to that time, except those that a branch or a tag names."""
    named = {reference.snapshot_id for reference in table.refs().values()}
    return [
        snapshot.snapshot_id
        for snapshot in table.snapshots()
        if snapshot.timestamp_ms <= oldest_ms and snapshot.snapshot_id not in named
    ]


def unreferenced_files(table: Any, expired: set[int], oldest_ms: int, root: str, disk: Disk) -> list[str]:
    """Return the files up to that time that no snapshot needs, except expired ones."""
    needed = _referenced(table, expired)
    return sorted(
        os.path.relpath(path, root)
        for directory in ("data", "metadata")
        for path in _files(os.path.join(root, directory))
        if path not in needed and not path.endswith(_KEPT_SUFFIXES) and disk.modified_ms(path) <= oldest_ms
    )


def _referenced(table: Any, expired: set[int]) -> set[str]:
    found = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
    for snapshot in table.snapshots():
        if snapshot.snapshot_id in expired:
            continue
        found.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in found:
                found.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
                found.update(entry.data_file.file_path for entry in entries)
    return found


def _files(directory: str) -> list[str]:
    return [os.path.join(place, name) for place, _, names in os.walk(directory) for name in names]
