"""Why a goal is missed, as the profile of (z) and the other figures show. The page tells it only where one is.

Kept beside the code that measures, because it is as true as the design that it speaks of.
"""

from collections.abc import Mapping
from typing import Final

REASONS: Final[Mapping[str, str]] = {
    "b": (
        "Between two syncs of a lone producer lie three sleeps: the broker's for the request, its sleep until the "
        "kernel's worker has synced, and the client's for the answer. On this virtual machine each costs some 30 to "
        "50 µs to be woken from, and the interpreter starts cold after each, so that a request takes several times the "
        "processor time that it takes under load: compare the two columns of (z). Syncing on the event loop would save "
        "one of the three, and would keep everybody waiting whenever the disk is slow (docs/adr/0011-io-uring.md)."
    ),
    "c": (
        "One sync serves some 25 of 64 requests, so the disk is no longer what is waited for: the broker's processor "
        "is busy all the time, and (z) shows with what. The interpreter's part is spread over all layers, none above "
        "three tenths. Where a sync takes longer the disk is what one producer waits for, and the ratio is larger."
    ),
    "l": (
        "As (b). Redis syncs on its only thread, between reading the request and answering it, and so has one sleep "
        "where Penstock has two; its code is C, and takes a few microseconds where Penstock takes those of (z)."
    ),
    "m": (
        "A message alone in its request: what is compared is the cost of a request, which is a few microseconds in C "
        "or on the Erlang machine's compiled code and the sum of (z) in Python. Clients that batch, as Kafka's do "
        "unless told not to, are ahead on the same machine (n)."
    ),
    "n": (
        "With 64 KiB messages the cost of a request vanishes: what is left is copying and the disk, which are the same "
        "for all; ahead, but by less than the goal."
    ),
    "o": (
        "At 1,000 messages a second each is alone: as (b), with the consumer's fetch woken after the producer's sync. "
        "The tail is that of the machine's disk and scheduler, and differs from round to round by a factor of ten."
    ),
    "r": "As (m): each of 1,000 connections has one message in flight.",
    "z": "Whatever else runs on the machine's two processors makes the loop wait for its turn, too.",
}
