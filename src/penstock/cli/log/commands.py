"""`penstock log …`: dump, verify and recover a data directory. Needs no broker."""

import os
from collections.abc import Iterator
from typing import Any

import typer

from penstock.cli.data_directory import (
    Batch,
    Damage,
    Partition,
    SegmentReader,
    find_partitions,
    is_in_use,
    list_partitions,
)
from penstock.cli.errors import CommandError
from penstock.cli.output import AsJson, print_json
from penstock.cli.record_format import format_bytes, format_time

app = typer.Typer(help="Dump, verify and recover a data directory. Needs no broker.", no_args_is_help=True)

_DIRECTORY: str = typer.Argument(
    metavar="DIR", help="A broker's data directory, or the directory of one partition."
)
_TOPIC: str | None = typer.Option(None, metavar="TOPIC", show_default="all", help="Only this topic.")
_PARTITION: int | None = typer.Option(
    None, min=0, metavar="N", show_default="all", help="Only this partition number."
)


@app.command()
def dump(
    *,
    directory: str = typer.Argument(
        metavar="DIR", help="A broker's data directory, the directory of one partition, or a journal file."
    ),
    topic: str | None = _TOPIC,
    partition: int | None = _PARTITION,
    records: bool = typer.Option(False, "--records", help="Print every record too."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object for each batch or entry."),
) -> None:
    """Print the batches of each segment: offsets, sizes, codec, producer, checksum.

    For a journal file, print the entries: round, kind, partition, offsets, sizes, checksum.

    For example:

      penstock log dump penstock-data --topic orders --partition 0 --records
      penstock log dump penstock-data/.journal.0
    """
    if os.path.isfile(directory):
        _dump_journal(directory, topic, partition, with_records=records, as_json=as_json)
        return
    for found in find_partitions(directory, topic, partition):
        for segment in found.segments:
            if not as_json:
                print(f"{found.name}/{os.path.basename(segment.path)}: {segment.size_bytes} bytes")
            reader = SegmentReader(segment)
            for batch in reader:
                if as_json:
                    print_json(_batch_fields(found, segment.path, batch, with_records=records))
                else:
                    print(_batch_line(batch))
                    for line in _record_lines(batch) if records else ():
                        print(line)
            if reader.reason is None:
                continue
            if as_json:
                name = os.path.basename(segment.path)
                print_json({"file": name, "position": reader.position, "damage": reader.reason})
            else:
                print(f"  byte {reader.position}: {reader.reason}")


def _dump_journal(
    path: str, topic: str | None, partition: int | None, *, with_records: bool, as_json: bool
) -> None:
    from penstock.cli.log.journal import JournalFile, PartitionNames
    from penstock.protocol.records.batch import iter_batches

    above = os.path.dirname(os.path.abspath(path))
    partitions = list_partitions(above)
    chosen = {p.name for p in partitions if topic in (None, p.topic) and partition in (None, p.partition)}
    file = JournalFile(path, PartitionNames(partitions))
    if not as_json:
        print(f"{os.path.basename(path)}: {file.size_bytes} bytes, file number {file.number}")
    for entry, batches in file:
        if entry.partition not in chosen and not (topic is None and partition is None):
            continue
        if as_json:
            print_json(entry)
            continue
        print(entry)
        for position, header in iter_batches(batches) if with_records else ():
            data = batches[position : position + header.size_bytes]
            for line in _record_lines(Batch(position=position, header=header, data=data, is_crc_valid=True)):
                print(line)


def _batch_line(batch: Batch) -> str:
    header = batch.header
    parts = [
        f"  byte {batch.position}: offsets {header.base_offset}-{header.last_offset}",
        f"{header.record_count} record(s)",
        f"{header.size_bytes} bytes",
        f"codec {_codec_name(batch)}",
        f"leader epoch {header.leader_epoch}",
        f"newest {format_time(header.max_timestamp)}",
    ]
    if header.has_producer_id:
        sequences = (
            f", sequences {header.base_sequence}-{header.last_sequence}" if header.base_sequence >= 0 else ""
        )
        parts.append(f"producer {header.producer_id} epoch {header.producer_epoch}{sequences}")
    if header.is_transactional:
        parts.append("transactional")
    if header.is_control:
        parts.append("control")
    parts.append("CRC ok" if batch.is_crc_valid else "CRC WRONG")
    return ", ".join(parts)


def _codec_name(batch: Batch) -> str:
    from penstock.protocol.records.errors import CorruptRecords

    try:
        return batch.header.codec.name.lower()
    except CorruptRecords:
        return "unknown"


def _record_lines(batch: Batch) -> Iterator[str]:
    from penstock.protocol.records.control import control_type
    from penstock.protocol.records.errors import CorruptRecords
    from penstock.protocol.records.record import iter_records

    try:
        for record in iter_records(batch.data):
            headers = " ".join(f"{name}={format_bytes(value)}" for name, value in record.headers)
            control = (
                control_type(record.key).name.lower().replace("_", " ") if batch.header.is_control else ""
            )
            kind = f" {control}" if control else ""
            yield (
                f"    {record.offset}{kind} {format_time(record.timestamp)} key {format_bytes(record.key)} "
                f"value {format_bytes(record.value)}" + (f" headers {headers}" if headers else "")
            )
    except CorruptRecords as error:
        yield f"    the records cannot be read: {error}"


def _batch_fields(partition: Partition, path: str, batch: Batch, *, with_records: bool) -> dict[str, Any]:
    from penstock.cli.record_format import json_record
    from penstock.protocol.records.errors import CorruptRecords
    from penstock.protocol.records.record import iter_records

    header = batch.header
    fields: dict[str, Any] = {
        "topic": partition.topic,
        "partition": partition.partition,
        "file": os.path.basename(path),
        "position": batch.position,
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "recordCount": header.record_count,
        "sizeBytes": header.size_bytes,
        "codec": _codec_name(batch),
        "leaderEpoch": header.leader_epoch,
        "maxTimestamp": header.max_timestamp,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "crcValid": batch.is_crc_valid,
    }
    if with_records:
        try:
            fields["records"] = [
                json_record(each.offset, each.timestamp, each.key, each.value, each.headers)
                for each in iter_records(batch.data)
            ]
        except CorruptRecords as error:
            fields["error"] = str(error)
    return fields


@app.command()
def verify(
    *,
    directory: str = _DIRECTORY,
    topic: str | None = _TOPIC,
    partition: int | None = _PARTITION,
    deep: bool = typer.Option(False, "--deep", help="Decompress every batch and check every record too."),
    as_json: bool = AsJson,
) -> None:
    """Check every byte of every segment against its checksum. Exits with 1 if anything is damaged.

    A broker may be running on the directory. After a crash the journal is checked too, and the command lists the
    records that only the journal has: the next start replays them.
    """
    from penstock.cli.log.journal import find_unreplayed, read_after_crash
    from penstock.cli.log.missing_segments import find_missing
    from penstock.cli.log.segment_check import PartitionCheck

    partitions = find_partitions(directory, topic, partition)
    is_used = is_in_use(directory)
    checks = [PartitionCheck(each, is_being_written=is_used, is_deep=deep) for each in partitions]
    damages = [damage for check in checks for damage in check]
    damages += find_missing(directory, topic, partition)
    journal = read_after_crash(directory)
    damages += [
        Damage(file=path, position=position, offset=-1, reason=f"the journal {reason}")
        for path, position, reason in journal.damage
    ]
    unreplayed = find_unreplayed(journal, partitions)
    damages += [
        Damage(
            file=each.segment,
            position=each.position,
            offset=each.base_offset,
            reason=f"offsets up to {each.end_offset - 1} are missing, in the journal too",
        )
        for each in unreplayed
        if each.is_lost
    ]
    replayable = [each for each in unreplayed if not each.is_lost]
    counts = {
        "partitions": len(partitions),
        "segments": sum(len(each.segments) for each in partitions),
        "batches": sum(check.batch_count for check in checks),
        "bytes": sum(check.size_bytes for check in checks),
    }
    if as_json:
        in_journal = [
            {"partition": each.partition, "baseOffset": each.base_offset, "endOffset": each.end_offset}
            for each in replayable
        ]
        print_json({**counts, "inJournal": in_journal, "damage": damages})
    else:
        for each in replayable:
            print(f"{each}: the next start, or `penstock log recover`, replays them")
        for damage in damages:
            at = f", offset {damage.offset}" if damage.offset >= 0 else ""
            print(f"{damage.file}: byte {damage.position}{at}: {damage.reason}")
        print("checked " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    if damages:
        first = damages[0]
        raise CommandError(
            f"{len(damages)} damaged place(s), the first at byte {first.position} of {first.file}: {first.reason}. "
            f"`penstock log recover {directory}` truncates partial batches; restore anything else from a copy"
        )


@app.command()
def recover(*, directory: str = _DIRECTORY, as_json: bool = AsJson) -> None:
    """Recover a data directory after a crash, as a broker does when it starts. Stop the broker first.

    Replays records that only the journal has, truncates partial batches at the end of logs, and prints each step.
    Reports damage to durable records and does not change it.
    """
    from penstock.cli.log.recovery import recover_directory

    recovery = recover_directory(directory)
    if as_json:
        print_json(recovery)
    else:
        for step in recovery.steps:
            print(step)
        for each in recovery.partitions:
            print(f"{each.partition}: offsets {each.start_offset} to {each.end_offset}")
        print(f"recovered {len(recovery.partitions)} partition(s)")
    damage = [*recovery.failures, *(what for each in recovery.partitions for what in each.damage)]
    if damage:
        raise CommandError(
            f"{len(damage)} damaged place(s) that recovery cannot repair, the first: {damage[0]}; "
            "restore the file from another replica or a backup"
        )
