r"""The user name of a certificate: its subject, and the mapping rules (KIP-371).

`ssl.principal.mapping.rules` is a comma-separated list of which the first matching rule wins. `DEFAULT` takes the
whole subject (`CN=alice,OU=ops,O=Penstock`); `RULE:pattern/replacement/` takes the replacement, with `$1` for the first
group, in lower case with an `L` behind it and in upper case with a `U`. A subject that matches no rule is rejected.
"""

import re
from collections.abc import Sequence

from penstock.config.property import ConfigError

_RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)\s*")
_BACK_REFERENCE = re.compile(r"\\(.)|\$(\d+)")

_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "domainComponent": "DC",
    "userId": "UID",
}
_EMAIL = "emailAddress"
_EMAIL_OID, _IA5_STRING = "1.2.840.113549.1.9.1", 0x16
_SPECIAL = re.compile(r'([,+"\\<>;=#])')

Subject = Sequence[Sequence[tuple[str, str]]]
"""As `ssl` has it: relative names, outermost first, each of one or more attributes."""


class NoMatchingRule(Exception):
    """No rule matches the subject, which is in the message."""


class PrincipalRules:
    def __init__(self, text: str) -> None:
        """Raises `ConfigError`."""
        self._rules = _parse(text)

    def name_of(self, subject: str) -> str:
        """Raises `NoMatchingRule`."""
        for rule in self._rules:
            if name := rule.apply(subject):  # a user name is not empty
                return name
        raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules fits {subject}")


class _Rule:
    def __init__(self, pattern: str | None = None, replacement: str = "", case: str = "") -> None:
        self._pattern = None if pattern is None else re.compile(pattern)
        self._replacement = replacement
        self._case = case

    def apply(self, subject: str) -> str | None:
        if self._pattern is None:
            return subject
        match = self._pattern.fullmatch(subject)
        if match is None:
            return None
        name = _BACK_REFERENCE.sub(lambda reference: _referred(match, reference), self._replacement)
        return name.lower() if self._case == "L" else name.upper() if self._case == "U" else name


def _referred(match: "re.Match[str]", reference: "re.Match[str]") -> str:
    """`$12` is the twelfth group, or with fewer groups the first one and a 2; without such a group it stays
    unchanged.
    """
    if reference[2] is None:
        return reference[1]
    digits: str = reference[2]
    count = match.re.groups
    for end in range(len(digits), 0, -1):
        if int(digits[:end]) <= count:
            return (match[int(digits[:end])] or "") + digits[end:]
    return reference[0]


def _parse(text: str) -> list[_Rule]:
    rules = []
    position = 0
    text = text.strip()
    while position < len(text):
        if (match := re.compile(r"DEFAULT\s*").match(text, position)) is not None:
            rules.append(_Rule())
        elif (match := _RULE.match(text, position)) is not None:
            rules.append(_rule(match))
        else:
            raise _invalid(text, f"expected DEFAULT or RULE:pattern/replacement/[LU] at {text[position:]!r}")
        position = match.end()
        if position < len(text):
            if text[position] != ",":
                raise _invalid(text, f"expected a comma at {text[position:]!r}")
            position += 1
            position += len(text[position:]) - len(text[position:].lstrip())
    return rules or [_Rule()]


def _rule(match: "re.Match[str]") -> _Rule:
    try:
        return _Rule(match[1], match[2], match[3])
    except re.error as error:
        raise _invalid(match[0], f"{match[1]} is not a pattern ({error})") from None


def _invalid(text: str, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value {text} for configuration ssl.principal.mapping.rules: {reason}")


def subject_name(subject: Subject) -> str:
    """The subject in the form of RFC 2253, innermost first, as Java writes it.

    Attributes that RFC 2253 has no name for (a serial number, a title) have OpenSSL's; Java writes their numbers.
    """
    return ",".join("+".join(_attribute(*each) for each in names) for names in reversed(subject))


def _attribute(name: str, value: str) -> str:
    if name == _EMAIL:  # not among the names of RFC 2253: the number, and the value as it is encoded
        encoded = value.encode()
        size = len(encoded)
        length = bytes([size]) if size < 0x80 else b"\x82" + size.to_bytes(2)
        return f"{_EMAIL_OID}=#{_IA5_STRING:02x}{length.hex()}{encoded.hex()}"
    escaped = _SPECIAL.sub(r"\\\1", value)
    if escaped.startswith(" "):
        escaped = "\\" + escaped
    if escaped.endswith(" "):
        escaped = escaped[:-1] + "\\ "
    return f"{_SHORT.get(name, name)}={escaped}"
