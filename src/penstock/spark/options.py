"""Options of the data sources, as given by `.option(...)`.

Case and underscores are ignored: `merge_schema` and `mergeSchema` are one option. Options under `kafka.` go to the
client, with Kafka's names, as in Spark's Kafka connector; those under `storage.` and `catalog.` to an object store and
to a catalog of tables.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.client.errors import SettingsError
from penstock.client.settings import ClientSettings

_KAFKA: Final = "kafka."
_VERBATIM: Final = (_KAFKA, "storage.", "catalog.")  # names that go to others


class OptionError(ValueError):
    """An option is missing, wrong, or contradicts another."""


class Options:
    """Read-only and picklable."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {_normalized(name): str(value) for name, value in given.items()}

    def text(self, name: str) -> str | None:
        return self._given.get(_normalized(name))

    def is_given(self, name: str) -> bool:
        return self.text(name) is not None

    def names(self, name: str) -> tuple[str, ...]:
        return tuple(each.strip() for each in (self.text(name) or "").split(",") if each.strip())

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        text = self.text(name)
        if text is None:
            return None
        value = text.strip().lower()
        if value not in choices:
            listed = " or ".join(choices) if len(choices) == 2 else f"one of {', '.join(choices)}"
            raise OptionError(f"option {name} must be {listed}, not {text!r}")
        return value

    def boolean(self, name: str, default: bool = False) -> bool:
        value = self.choice(name, ("true", "false"))
        return default if value is None else value == "true"

    def integer(self, name: str, *, minimum: int = 1) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = int(text.strip())
        except ValueError:
            raise OptionError(f"option {name} must be a whole number, not {text!r}") from None
        if value < minimum:
            raise OptionError(f"option {name} must be at least {minimum}, not {value}")
        return value

    def kafka_properties(self, refused: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the client properties. `refused` maps properties that may not be set to advice."""
        for name, instead in (refused or {}).items():
            if self.is_given(_KAFKA + name):
                raise OptionError(f"option {_KAFKA}{name} is not supported: {instead}")
        return {
            name.removeprefix(_KAFKA): value for name, value in self._given.items() if name.startswith(_KAFKA)
        }

    def below(self, prefix: str) -> dict[str, str]:
        """Return the options with a prefix that passes names on unchanged, such as `storage.`."""
        return {
            name.removeprefix(prefix): value for name, value in self._given.items() if name.startswith(prefix)
        }

    def client_settings(self, refused: Mapping[str, str] | None = None) -> ClientSettings:
        if not self.text("kafka.bootstrap.servers"):
            raise OptionError(
                "option kafka.bootstrap.servers must be set: the addresses of one or more brokers, as host:port"
            )
        try:
            return ClientSettings.from_properties(self.kafka_properties(refused))
        except SettingsError as error:
            raise OptionError(f"option {_KAFKA}{error}") from error


def _normalized(name: str) -> str:
    return name.lower() if name.lower().startswith(_VERBATIM) else name.replace("_", "").lower()
