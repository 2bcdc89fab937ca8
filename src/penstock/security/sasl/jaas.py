"""`sasl.jaas.config`: who is who, in the form of Kafka's login modules.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="admin" password="admin-secret" user_alice="alice-secret";

`username` and `password` are who this broker is towards other brokers; `user_NAME` are those who may log in by PLAIN.
Several modules may stand in one text, each ended by its semicolon; the class's own name counts, not its package.
"""

import re
from collections.abc import Mapping

import msgspec

from penstock.config.property import ConfigError

_FLAGS = ("required", "requisite", "sufficient", "optional")
_WORD = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^\s=;"\']+)|([=;]))')
_USER_PREFIX = "user_"


class LoginModule(msgspec.Struct, frozen=True, kw_only=True):
    """One module with its options. It is not shown with them: they are secrets."""

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule(name={self.name!r})"

    @property
    def users(self) -> dict[str, str]:
        """Passwords by user, of `user_NAME` options."""
        return {
            name.removeprefix(_USER_PREFIX): value
            for name, value in self.options.items()
            if name.startswith(_USER_PREFIX)
        }


def parse_jaas(text: str, setting: str = "sasl.jaas.config") -> list[LoginModule]:
    """The modules of a text. Raises `ConfigError`, whose message has nothing of it."""
    words = iter(_words(text, setting))
    modules = []
    for name, is_sign in words:
        flag, _ = next(words, ("", False))
        if is_sign or flag.lower() not in _FLAGS:
            raise _invalid(setting, '"required" must follow the module\'s name')
        options: dict[str, str] = {}
        for key, is_end in words:
            if is_end:
                break
            sign, value = next(words, None), next(words, None)
            if sign != ("=", True) or value is None or value[1]:
                raise _invalid(setting, 'options must be written as name="value"')
            options[key] = value[0]
        else:
            raise _invalid(setting, "a module must end with a semicolon")
        modules.append(LoginModule(name=name.rpartition(".")[2], options=options))
    return modules


def _words(text: str, setting: str) -> list[tuple[str, bool]]:
    """The words, and whether each is a sign (`=` or `;`)."""
    words: list[tuple[str, bool]] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise _invalid(setting, "a quotation mark is not closed")
        double, single, bare, sign = match.groups()
        quoted = double if double is not None else single
        if sign is not None:
            words.append((sign, True))
        else:
            words.append((re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else bare, False))
        position = match.end()
    return words


def _invalid(setting: str, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value [hidden] for configuration {setting}: {reason}")
