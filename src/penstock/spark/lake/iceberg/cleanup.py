"""Finds expired snapshots and unreferenced files of an Iceberg table."""

from typing import Any

from penstock.spark.lake.store import Store

_KEPT_SUFFIXES = (".db", ".db-journal", ".db.lock", ".text")


def expired_snapshots(table: Any, oldest_ms: int) -> list[int]:
    """Return the snapshots up to that time, except those that a branch or a tag names."""
    named = {reference.snapshot_id for reference in table.refs().values()}
    return [
        snapshot.snapshot_id
        for snapshot in table.snapshots()
        if snapshot.timestamp_ms <= oldest_ms and snapshot.snapshot_id not in named
    ]


def unreferenced_files(table: Any, expired: set[int], oldest_ms: int, store: Store) -> list[str]:
    """Return the files below the table's root up to that time that no snapshot needs, except expired ones."""
    root = _without_scheme(table.location()).rstrip("/")
    needed = {_without_scheme(path).removeprefix(f"{root}/") for path in _referenced(table, expired)}
    return sorted(
        file.path
        for directory in ("data", "metadata")
        for file in store.files(directory)
        if file.path not in needed
        and not file.path.endswith(_KEPT_SUFFIXES)
        and file.modified_ms <= oldest_ms
    )


def _without_scheme(path: str) -> str:
    """`s3a://b/x` and `s3://b/x` are the same file."""
    return path.partition("://")[2] or path.removeprefix("file:")


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
