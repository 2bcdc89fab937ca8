"""Errors of tables. Spark and the command line show their texts to users."""

import contextlib
import re
from collections.abc import Iterator


class TableError(Exception):
    """The base of this package's errors."""


class SchemaMismatch(TableError):
    """The rows do not fit the table."""


class CommitConflict(TableError):
    """Other writers changed the table each time this commit was tried."""


class StorageError(TableError):
    """The object store or the catalog refused a request, or cannot be reached."""


# text of a library's error -> what is wrong, and what to do
_REASONS = (
    (
        (
            r"169\.254\.169\.254|Unable to locate credentials|NoCredentials|metadata\.google\.internal"
            r"|Account must be specified|could not load default credentials"
        ),
        "no credentials were found: set the store's options or environment variables",
    ),
    (
        r"NoSuchBucket|ContainerNotFound|specified bucket does not exist|NO_SUCH_BUCKET",
        "the bucket does not exist: create it, or correct the URL",
    ),
    (
        (
            r"InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|AuthenticationFailed|UnrecognizedClient"
            r"|InvalidClientTokenId|401 Unauthorized|UnauthorizedError|Unauthenticated"
        ),
        "the credentials were refused: check the key or token, its secret and its expiry",
    ),
    (
        r"AccessDenied|403 Forbidden|ForbiddenError|ACCESS_DENIED|PermissionDenied|AuthorizationPermissionMismatch",
        "permission was denied: the credentials may not read, write or list there",
    ),
    (
        (
            r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|301 Moved"
            r"|Received redirect without LOCATION"
        ),
        "the bucket is in another region: set the option aws_region, or AWS_REGION",
    ),
    (
        (
            r"error sending request|tcp connect error|dns error|Connection refused|ConnectError|NETWORK_CONNECTION"
            r"|Max retries exceeded|Could not connect to the endpoint|Couldn't resolve host|NewConnectionError"
        ),
        "the endpoint cannot be reached: check its address and the network",
    ),
)
_CODES = (r"<Code>(\w+)</Code>", r"\b((?:NO|ACCESS|NETWORK)_[A-Z_]+)\b", r"\b([345]\d\d [A-Z][A-Za-z]+)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m|↳")
_QUERY = re.compile(r"\?[^\s\"']+")  # may be signed
_TEXT_MAX = 300


def storage_reason(text: str) -> str | None:
    """Return what is wrong with the store and what to do; None if the text names nothing that is known."""
    for pattern, reason in _REASONS:
        if found := re.search(pattern, text):
            codes = (code[1] for each in _CODES if (code := re.search(each, text)))
            return f"{reason} ({next(codes, found[0])})"
    return None


@contextlib.contextmanager
def storage_errors(where: object) -> Iterator[None]:
    """Turn errors of the libraries' object stores and catalogs into one line that names the place and the cause."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        reason = storage_reason(text)
        is_store_error = isinstance(error, OSError) or type(error).__module__.startswith("obstore")
        if reason is None and not is_store_error:
            raise
        raise StorageError(f"{where}: {reason or _first_words(text)}") from error


def _first_words(text: str) -> str:
    text = text.partition("\nDebug source:")[0]
    return " ".join(_QUERY.sub("", _COLOURS.sub("", text)).split())[:_TEXT_MAX]
