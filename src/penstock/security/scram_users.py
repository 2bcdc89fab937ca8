"""The users with SCRAM credentials: those of the cluster metadata, and this broker's own among brokers.

Brokers log in to each other before any of them knows the metadata: a node that joins, or all of them after the whole
cluster stood still. So on the listener of brokers the user and password that this broker itself shows to others are
good too, unless metadata has that user: all brokers of a cluster have the same ones in their files.
"""

import secrets
from collections.abc import Callable, Mapping
from itertools import islice

from penstock.security.scram_credentials import (
    SALT_BYTES,
    ScramCredential,
    ScramForm,
    ScramMechanism,
    credential_of_password,
    decoy_credential,
    form_of,
)

_USERS_COMPARED_MAX = 256


class ScramUsers:
    def __init__(
        self,
        stored: Callable[[], Mapping[tuple[str, int], ScramCredential]],
        secret: Callable[[], str | None],
    ) -> None:
        """`stored` are the credentials of the image, by user and mechanism; `secret` is the cluster's for decoys."""
        self._stored = stored
        self._secret = secret
        self._secret_until_then = (
            secrets.token_bytes()
        )  # no user has a credential yet: there is nothing to hide
        self._own: dict[tuple[str, str, int], ScramCredential] = {}

    def add_own(self, listener: str, mechanism: ScramMechanism, user: str, password: str) -> None:
        """Add the credential that brokers use among each other on `listener`."""
        salt = secrets.token_bytes(SALT_BYTES)
        self._own[listener, user, mechanism] = credential_of_password(mechanism, password, salt)

    def known(self, mechanism: ScramMechanism, listener: str, user: str) -> ScramCredential | None:
        return self._stored().get((user, mechanism)) or self._own.get((listener, user, mechanism))

    def decoy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """The challenge of an unknown user, in the form of the others; see `decoy_credential`."""
        secret = self._secret()
        return decoy_credential(
            mechanism, user, secret.encode() if secret else self._secret_until_then, self._forms(mechanism)
        )

    def _forms(self, mechanism: ScramMechanism) -> set[ScramForm]:
        """The forms of the first users of this mechanism, or else of any: enough, and logins stay cheap."""
        stored = self._stored()
        of_mechanism = (each for (_, number), each in stored.items() if number == mechanism)
        return {form_of(each) for each in islice(of_mechanism, _USERS_COMPARED_MAX)} or {
            form_of(each) for each in islice(stored.values(), _USERS_COMPARED_MAX)
        }
