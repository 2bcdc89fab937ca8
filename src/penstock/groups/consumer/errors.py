"""What a KIP-848 group says to a request that it does not take."""

from penstock.protocol.errors import ErrorCode


class Refused(Exception):
    """Nothing was changed; `message` tells the client's owner why."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
