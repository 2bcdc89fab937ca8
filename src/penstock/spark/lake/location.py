"""Where a table is: a directory, the URL of an object store, or a name in an Iceberg catalog; and how to reach it.

    /data/orders              a directory that the driver and all workers reach; also as `file:` URI
    s3://bucket/orders        an object store: `s3`, `gs`, `abfss` and their synonyms
    shop.orders               with a catalog: the namespace and the name of an Iceberg table

Options may be secrets, so a location is shown as its path alone.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from penstock.spark.lake.errors import TableError

# The spelling under which obstore, deltalake and pyiceberg all know a store.
_SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfss": "abfss",
    "abfs": "abfss",
    "az": "az",
}


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """`options` are those of the object store, `catalog` the properties of an Iceberg catalog, with its `name`."""

    path: str
    options: Mapping[str, str] = {}
    catalog: Mapping[str, str] | None = None

    @property
    def scheme(self) -> str:
        """The scheme of a URL; empty for a directory and for a name in a catalog."""
        return urlsplit(self.path).scheme if "://" in self.path else ""

    @property
    def is_remote(self) -> bool:
        return bool(self.scheme)

    def spark_options(self) -> dict[str, str]:
        """Return the options of `format("penstock_lake")` that mean this location."""
        found = {"path": self.path}
        found |= {f"storage.{name}": value for name, value in self.options.items()}
        for name, value in (self.catalog or {}).items():
            found["catalog" if name == "name" else f"catalog.{name}"] = value
        return found

    def __repr__(self) -> str:
        return f"Location({self.path!r})"

    def __str__(self) -> str:
        return self.path

    def __hash__(self) -> int:
        return hash((self.path, frozenset(self.options.items()), frozenset((self.catalog or {}).items())))


def location_of(
    given: str, options: Mapping[str, str] | None = None, catalog: Mapping[str, str] | None = None
) -> Location:
    """Return the location that a user has written. Raises TableError if there can be no table.

    An option without a value is not set, as with environment variables.
    """
    options = {name: value for name, value in (options or {}).items() if value}
    if catalog is not None:
        return _in_catalog(given, options, catalog)
    scheme, _, rest = given.partition(":")
    if scheme == "file":
        given = "/" + rest.lstrip("/")
    elif rest.startswith("//"):
        return _at_url(given, options)
    if options:
        raise TableError(
            f"{given} is a directory, and the options {', '.join(sorted(options))} are for object stores: remove them"
        )
    return Location(path=os.path.abspath(given))


def _at_url(given: str, options: Mapping[str, str]) -> Location:
    parts = urlsplit(given)
    scheme = _SCHEMES.get(parts.scheme.lower())
    if scheme is None:
        raise TableError(
            f"{_without_password(given)}: tables can be in directories and at s3://, gs:// and abfss:// URLs"
        )
    if parts.password is not None:
        raise TableError(
            f"{_without_password(given)} has a secret in it, which logs would show: "
            "remove it, and set the store's options or environment variables"
        )
    if not parts.netloc or not parts.path.strip("/"):
        raise TableError(f"{given} names no directory in a bucket: write {scheme}://BUCKET/DIRECTORY")
    return Location(path=f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}", options=dict(options))


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return url if parts.password is None else url.replace(f":{parts.password}@", ":…@")


def _in_catalog(given: str, options: Mapping[str, str], catalog: Mapping[str, str]) -> Location:
    namespace, _, name = given.rpartition(".")
    if not namespace or not name or "/" in given:
        raise TableError(
            f"{given} is no name of a table in a catalog: write NAMESPACE.TABLE, or remove `catalog` for a path"
        )
    return Location(path=given, options=dict(options), catalog=dict(catalog))
