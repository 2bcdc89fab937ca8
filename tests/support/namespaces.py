"""A private network on this machine with injectable faults: each broker in a network namespace of its own.

One bridge joins the host (the last address) and the nodes (an address each); the addresses are of 198.18.0.0/15, which
is reserved for such tests, and the bridge has no way out. All names carry the id of this process, and everything
created is removed in reverse order. One direction is cut where the kernel resolves neighbours: an entry with a hardware
address that no node has drops every packet silently, as a real network does, and needs no packet filter.
"""

import contextlib
import ipaddress
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator

HOST = 0  # the number of the host that runs the tests; the nodes are numbered from 1

_RANGE = ipaddress.ip_network("198.18.0.0/15")
_NOBODY = "02:00:00:00:00:01"
_SHAPES = {
    "delay": ("netem", "delay", "150ms", "50ms"),
    "narrow": ("tbf", "rate", "1mbit", "burst", "4kb", "latency", "400ms"),
}


class NamespaceNetwork:
    """Made by `namespace_network`; every change of it is one command of iproute2."""

    def __init__(self, undo: contextlib.ExitStack) -> None:
        self._undo = undo
        self._label = f"ps{os.getpid()}"
        self._bridge = f"{self._label}b"
        subnet = _free_subnet()
        self._addresses = list(subnet.hosts())
        self.nodes: list[int] = []
        self._make(["link", "add", self._bridge, "type", "bridge"], ["link", "delete", self._bridge])
        _ip("address", "add", f"{self.address(HOST)}/{subnet.prefixlen}", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")

    def add(self, node: int) -> None:
        namespace, outside, inside = self._namespace(node), self._cable(node), f"{self._label}i{node}"
        self._make(["netns", "add", namespace], ["netns", "delete", namespace])
        self._make(
            ["link", "add", outside, "type", "veth", "peer", "name", inside, "netns", namespace],
            ["link", "delete", outside],
        )
        _ip("link", "set", outside, "master", self._bridge, "up")
        _ip("-n", namespace, "address", "add", f"{self.address(node)}/24", "dev", inside)
        for device in ("lo", inside):
            _ip("-n", namespace, "link", "set", device, "up")
        self.nodes.append(node)

    def address(self, node: int) -> str:
        return str(self._addresses[node - 1])

    def command_within(self, node: int) -> list[str]:
        """The prefix of a command: it execs the command, so the process id is the command's own."""
        return ["ip", "netns", "exec", self._namespace(node)]

    # -- faults

    def unplug(self, node: int) -> None:
        _ip("link", "set", self._cable(node), "down")

    def plug(self, node: int) -> None:
        _ip("link", "set", self._cable(node), "up")

    def silence(self, speaker: int, listeners: Iterable[int]) -> None:
        """Packets of a speaker to these nodes are lost; packets in the other direction arrive."""
        for listener in listeners:
            if listener != speaker:
                self._neighbour("replace", speaker, listener, "lladdr", _NOBODY, "nud", "permanent")

    def unsilence(self, speaker: int, listeners: Iterable[int]) -> None:
        for listener in listeners:
            if listener != speaker:
                self._neighbour("delete", speaker, listener)

    def shape(self, node: int, how: str) -> None:
        """Delay packets to a node ("delay") or limit their rate ("narrow")."""
        _run("tc", "qdisc", "add", "dev", self._cable(node), "root", *_SHAPES[how])

    def unshape(self, node: int) -> None:
        _run("tc", "qdisc", "delete", "dev", self._cable(node), "root")

    def can_shape(self, how: str) -> bool:
        """Whether this machine's kernel supports it; tried on the bridge's own queue, which is unused yet."""
        if shutil.which("tc") is None or _failure(
            "tc", "qdisc", "add", "dev", self._bridge, "root", *_SHAPES[how]
        ):
            return False
        _run("tc", "qdisc", "delete", "dev", self._bridge, "root")
        return True

    @property
    def everyone(self) -> list[int]:
        return [HOST, *self.nodes]

    # -- commands

    def _neighbour(self, what: str, speaker: int, listener: int, *more: str) -> None:
        within = ["-n", self._namespace(speaker)] if speaker != HOST else []
        device = f"{self._label}i{speaker}" if speaker != HOST else self._bridge
        _ip(*within, "neighbour", what, self.address(listener), "dev", device, *more)

    def _make(self, command: list[str], undo: list[str]) -> None:
        _ip(*command)
        self._undo.callback(_failure, "ip", *undo)

    def _namespace(self, node: int) -> str:
        return f"{self._label}n{node}"

    def _cable(self, node: int) -> str:
        return f"{self._label}v{node}"


@contextlib.contextmanager
def namespace_network() -> Iterator[NamespaceNetwork]:
    with contextlib.ExitStack() as undo:
        yield NamespaceNetwork(undo)


def why_no_namespaces() -> str | None:
    """Why this machine has no network namespaces for tests; None if it has."""
    if shutil.which("ip") is None:
        return "there is no `ip` command (iproute2)"
    name = f"ps{os.getpid()}try"
    with contextlib.ExitStack() as undo:
        if failure := _failure("ip", "netns", "add", name):
            return f"`ip netns add` fails: {failure}"
        undo.callback(_failure, "ip", "netns", "delete", name)
        if failure := _failure("ip", "-n", name, "link", "add", "bridge0", "type", "bridge"):
            return f"no bridge can be made: {failure}"
        if failure := _failure(
            "ip", "-n", name, "link", "add", "veth0", "type", "veth", "peer", "name", "veth1"
        ):
            return f"no pair of interfaces can be made: {failure}"
    return None


def _free_subnet() -> ipaddress.IPv4Network:
    """256 addresses that no interface of this machine is in; where to begin differs by process."""
    subnets = [each for each in _RANGE.subnets(new_prefix=24) if isinstance(each, ipaddress.IPv4Network)]
    in_use = _run("ip", "-4", "-oneline", "address", "show")
    for step in range(len(subnets)):
        subnet = subnets[(os.getpid() + step) % len(subnets)]
        if str(subnet.network_address).removesuffix("0") not in in_use:
            return subnet
    raise OSError(f"all of {_RANGE} is in use")


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
    return done.stdout


def _failure(*command: str) -> str:
    """The error output of a failed command; empty if it succeeded."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return (done.stderr.strip() or f"code {done.returncode}") if done.returncode else ""
