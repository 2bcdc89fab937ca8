"""The assignors that run on the broker, by the names that clients ask for."""

from collections.abc import Callable, Mapping, Sequence

from penstock.groups.consumer.assignors import range_, uniform
from penstock.groups.consumer.assignors.spec import MemberSpec, TargetAssignments

Assignor = Callable[[Sequence[MemberSpec], Mapping[bytes, int]], TargetAssignments]

ASSIGNORS: Mapping[str, Assignor] = {"uniform": uniform.assign, "range": range_.assign}
