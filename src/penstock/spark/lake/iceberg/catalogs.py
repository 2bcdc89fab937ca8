"""The catalogs of Iceberg tables: the place that decides which of two commits is the table's next version.

`PathCatalog` is SQLite in the table's own `metadata/` directory: no server, and a table that is found by its path.
`NamedCatalog` is any catalog that pyiceberg knows (REST, Glue, SQL, Hive, …), by pyiceberg's own configuration file and
environment, and by the properties that the user wrote.
"""

import contextlib
import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError, NotInstalledError

from penstock.spark.lake.disk import Disk
from penstock.spark.lake.errors import StorageError, TableError, storage_errors
from penstock.spark.lake.location import Location, location_of
from penstock.spark.lake.storage_options import options_from_iceberg, settings_for

_NAMESPACE = "penstock"
_CATALOG_FILE = "metadata/penstock-catalog.db"
_NEW_CATALOG_FILE = "metadata/penstock-catalog.new.db"
_LOCK_FILE = "metadata/penstock-catalog.db.lock"
_HINT_FILE = "metadata/version-hint.text"
_CATALOG_TIMEOUT_S = 60
_OUR_RETRIES = {"commit.retry.num-retries": "0"}


class TableCatalog(ABC):
    """The catalog of one table."""

    identifier: tuple[str, ...]

    @abstractmethod
    def open(self) -> contextlib.AbstractContextManager[Any | None]:
        """Open pyiceberg's catalog; None if there is none yet."""

    @abstractmethod
    def prepare(self) -> None:
        """Create what the table needs before it can be created."""

    @abstractmethod
    def new_table_path(self) -> str | None:
        """Return the place for a new table; None if the catalog chooses it."""

    @abstractmethod
    def files_of(self, table: Any) -> Location:
        """Return the root of a table's files, with the credentials that the catalog gave for them."""

    def on_commit(self, table: Any) -> None:  # noqa: B027 - most catalogs need nothing
        """Do what must follow each commit."""

    def load_table(self, catalog: Any | None) -> Any | None:
        """Load the table as it is now; None if there is none."""
        if catalog is None:
            return None
        try:
            table = catalog.load_table(self.identifier)
        except NoSuchTableError:
            return None
        # pyiceberg would repeat a lost commit without looking whether its batch was committed meanwhile.
        properties = {**table.metadata.properties, **_OUR_RETRIES}
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        return table


class PathCatalog(TableCatalog):
    identifier = (_NAMESPACE, "table")

    def __init__(self, location: Location, disk: Disk) -> None:
        self._location = location
        self._disk = disk

    @contextlib.contextmanager
    def open(self) -> Iterator[Any | None]:
        if not self._disk.exists(_CATALOG_FILE):
            yield None
            return
        with self._sqlite(_CATALOG_FILE) as catalog:
            yield catalog

    @contextlib.contextmanager
    def _sqlite(self, name: str, init_catalog_tables: str = "false") -> Iterator[Any]:
        root = self._location.path
        uri = f"sqlite:///{root}/{name}?timeout={_CATALOG_TIMEOUT_S}"
        catalog = SqlCatalog(_NAMESPACE, uri=uri, warehouse=root, init_catalog_tables=init_catalog_tables)
        try:
            yield catalog
        finally:
            catalog.engine.dispose()

    def prepare(self) -> None:
        """Create the catalog under another name and move it, so that a catalog that exists is complete."""
        with self._disk.locked(_LOCK_FILE):
            if self._disk.exists(_CATALOG_FILE):
                return
            with self._sqlite(_NEW_CATALOG_FILE, init_catalog_tables="true") as catalog:
                catalog.create_namespace_if_not_exists(_NAMESPACE)
            self._disk.move(_NEW_CATALOG_FILE, _CATALOG_FILE)

    def new_table_path(self) -> str | None:
        return self._location.path

    def files_of(self, table: Any) -> Location:  # noqa: ARG002 - the same for every version
        return self._location

    def on_commit(self, table: Any) -> None:
        """Name the newest metadata for readers without the catalog; after a crash, with the next commit."""
        name = os.path.basename(table.metadata_location).removesuffix(".metadata.json")
        self._disk.write(_HINT_FILE, name.encode())


class NamedCatalog(TableCatalog):
    def __init__(self, location: Location) -> None:
        self._location = location
        self.identifier = tuple(location.path.split("."))

    @contextlib.contextmanager
    def open(self) -> Iterator[Any | None]:
        with storage_errors(f"{self._location} in {_label(self._location)}"):
            yield _load(self._location)

    def prepare(self) -> None:
        with self.open() as catalog:
            assert catalog is not None
            if not catalog.namespace_exists(self.identifier[:-1]):
                catalog.create_namespace_if_not_exists(self.identifier[:-1])

    def new_table_path(self) -> str | None:
        return None

    def files_of(self, table: Any) -> Location:
        found = location_of(table.location())
        if not found.is_remote:
            return found
        return location_of(
            table.location(), {**self._location.options, **options_from_iceberg(table.io.properties)}
        )


@functools.lru_cache(maxsize=32)
def _load(location: Location) -> Any:
    """Load the catalog of a location once in a process: it keeps connections and tokens."""
    given = dict(location.catalog or {})
    name = given.pop("name", None)
    storage = {
        key: value
        for scheme in ("s3", "gs", "abfss")
        for key, value in settings_for(_store_of(location, scheme)).for_pyiceberg(scheme).items()
    }
    try:
        return load_catalog(name, **{**storage, **given})
    except NotInstalledError as error:
        raise TableError(f"{_label(location)}: {error}") from error
    except ValueError as error:
        raise TableError(
            f"{_label(location)} cannot be used: {error}. Describe it with `type`, `uri`, …, or in "
            "pyiceberg's own file .pyiceberg.yaml"
        ) from error
    except Exception as error:
        with storage_errors(_label(location)):
            raise
        raise StorageError(f"{_label(location)}: {error}") from error


def _store_of(location: Location, scheme: str) -> Location:
    """The store is known only when the table is: prepare for each kind."""
    return Location(path=f"{scheme}://any/table", options=location.options)


def _label(location: Location) -> str:
    catalog = location.catalog or {}
    return f"the catalog {catalog.get('name') or catalog.get('uri') or catalog.get('type') or 'default'}"
