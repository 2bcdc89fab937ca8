"""Encodes a batch of values, with the reasons for those that cannot be encoded. No I/O."""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from penstock.spark.text import shortened


class EncoderError(ValueError):
    """The settings of an encoder are wrong, or the columns do not fit its schema; the message says what to change."""


class Unencodable(Exception):
    """The value cannot be encoded; the message is the reason in its dead letter."""


class ValueEncoder(Protocol):
    """Created on the driver, pickled, used by workers."""

    def writer(self) -> Callable[[Any], bytes]:
        """Return a function from a value to bytes, which may raise `Unencodable`; once for each task."""


def encode_array(
    write: Callable[[Any], bytes], array: "pa.Array[Any]"
) -> tuple[list[bytes | None], list[str | None]]:
    """Encode each value. A null stays null: in a topic it is a tombstone."""
    encoded: list[bytes | None] = []
    errors: list[str | None] = []
    for value in _python_values(array):
        body, error = None, None
        try:
            if isinstance(value, Unencodable):
                raise value
            if value is not None:
                body = write(value)
        except Unencodable as reason:
            error = str(reason)
        encoded.append(body)
        errors.append(error)
    return encoded, errors


def _python_values(array: "pa.Array[Any]") -> list[Any]:
    """Return the values; one that Python does not have, such as a date after the year 9999, is an `Unencodable`."""
    try:
        return array.to_pylist(maps_as_pydicts="strict")
    except (ValueError, OverflowError, KeyError):
        return [_python_value(each) for each in array]


def _python_value(scalar: "pa.Scalar[Any]") -> Any:
    try:
        return scalar.as_py(maps_as_pydicts="strict")
    except UnicodeDecodeError:
        return Unencodable("a text is not UTF-8")
    except KeyError:
        return Unencodable("a map has a key twice")
    except (ValueError, OverflowError) as error:
        return Unencodable(f"a value is out of range: {error}")


def refuse_null(path: str) -> Unencodable:
    return Unencodable(f"{path or 'the value'}: null, but the schema does not allow null")


def refuse_value(path: str, value: object, reason: str) -> Unencodable:
    return Unencodable(f"{path or 'the value'}: {shortened(value)} {reason}")


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
