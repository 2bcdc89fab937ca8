"""The client settings by which the brokers reach a source, from a file on this host."""

from penstock.cli.connect.settings import read_settings
from penstock.cli.errors import UsageError
from penstock.client.errors import SettingsError
from penstock.client.settings import ClientSettings

_CA_FILE, _CA = "ssl.truststore.location", "ssl.truststore.certificates"


def source_properties(path: str | None, servers: str) -> str:
    """The text of the file, with the trusted certificates in it instead of the name of their file.

    A client certificate with its key stays a file: it has to be under this name on every broker.
    """
    if path is None:
        return ""
    settings = read_settings([path])
    location = settings.pop(_CA_FILE, None) or settings.pop("ssl.ca.location", None)
    if location is not None:
        try:
            with open(location, encoding="ascii") as file:
                settings[_CA] = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{_CA_FILE}={location} cannot be read: it must be a PEM file ({error})"
            ) from None
    try:
        ClientSettings.from_properties({**settings, "bootstrap.servers": servers})
    except SettingsError as error:
        raise UsageError(f"--command-config {path}: {error}") from None
    return "".join(f"{name}={_escape(value)}\n" for name, value in settings.items())


def _escape(value: str) -> str:
    """As Java's properties are written: on one line."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
