"""Access control lists: who may do what to which resource."""

import enum
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from penstock.client.aio import ANY
from penstock.console.broker_errors import NOT_FOUND
from penstock.console.refusals import Refused, bad_request, check, refusal
from penstock.console.web import CLIENT, answer, body_of
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import create_acls, delete_acls, describe_acls
from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType

E = TypeVar("E", bound=enum.IntEnum)

_ANY: Final = 1


class Permission(enum.IntEnum):
    DENY = 2
    ALLOW = 3


class Acl(msgspec.Struct, kw_only=True):
    """One rule, with Kafka's words in upper case."""

    resource: str
    name: str
    pattern: str = "LITERAL"
    principal: str
    host: str = "*"
    operation: str
    permission: str


async def list_acls(request: web.Request) -> web.Response:
    message = describe_acls.DescribeAclsRequest(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    response = await request[CLIENT].request(ANY, message, error_of=lambda _: 0)
    what = "The ACLs cannot be listed"
    if response.error_code == ErrorCode.SECURITY_DISABLED:  # how the cluster is, not a failure of the page
        return answer({"acls": [], "disabled": refusal(response.error_code, what).message})
    check(response.error_code, what, response.error_message)
    rows = [acl_row(resource, acl) for resource in response.resources for acl in resource.acls]
    return answer({"acls": sorted(rows, key=lambda row: (row["resource"], row["name"], row["principal"]))})


def acl_row(
    resource: describe_acls.DescribeAclsResource, acl: describe_acls.AclDescription
) -> dict[str, Any]:
    return {
        "resource": _word(ResourceType, resource.resource_type),
        "name": resource.resource_name,
        "pattern": _word(PatternType, resource.pattern_type),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _word(Operation, acl.operation),
        "permission": _word(Permission, acl.permission_type),
    }


async def create_acl(request: web.Request) -> web.Response:
    acl = await body_of(request, Acl)
    message = create_acls.CreateAclsRequest(
        creations=[
            create_acls.AclCreation(
                resource_type=_number(ResourceType, acl.resource, "resource"),
                resource_name=acl.name,
                resource_pattern_type=_number(PatternType, acl.pattern, "pattern"),
                principal=acl.principal,
                host=acl.host,
                operation=_number(Operation, acl.operation, "operation"),
                permission_type=_number(Permission, acl.permission, "permission"),
            )
        ]
    )
    response = await request[CLIENT].request(ANY, message)
    result = response.results[0]
    check(result.error_code, "The ACL cannot be created", result.error_message)
    return answer({}, 201)


async def delete_acl(request: web.Request) -> web.Response:
    acl = await body_of(request, Acl)
    message = delete_acls.DeleteAclsRequest(
        filters=[
            delete_acls.DeleteAclsFilter(
                resource_type_filter=_number(ResourceType, acl.resource, "resource"),
                resource_name_filter=acl.name,
                pattern_type_filter=_number(PatternType, acl.pattern, "pattern"),
                principal_filter=acl.principal,
                host_filter=acl.host,
                operation=_number(Operation, acl.operation, "operation"),
                permission_type=_number(Permission, acl.permission, "permission"),
            )
        ]
    )
    response = await request[CLIENT].request(ANY, message)
    result = response.filter_results[0]
    check(result.error_code, "The ACL cannot be deleted", result.error_message)
    if not result.matching_acls:
        raise Refused(NOT_FOUND, "NO_SUCH_ACL", "There is no such ACL (any more).")
    matched = result.matching_acls[0]
    check(matched.error_code, "The ACL cannot be deleted", matched.error_message)
    return answer({})


def _word(kind: type[E], number: int) -> str:
    try:
        return kind(number).name
    except ValueError:
        return str(number)


def _number(kind: type[E], word: str, what: str) -> int:
    try:
        return kind[word]
    except KeyError:
        raise bad_request(
            f"The {what} cannot be {word!r}: one of {', '.join(each.name for each in kind)}."
        ) from None


ROUTES = (
    ("GET", "acls", list_acls),
    ("POST", "acls", create_acl),
    ("DELETE", "acls", delete_acl),
)
