"""Counters of logins and TLS handshakes."""


class IdentityCounts:
    __slots__ = (
        "failed_logins",
        "failed_reauthentications",
        "failed_tls_handshakes",
        "good_logins",
        "good_reauthentications",
        "sessions_expired",
        "tls_handshakes",
    )

    def __init__(self) -> None:
        self.good_logins = 0
        self.failed_logins = 0
        self.good_reauthentications = 0
        self.failed_reauthentications = 0
        self.sessions_expired = 0  # connections closed without a re-authentication in time (KIP-368)
        self.tls_handshakes = 0
        self.failed_tls_handshakes = 0
