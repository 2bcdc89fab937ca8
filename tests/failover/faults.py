"""Faults of one node of a cluster of real processes, and their ends."""

import contextlib
from collections.abc import Callable, Iterator

import msgspec

from tests.support.cluster import ClusterProcesses
from tests.support.namespaces import NamespaceNetwork, namespace_network, why_no_namespaces

Action = Callable[[ClusterProcesses, int], None]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    inject: Action
    heal: Action


def _terminate(cluster: ClusterProcesses, node: int) -> None:
    assert cluster.nodes[node].terminate() == 0


def _start(cluster: ClusterProcesses, node: int) -> None:
    cluster.nodes[node].start()


KILL = Fault(name="kill", inject=lambda cluster, node: cluster.nodes[node].kill(), heal=_start)
SUSPEND = Fault(name="suspend", inject=ClusterProcesses.suspend, heal=ClusterProcesses.resume)
TERMINATE = Fault(name="terminate", inject=_terminate, heal=_start)
OF_PROCESSES = [KILL, SUSPEND, TERMINATE]


def of_network(network: NamespaceNetwork) -> tuple[list[Fault], list[str]]:
    """The faults that this machine's kernel can make, and the reasons why it cannot make the others."""

    def on_network(name: str, inject: Callable[[int], None], heal: Callable[[int], None]) -> Fault:
        return Fault(name=name, inject=lambda _, node: inject(node), heal=lambda _, node: heal(node))

    def deafen(node: int) -> None:
        for other in network.everyone:
            network.silence(other, [node])

    def undeafen(node: int) -> None:
        for other in network.everyone:
            network.unsilence(other, [node])

    def isolate(node: int) -> None:
        for speaker, listener in _between_brokers(network, node):
            network.silence(speaker, [listener])

    def join(node: int) -> None:
        for speaker, listener in _between_brokers(network, node):
            network.unsilence(speaker, [listener])

    faults = [
        on_network("cut", network.unplug, network.plug),
        on_network(
            "mute",
            lambda node: network.silence(node, network.everyone),
            lambda node: network.unsilence(node, network.everyone),
        ),
        on_network("deaf", deafen, undeafen),
        # Only clients reach it: a leader that must not acknowledge what the others do not have.
        on_network("island", isolate, join),
    ]
    missing = []
    for shape in ("delay", "narrow"):
        if network.can_shape(shape):
            faults.append(
                on_network(shape, lambda node, shape=shape: network.shape(node, shape), network.unshape)  # type: ignore[misc]  # a default of a lambda has no type
            )
        else:
            missing.append(f"faults of the kind {shape!r}: `tc` is missing or this kernel has no such queue")
    return faults, missing


def _between_brokers(network: NamespaceNetwork, node: int) -> list[tuple[int, int]]:
    others = [each for each in network.nodes if each != node]
    return [(node, each) for each in others] + [(each, node) for each in others]


@contextlib.contextmanager
def network_where_possible(report_skipped: Callable[[str], None]) -> Iterator[NamespaceNetwork | None]:
    """A network that can be cut; None where the machine has no namespaces for us, which is then reported."""
    reason = why_no_namespaces()
    if reason is not None:
        report_skipped(f"cuts by network namespace: {reason}")
        yield None
        return
    with namespace_network() as network:
        yield network
