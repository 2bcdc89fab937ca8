"""A section of the settings table; the modules of `settings/` fill them, `table.py` joins them."""

from typing import Any, NamedTuple, TypedDict, Unpack

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


class Bounded(NamedTuple):
    """A group's setting on the broker, with the minimum and the maximum that a single group may set."""

    setting: Property[int]
    low: Property[int]
    high: Property[int]


Range = tuple[float, float | None]
_POSITIVE: Range = (1, None)


class Section:
    """Each method adds one property and returns it, typed by its value."""

    def __init__(self, title: str, *, live: Live = Live.READ_ONLY) -> None:
        self.title = title
        self.properties: list[Property[object]] = []
        self.bounds: dict[str, Bounded] = {}
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

    def bounded(
        self,
        name: str,
        defaults: tuple[int, int, int],
        doc: str,
        *,
        ranges: tuple[Range, Range, Range] = (_POSITIVE, _POSITIVE, _POSITIVE),
        live: Live = Live.READ_ONLY,
    ) -> Bounded:
        """Add `group.KIND.NAME`, `group.KIND.min.NAME` and `group.KIND.max.NAME`."""
        prefix = name[: name.index(".", len("group.")) + 1]
        rest = name.removeprefix(prefix)
        rows = (
            (name, doc, live),
            (f"{prefix}min.{rest}", f"The minimum that a group may set for `{rest}`.", Live.READ_ONLY),
            (f"{prefix}max.{rest}", f"The maximum that a group may set for `{rest}`.", Live.READ_ONLY),
        )
        properties = []
        for (each, text, update), default, (low, high) in zip(rows, defaults, ranges, strict=True):
            options: Options = {"live": update, "at_least": low}
            if high is not None:
                options["at_most"] = high
            properties.append(self.integer(each, default, text, **options))
        return Bounded(*properties)

    def of_group(self, broker: Bounded) -> Property[int]:
        """Add the setting of one group that overrides a broker's setting."""
        prop = msgspec.structs.replace(
            broker.setting,
            name=broker.setting.name.removeprefix("group."),
            at_most=None,
            synonyms=(broker.setting.name,),
            live=self._live,
        )
        self.properties.append(prop)
        self.bounds[prop.name] = broker
        return prop

    def default_of(self, topic: Property[object], name: str) -> Property[object]:
        """Add the broker setting with the default of a topic setting: same type and bounds."""
        prop: Property[object] = msgspec.structs.replace(
            topic,
            name=name,
            doc=f"The default of `{topic.name}`. {topic.doc}",
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
