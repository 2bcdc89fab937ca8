"""Substitutes references in the values of a file.

    ${NAME}             the environment variable NAME
    ${NAME:-default}    its value, or the default if it is not set or empty
    ${file:/path}       the content of a file without its last line break: a secret, which is never printed
    $${NAME}            the text itself

Paths are relative to the pipeline file.
"""

import os
import re
from collections.abc import Mapping

from penstock.spark.pipeline.core.secrets import remember_secret

_REFERENCE = re.compile(r"\$(\$?)\{([^}]*)\}")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)
_FILE = "file:"
_SECRET_BYTES_MAX = 64 * 1024


def substitute(text: str, environment: Mapping[str, str], directory: str = ".") -> tuple[str, list[str]]:
    """Return the text with its references filled in, and messages about those that cannot be."""
    wrong: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        try:
            if match[2].startswith(_FILE):
                return _read_secret(match[2].removeprefix(_FILE).strip(), directory)
            return _variable(match, environment)
        except ValueError as reason:
            wrong.append(str(reason))
            return ""

    return _REFERENCE.sub(fill, text), wrong


def _variable(match: re.Match[str], environment: Mapping[str, str]) -> str:
    inside = _VARIABLE.fullmatch(match[2])
    if inside is None:
        raise ValueError(
            f"`{match[0]}` is not a variable: write ${{NAME}}, ${{file:/path}}, or $${{…}} for the text itself"
        )
    name, default = inside["name"], inside["default"]
    found = environment.get(name)
    if found is not None and (found or default is None):
        return found
    if default is not None:
        return str(default[2:])
    raise ValueError(
        f"the environment variable {name} is not set: set it, or give a default with ${{{name}:-…}}"
    )


def _read_secret(path: str, directory: str) -> str:
    full = os.path.abspath(os.path.join(directory, path))
    try:
        with open(full, "rb") as file:
            content = file.read(_SECRET_BYTES_MAX + 1)
        text = content.decode()
    except OSError as reason:
        raise ValueError(
            f"cannot read the file {full} for ${{{_FILE}{path}}}: {reason.strerror}. Create it, or correct the path"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"the file {full} for ${{{_FILE}{path}}} is not UTF-8 text") from None
    if len(content) > _SECRET_BYTES_MAX:
        raise ValueError(f"the file {full} has more than {_SECRET_BYTES_MAX} bytes: this is no secret")
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret:
        raise ValueError(f"the file {full} for ${{{_FILE}{path}}} is empty")
    remember_secret(secret)
    return secret
