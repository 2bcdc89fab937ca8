"""One message written by hand."""

import base64
import binascii

import msgspec
from aiohttp import web

from penstock.console.refusals import bad_request, check
from penstock.console.web import CLIENT, answer, body_of
from penstock.protocol.records.builder import NewRecord


class Part(msgspec.Struct, kw_only=True):
    """Bytes in a format for people: text, json (checked, sent as written), hex, base64, null."""

    form: str = "text"
    data: str = ""


class Header(msgspec.Struct, kw_only=True):
    name: str
    value: Part


class Message(msgspec.Struct, kw_only=True):
    key: Part
    value: Part
    headers: list[Header] = []
    partition: int = -1


def bytes_of(part: Part, what: str) -> bytes | None:
    try:
        if part.form == "null":
            return None
        if part.form == "text":
            return part.data.encode()
        if part.form == "json":
            msgspec.json.decode(part.data.encode())
            return part.data.encode()
        if part.form == "hex":
            return bytes.fromhex(part.data)
        if part.form == "base64":
            return base64.b64decode(part.data, validate=True)
    except (ValueError, binascii.Error, msgspec.MsgspecError, RecursionError) as error:
        raise bad_request(f"The {what} is not {part.form}: {error}.") from None
    raise bad_request(f"The {what} has a form that is not known: {part.form!r}.")


async def produce(request: web.Request) -> web.Response:
    topic = request.match_info["topic"]
    message = await body_of(request, Message)
    if any(not header.name for header in message.headers):
        raise bad_request("A header needs a name.")
    record = NewRecord(
        key=bytes_of(message.key, "key"),
        value=bytes_of(message.value, "value"),
        headers=tuple((each.name, bytes_of(each.value, f"header {each.name}")) for each in message.headers),
    )
    partition = message.partition if message.partition >= 0 else None
    [produced] = await request[CLIENT].produce(topic, partition, [record])
    check(produced.error, f"The message was not written to {topic}", produced.message)
    return answer({"partition": produced.partition, "offset": produced.offset}, 201)


ROUTES = (("POST", "topics/{topic}/messages", produce),)
