"""Finds the schema of an encoder and its id: in a file, in a registry, or inferred from the columns.

`check` changes nothing in a registry: it asks whether the schema is there, or whether it could be registered.
"""

import enum
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from penstock.spark.decode import schema_registry
from penstock.spark.decode.schema_registry import (
    RegisteredSchema,
    RegistryUnreachable,
    SchemaRefused,
    host_of,
)
from penstock.spark.encode.batch import EncoderError
from penstock.spark.encode.settings import RECORD_NAME, TOPIC_NAME, Encoder

_T = TypeVar("_T")


class Registration(enum.Enum):
    """What may be asked of a registry."""

    RUN = "run"  # look up, and register where the settings say so
    RUNNING = "running"  # the same, but what a run found at its start holds for all of its batches
    CHECK = "check"  # look up, and ask whether a schema is compatible
    OFFLINE = "offline"  # nothing


_REGISTERING = (Registration.RUN, Registration.RUNNING)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the encoded values go."""

    topic: str = ""
    is_key: bool = False
    directory: str = "."  # of the files that the settings name
    registration: Registration = Registration.RUN

    @property
    def record_name(self) -> str:
        return self.topic + ("_key" if self.is_key else "")


def subject_of(settings: Encoder, place: Place, record_name: str) -> str:
    """Return the subject as Confluent's serializers name it."""
    if settings.subject is not None:
        return settings.subject
    if settings.subject_strategy == RECORD_NAME:
        return record_name
    if not place.topic:
        raise EncoderError(
            f"the subject follows from the topic by {settings.subject_strategy}: name the topic"
        )
    if settings.subject_strategy == TOPIC_NAME:
        return f"{place.topic}-{'key' if place.is_key else 'value'}"
    return f"{place.topic}-{record_name}"


def read_schema_file(path: str, place: Place) -> bytes:
    try:
        return Path(place.directory, path).read_bytes()
    except OSError as error:
        raise EncoderError(f"cannot read {path}: {error.strerror}") from None


def newest_schema(settings: Encoder, place: Place, *, serialized: bool = False) -> RegisteredSchema | None:
    """Return the subject's newest schema; None: nothing may be asked now."""
    if place.registration is Registration.OFFLINE or settings.registry_url is None:
        return None
    if settings.subject is None and settings.subject_strategy != TOPIC_NAME:
        raise EncoderError(
            f"by {settings.subject_strategy} the subject follows from the schema: "
            "name its file, or write `subject`"
        )
    subject, url = subject_of(settings, place, ""), settings.registry_url
    found = _ask(lambda: schema_registry.fetch_newest(url, subject, serialized=serialized))
    if found is None:
        raise EncoderError(
            f"the schema registry at {host_of(url)} has no subject {subject}: register a schema there, "
            "or write `register: true`"
        )
    return found


def schema_id(settings: Encoder, place: Place, schema: RegisteredSchema, record_name: str) -> int:
    """Return the id for the framing, registering the schema where the settings say so; 0 if none is known now."""
    if settings.schema_id is not None:
        return settings.schema_id
    url, registration = settings.registry_url, place.registration
    if url is None or registration is Registration.OFFLINE:
        return 0
    if schema.schema_id:
        return schema.schema_id
    subject = subject_of(settings, place, record_name)
    if settings.register and registration in _REGISTERING:
        return _ask(lambda: schema_registry.register_schema(url, subject, schema))
    found = _ask(lambda: schema_registry.look_up_schema(url, subject, schema))
    if found is not None:
        return found[0]
    where = f"subject {subject} of the schema registry at {host_of(url)}"
    if not settings.register:
        raise EncoderError(f"{where} does not have this schema: register it, or write `register: true`")
    if reasons := _ask(lambda: schema_registry.find_incompatibilities(url, subject, schema)):
        raise EncoderError(f"{where} refuses the schema as incompatible: {'; '.join(reasons)}")
    return 0


def registered_version(settings: Encoder, place: Place, schema: RegisteredSchema, subject: str) -> int:
    """Return the version of a schema to which another one refers, registering it where the settings say so."""
    url = settings.registry_url
    if url is None or place.registration is Registration.OFFLINE:
        return 1
    if settings.register and place.registration in _REGISTERING:
        _ask(lambda: schema_registry.register_schema(url, subject, schema))
    found = _ask(lambda: schema_registry.look_up_schema(url, subject, schema))
    if found is not None:
        return found[1]
    if settings.register:
        return 1  # not registered yet
    raise EncoderError(
        f"subject {subject} of the schema registry at {host_of(url)}, which the schema imports, does not have "
        "this schema: register it, or write `register: true`"
    )


def _ask(question: Callable[[], _T]) -> _T:
    try:
        return question()
    except (RegistryUnreachable, SchemaRefused) as error:
        raise EncoderError(str(error)) from None
