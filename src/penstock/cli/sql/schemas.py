"""The option `--schema`: schemas of topics, on the command line or in a YAML file."""

import os
from collections.abc import Iterable

import yaml

from penstock.cli.errors import UsageError


def read_schemas(given: Iterable[str]) -> dict[str, str]:
    """Return the schema of each topic as text. A file maps topics to schemas; later ones win."""
    found: dict[str, str] = {}
    for each in given:
        topic, separator, schema = each.partition("=")
        if separator and not os.path.isfile(each):
            found[topic] = schema
        else:
            found |= _read_file(each)
    return found


def _read_file(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            document = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise UsageError(f"--schema {path!r} is neither TOPIC=SCHEMA nor a YAML file ({reason})") from None
    if not isinstance(document, dict) or not all(isinstance(each, str) for each in document.values()):
        raise UsageError(f"--schema {path}: write a line `TOPIC: SCHEMA` for each topic")
    return {str(topic): schema for topic, schema in document.items()}
