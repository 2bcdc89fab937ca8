"""A table of settings that belong together; each module of `themes/` fills one, `table.py` joins them."""

from typing import Any, TypedDict, Unpack

import msgspec

from penstock.config.property import Check, Kind, Live, Property, Value


class Options(TypedDict, total=False):
    at_least: float
    at_most: float
    choices: tuple[str, ...]
    check: Check
    live: Live
    synonyms: tuple[str, ...]
    scale: int
    ignored: bool


class Theme:
    """Each method adds one property and gives it back, typed by the value it will have."""

    def __init__(self, title: str, *, live: Live = Live.READ_ONLY) -> None:
        self.title = title
        self.properties: list[Property[object]] = []
        self._live = live

    def boolean(self, name: str, default: bool, doc: str, **options: Unpack[Options]) -> Property[bool]:
        return self._add(name, Kind.BOOLEAN, default, doc, options)

    def integer(self, name: str, default: int, doc: str, **options: Unpack[Options]) -> Property[int]:
        return self._add(name, Kind.INT, default, doc, options)

    def short(self, name: str, default: int, doc: str, **options: Unpack[Options]) -> Property[int]:
        return self._add(name, Kind.SHORT, default, doc, options)

    def long(self, name: str, default: int, doc: str, **options: Unpack[Options]) -> Property[int]:
        return self._add(name, Kind.LONG, default, doc, options)

    def double(self, name: str, default: float, doc: str, **options: Unpack[Options]) -> Property[float]:
        return self._add(name, Kind.DOUBLE, default, doc, options)

    def string(self, name: str, default: str, doc: str, **options: Unpack[Options]) -> Property[str]:
        return self._add(name, Kind.STRING, default, doc, options)

    def names(
        self, name: str, default: tuple[str, ...], doc: str, **options: Unpack[Options]
    ) -> Property[tuple[str, ...]]:
        """Add a comma-separated list."""
        return self._add(name, Kind.LIST, default, doc, options)

    def optional_integer(self, name: str, doc: str, **options: Unpack[Options]) -> Property[int | None]:
        return self._add(name, Kind.INT, None, doc, options)

    def optional_long(self, name: str, doc: str, **options: Unpack[Options]) -> Property[int | None]:
        return self._add(name, Kind.LONG, None, doc, options)

    def optional_string(self, name: str, doc: str, **options: Unpack[Options]) -> Property[str | None]:
        return self._add(name, Kind.STRING, None, doc, options)

    def password(self, name: str, doc: str, **options: Unpack[Options]) -> Property[str | None]:
        return self._add(name, Kind.PASSWORD, None, doc, options)

    def optional_names(
        self, name: str, doc: str, **options: Unpack[Options]
    ) -> Property[tuple[str, ...] | None]:
        return self._add(name, Kind.LIST, None, doc, options)

    def ignored(self, reason: str, rows: str) -> None:
        """Add settings without effect, one a line: name, type, default, update, least value if there is one.

        `-` stands for no default, `""` for an empty one.
        """
        for row in filter(None, map(str.strip, rows.splitlines())):
            name, kind, default, live, *least = row.split()
            options: Options = {"live": Live(live), "ignored": True}
            if least:
                options["at_least"] = int(least[0])
            bare = self._add(name, Kind[kind.upper()], None, reason, options)
            if default != "-":
                value = bare.parse("" if default == '""' else default)
                self.properties[-1] = msgspec.structs.replace(bare, default=value)

    def default_of(self, topic: Property[object], name: str) -> Property[object]:
        """Add the broker setting that a topic without its own value takes: same type, default and bounds."""
        prop: Property[object] = msgspec.structs.replace(
            topic,
            name=name,
            doc=f"What a topic that does not set `{topic.name}` itself takes. {topic.doc}",
            synonyms=(),
            live=Live.CLUSTER_WIDE,
        )
        self.properties.append(prop)
        return prop

    def _add(self, name: str, kind: Kind, default: Value, doc: str, options: Options) -> Property[Any]:
        options.setdefault("live", self._live)
        if options.get("ignored"):
            doc += " Without effect."
        prop: Property[Any] = Property(name=name, kind=kind, default=default, doc=doc, **options)
        self.properties.append(prop)
        return prop
