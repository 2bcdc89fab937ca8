"""The arguments that say which table a command is about: a directory, a URL, or a name in an Iceberg catalog."""

from typing import TYPE_CHECKING

import typer

from penstock.cli.connect.settings import parse_pairs
from penstock.cli.options import takes

if TYPE_CHECKING:
    from penstock.spark.lake.location import Location

_Path: str = typer.Argument(
    metavar="PATH", help="The table's directory, its URL, or its name in the catalog (NAMESPACE.TABLE)."
)
_Options: list[str] = typer.Option(
    [],
    "--option",
    "-o",
    metavar="KEY=VALUE",
    help="Set an option of the object store, such as aws_region (repeatable).",
)
_Catalog: str | None = typer.Option(
    None,
    metavar="NAME",
    help="Find the table in this Iceberg catalog, which pyiceberg's configuration describes.",
)
_CatalogOptions: list[str] = typer.Option(
    [],
    "--catalog-option",
    metavar="KEY=VALUE",
    help="Set a property of the catalog, such as uri (repeatable).",
)


class Place:
    __slots__ = ("_catalog", "_options", "path")

    def __init__(
        self,
        path: str = _Path,
        options: list[str] = _Options,
        catalog: str | None = _Catalog,
        catalog_options: list[str] = _CatalogOptions,
    ) -> None:
        self.path = path
        self._options = parse_pairs(options, "--option")
        self._catalog = parse_pairs(catalog_options, "--catalog-option")
        if catalog is not None:
            self._catalog["name"] = catalog

    def location(self) -> "Location":
        """Raises TableError if there can be no table."""
        from penstock.spark.lake.location import location_of

        return location_of(self.path, self._options, self._catalog or None)


at_table = takes(Place)
"""Adds the table and the options to reach it to a command, which gets a `Place` as its first argument."""
