"""Between the quorum's own messages and Kafka's: every request and answer is about partition 0 of one topic.

A request about anything else raises `NotTheQuorum`, and is answered with INVALID_REQUEST: there is one quorum.
"""

from penstock.cluster.quorum.wire.apis import APIS, Api, NotTheQuorum
from penstock.cluster.quorum.wire.requests import decode_request, encode_request, is_about_quorum
from penstock.cluster.quorum.wire.responses import decode_response, encode_response

__all__ = [
    "APIS",
    "Api",
    "NotTheQuorum",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "is_about_quorum",
]
