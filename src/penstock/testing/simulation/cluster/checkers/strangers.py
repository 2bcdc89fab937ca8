"""What a node outside the cluster gets: nothing that is for brokers only is done for it, and nobody connects to it."""

from collections import Counter
from typing import Any

import msgspec

from penstock.protocol.apis import APIS
from penstock.protocol.errors import ErrorCode
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

INVARIANT = "strangers are refused"


class StrangerChecker:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.refused: Counter[int] = Counter()
        """How many requests of each API were refused."""

    def is_answered(self, key: int, request: Any, answer: Any) -> None:
        """To a request that is for brokers only: each error in the answer says that it is not for this client."""
        codes = codes_of(answer)
        if codes == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}:
            self.refused[key] += 1
        else:
            self._fail(f"{APIS[key].name} is answered with {_names(codes)}: {request}")

    def is_told(self, key: int, request: Any, answer: Any) -> None:
        """To a request that administrators may send, but not with what it says: it fails, for whatever reason."""
        if ErrorCode.NONE in codes_of(answer):
            self._fail(f"{APIS[key].name} is done: {request}")
        else:
            self.refused[key] += 1

    def is_connected_to(self, node: str) -> None:
        self._fail(f"{node} connects to a node that only a forged request names")

    def changes(self, what: str) -> None:
        """Something in the metadata that only a stranger has asked for."""
        self._fail(what)

    def _fail(self, detail: str) -> None:
        self._verdict.fail(INVARIANT, detail)


def _names(codes: set[ErrorCode]) -> str:
    return ", ".join(sorted(each.name for each in codes)) or "no error"


def codes_of(answer: Any) -> set[ErrorCode]:
    """Every error code of an answer, wherever it stands."""
    if isinstance(answer, list):
        return {code for each in answer for code in codes_of(each)}
    found = set()
    if isinstance(answer, msgspec.Struct):
        for name in answer.__struct_fields__:
            value = getattr(answer, name)
            found |= {ErrorCode(value)} if name.endswith("error_code") else codes_of(value)
    return found
