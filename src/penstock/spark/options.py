"""Options of the data source, as a person wrote them after `.option(...)`.

Spark passes names in lower case, so case is ignored; errors use the documented spelling. Options under `kafka.` go to
the client, with Kafka's names, as in Spark's Kafka connector.
"""

from collections.abc import Mapping
from typing import Final

from penstock.client.errors import SettingsError
from penstock.client.settings import ClientSettings

_KAFKA: Final = "kafka."
_BOOLEANS: Final = {"true": True, "false": False}


class OptionError(ValueError):
    """An option is missing, wrong, or contradicts another."""


class Options:
    """Read-only and picklable."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): str(value) for name, value in given.items()}

    def text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def is_given(self, name: str) -> bool:
        return name.lower() in self._given

    def boolean(self, name: str, default: bool) -> bool:
        text = self.text(name)
        if text is None:
            return default
        value = _BOOLEANS.get(text.strip().lower())
        if value is None:
            raise OptionError(f"option {name} must be true or false, not {text!r}")
        return value

    def integer(self, name: str, *, least: int = 1) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = int(text.strip())
        except ValueError:
            raise OptionError(f"option {name} must be a whole number, not {text!r}") from None
        if value < least:
            raise OptionError(f"option {name} must be at least {least}, not {value}")
        return value

    def kafka_properties(self, refused: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the client properties. `refused` maps properties that may not be set to advice."""
        for name, instead in (refused or {}).items():
            if self.is_given(_KAFKA + name):
                raise OptionError(f"option {_KAFKA}{name} is not supported: {instead}")
        return {
            name.removeprefix(_KAFKA): value for name, value in self._given.items() if name.startswith(_KAFKA)
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
