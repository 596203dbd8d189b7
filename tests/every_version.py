"""A request and a response of every version of every api, with values that go to the edges; and the same damaged."""

import base64

import kwire_cli
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import MessageStruct, declare
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid

NAMES = ("orders", "Zürich-9", "", "ssl.keystore.password", "retention.ms", "no config", "x" * 200)


def value(dice, decl):  # noqa: PLR0911 - a case for each kind
    """A value of a construct in JSON form; tagged fields stand in half of the structs."""
    if isinstance(decl, MessageStruct):
        out = {sc.name: value(dice, sc.subcon) for sc in decl.subcons}
        for field in decl.tags.known if decl.tags and dice.random() < 0.5 else ():
            out[field.name] = value(dice, field.subcon)
        return out
    if isinstance(decl, NullableStruct):
        return value(dice, decl.subcon) if dice.random() < 0.7 else None
    if getattr(decl, "nullable", False) and dice.random() < 0.2:
        return None
    if isinstance(decl, ArrayOf):
        return [value(dice, decl.element) for _ in range(dice.choice((0, 1, 2)))]
    if isinstance(decl, FixedInt):
        return dice.choice((decl.low, decl.high, 0, 1, max(decl.low, -1), dice.randint(decl.low, decl.high)))
    if isinstance(decl, Bool):
        return dice.random() < 0.5
    if isinstance(decl, Float64):
        return dice.choice((0.5, -1e300, 3.0))
    if isinstance(decl, Uuid):
        return base64.urlsafe_b64encode(dice.randbytes(16)).decode()[:22]
    if decl.kind == "string":
        return dice.choice(NAMES)
    return "" if decl.kind == "records" else base64.b64encode(dice.randbytes(dice.choice((0, 3, 30)))).decode()


def exchanges(dice):
    """Yield a request and a response of each version of each api, as documents."""
    catalog = kwire_cli.catalog()
    for api in catalog.apis:
        for number in range(2):
            if not api.request or not api.response:
                continue
            request, response = catalog.message(api.request), catalog.message(api.response)
            for version in range(request.valid_versions.low, request.valid_versions.high + 1):
                for kind, spec in (("request", request), ("response", response)):
                    body = value(dice, declare(spec, version))
                    if kind == "request" and "acks" in body:
                        body["acks"] = 1
                    names_client = kind == "request" and (api.name, version) != ("ControlledShutdown", 0)
                    header = {"correlationId": 7 + number} | ({"clientId": "kwire"} if names_client else {})
                    yield {"kind": kind, "api": api.name, "apiVersion": version, "header": header, "body": body}


def damaged(dice, data, header):
    """A frame of which some bytes behind the header are others, or missing; its size is right."""
    data = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5)) if len(data) > header else 0):
        at = dice.randrange(header, len(data))
        data[at] = dice.choice((data[at] ^ 1 << dice.randrange(8), 0, 255, 128, dice.randrange(256)))
    if len(data) > header and dice.random() < 0.3:
        del data[dice.randrange(header, len(data)) :]
    data[:4] = (len(data) - 4).to_bytes(4)
    return bytes(data)
