"""The assignors that run on the broker, by the names that clients select."""

from collections.abc import Callable, Mapping, Sequence

from penstock.groups.base.assignment import MemberSpec, TargetAssignments
from penstock.groups.consumer.assignors import range_, uniform

Assignor = Callable[[Sequence[MemberSpec], Mapping[bytes, int]], TargetAssignments]

ASSIGNORS: Mapping[str, Assignor] = {"uniform": uniform.assign, "range": range_.assign}
