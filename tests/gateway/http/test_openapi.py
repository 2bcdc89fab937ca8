"""The OpenAPI document."""

import re
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from penstock.gateway.http.assemble import application
from tests.gateway.http.admin import Admin


def served(app: web.Application) -> set[tuple[str, str]]:
    """The routes of the application, without the console, which is for browsers."""
    return {
        (route.resource.canonical, route.method.lower())
        for route in app.router.routes()
        if route.resource is not None
        and route.method != "HEAD"
        and not re.match(r"/(console.*)?$", route.resource.canonical)
    }


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value
            yield from references(value)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


async def test_the_document_has_exactly_the_served_routes(admin: Admin) -> None:
    status, document = await admin.get("/openapi.json")
    assert (status, document["openapi"]) == (200, "3.1.0")
    named = {(path, method) for path, operations in document["paths"].items() for method in operations}
    assert named == served(application(admin.broker))


async def test_every_reference_resolves_and_every_operation_id_is_unique(
    admin: Admin,
) -> None:
    _, document = await admin.get("/openapi.json")
    found = list(references(document))
    assert found
    for reference in found:
        place = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert all(each["summary"] and each["responses"] for each in operations)


async def test_every_parameter_in_a_path_is_described(admin: Admin) -> None:
    _, document = await admin.get("/openapi.json")
    for path, operations in document["paths"].items():
        for operation in operations.values():
            described = {each["$ref"].rpartition("/")[2] for each in operation.get("parameters", [])}
            assert set(re.findall(r"{(\w+)}", path)) <= described
